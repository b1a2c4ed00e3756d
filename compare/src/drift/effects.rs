//! What differences come to for packets, and which part of the dump is to blame.

use std::cell::OnceCell;

use kps_flow::{Answer, ClientClass, Distribution, Flow, Outcome, Strictness, agree};
use kps_ruleset::NodeState;
use kps_ruleset::nftables::{Policy, TableFamily};
use kps_sim::trace::{Deed, Language, Place, RulePlace, Step};
use kps_sim::{Options, Walker};

use super::expected::Expected;
use super::packets::Question;
use super::parts::{Parts, Whose};
use super::{Effect, Outcomes};

/// A part of the dump that may be to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// kube-proxy's own.
    Own,
    /// What is not kube-proxy's.
    Foreign,
    /// What is left over of another mode.
    LeftOver,
}

/// An effect with what brings it about.
#[derive(Debug)]
pub(super) struct Blamed {
    pub effect: Effect,
    /// What is to blame; it may be several parts.
    pub causes: Vec<Cause>,
    /// The rules that are not kube-proxy's in this mode and decide over the packet.
    pub rules: Vec<String>,
}

/// The dump with parts taken away.
pub(super) struct Stripped {
    /// Without what is left over.
    clean: NodeState,
    /// Without what is foreign, too.
    own: NodeState,
}

impl Stripped {
    pub fn of(parts: &Parts<'_>) -> Stripped {
        Stripped {
            clean: parts.only(|whose| !matches!(whose, Whose::LeftOver(_))),
            own: parts.only(|whose| whose == Whose::Own),
        }
    }
}

/// Asks packets of the dump and of what is expected.
pub(super) struct Trial<'a> {
    parts: Parts<'a>,
    wanted: Walker<'a>,
    dumped: &'a Walker<'a>,
    stripped: &'a Stripped,
    clean: OnceCell<Walker<'a>>,
    own: OnceCell<Walker<'a>>,
}

impl<'a> Trial<'a> {
    pub fn new(
        expected: &'a Expected,
        parts: Parts<'a>,
        dumped: &'a Walker<'a>,
        stripped: &'a Stripped,
    ) -> Trial<'a> {
        let wanted = Walker::new(&expected.state);
        let (clean, own) = (OnceCell::new(), OnceCell::new());
        Trial { parts, wanted, dumped, stripped, clean, own }
    }

    /// Returns what becomes otherwise of a packet, if anything does.
    pub fn ask(&self, question: &Question) -> Option<Blamed> {
        let flow = &question.flow;
        let (wanted, found) = (outcomes(&self.wanted, flow), outcomes(self.dumped, flow));
        if is_same(&wanted, &found) {
            return None;
        }
        let own = outcomes(self.own.get_or_init(|| Walker::new(&self.stripped.own)), flow);
        let clean = outcomes(self.clean.get_or_init(|| Walker::new(&self.stripped.clean)), flow);
        let mut causes = Vec::new();
        if !is_same(&wanted, &own) {
            causes.push(Cause::Own);
        }
        if !is_same(&own, &clean) {
            causes.push(Cause::Foreign);
        }
        let rules = if is_same(&own, &found) { Vec::new() } else { self.deciding(flow) };
        if !is_same(&clean, &found) {
            causes.push(Cause::LeftOver);
        }
        let effect = Effect {
            service: question.service.clone(),
            frontend: question.frontend,
            class: flow.client,
            flow: flow.clone(),
            expected: listed(&wanted),
            found: listed(&found),
        };
        Some(Blamed { effect, causes, rules })
    }

    /// Returns the rules of others that do something to a packet.
    fn deciding(&self, flow: &Flow) -> Vec<String> {
        let options = Options { trace: true, fresh: true, ..Options::default() };
        let walk = self.dumped.walk(flow, &options);
        let steps = walk.paths.iter().flat_map(|path| &path.steps);
        let mut rules = Vec::new();
        for Step { place, deed } in steps {
            if let Place::Rule(place) = place
                && decides(deed)
                && self.whose(place) != Whose::Own
            {
                let text = self.told(place);
                if !rules.contains(&text) {
                    rules.push(text);
                }
            }
        }
        rules
    }

    fn whose(&self, place: &RulePlace) -> Whose {
        match place.language {
            Language::Nftables => self.parts.table_named(place.family, place.table),
            Language::Ipvs => self.parts.ipvs(),
            Language::Iptables => {
                let is_v6 = place.family == TableFamily::Ip6;
                let tables = &self.parts.dump.iptables;
                let tables = if is_v6 { &tables.v6 } else { &tables.v4 };
                let chain = tables.chain(&place.table, &place.chain);
                let at = place.rule.and_then(|rule| usize::try_from(rule).ok());
                let rule = chain.zip(at).and_then(|(chain, at)| chain.rules.get(at));
                rule.map_or(self.parts.chain(place.chain), |r| self.parts.rule(place.chain, r))
            }
        }
    }

    fn told(&self, place: &RulePlace) -> String {
        let language = match place.language {
            Language::Nftables => "nftables",
            Language::Iptables => "iptables",
            Language::Ipvs => "ipvs",
        };
        match self.dumped.rule_text(place) {
            Some(text) => format!("{language} {place}: {text}"),
            None => format!("{language} {place}"),
        }
    }
}

/// Tells whether a deed can change what becomes of a packet.
fn decides(deed: &Deed) -> bool {
    matches!(
        deed,
        Deed::Drops
            | Deed::Rejects(_)
            | Deed::Marks { .. }
            | Deed::TranslatesDestination(_)
            | Deed::TranslatesSource { .. }
            | Deed::Schedules { .. }
            | Deed::Untracks
            | Deed::Assumes { .. }
            | Deed::Policy(Policy::Drop)
    )
}

fn outcomes(walker: &Walker<'_>, flow: &Flow) -> Distribution<Outcome> {
    walker.walk(flow, &Options { fresh: true, ..Options::default() }).distribution()
}

fn is_same(one: &Distribution<Outcome>, other: &Distribution<Outcome>) -> bool {
    let (one, other) = (Answer::Exact(one.clone()), Answer::Exact(other.clone()));
    agree(&one, &other, Strictness::Shares).is_ok()
}

fn listed(distribution: &Distribution<Outcome>) -> Outcomes {
    let merged = distribution.merged();
    merged.into_iter().map(|(outcome, share)| (outcome.clone(), share)).collect()
}

/// What a class of packets is told by.
pub(super) type Class = (String, &'static str, ClientClass);

/// Returns what the class of an effect is told by.
pub(super) fn class(effect: &Effect) -> Class {
    (effect.service.clone(), effect.frontend, effect.class)
}
