//! What differences come to for packets, and which part of the dump is to blame.

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;

use kps_flow::{Answer, ClientClass, Distribution, Flow, Outcome, Strictness, Weight, agree};
use kps_ruleset::NodeState;
use kps_ruleset::nftables::{Policy, TableFamily};
use kps_sim::prove::{Proof, prove};
use kps_sim::trace::{Deed, Language, Place, RulePlace, Step};
use kps_sim::{Options, Walker};

use super::expected::Expected;
use super::packets::{NO_SERVICE, Question};
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
pub(super) struct Stripped<'a> {
    /// Without what is left over.
    clean: Cow<'a, NodeState>,
    /// Without what is foreign, too.
    own: Cow<'a, NodeState>,
}

impl<'a> Stripped<'a> {
    pub fn of(parts: &Parts<'a>) -> Stripped<'a> {
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
    stripped: &'a Stripped<'a>,
    clean: OnceLock<Walker<'a>>,
    own: OnceLock<Walker<'a>>,
}

impl Blamed {
    /// Tells whether it is about a Service or kube-proxy: what others do to other packets is theirs.
    fn counts(&self) -> bool {
        self.effect.service != NO_SERVICE || self.causes.iter().any(|c| *c != Cause::Foreign)
    }
}

impl<'a> Trial<'a> {
    pub fn new(
        expected: &'a Expected,
        parts: Parts<'a>,
        dumped: &'a Walker<'a>,
        stripped: &'a Stripped<'a>,
    ) -> Trial<'a> {
        let wanted = Walker::new(&expected.state);
        let (clean, own) = (OnceLock::new(), OnceLock::new());
        Trial { parts, wanted, dumped, stripped, clean, own }
    }

    /// Compares what becomes of all packets.
    pub fn prove(&self) -> Proof {
        prove(&self.wanted, self.dumped)
    }

    /// Asks packets on all processors, and returns what becomes otherwise, in the order of the
    /// questions.
    pub fn ask_all(&self, questions: &[Question]) -> Vec<Blamed> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let share = questions.len().div_ceil(threads).max(1);
        let ask = |asked: &[Question]| -> Vec<Blamed> {
            asked.iter().filter_map(|question| self.ask(question)).filter(Blamed::counts).collect()
        };
        thread::scope(|scope| {
            let parts = questions.chunks(share).map(|asked| scope.spawn(move || ask(asked)));
            let parts: Vec<_> = parts.collect();
            let finished = parts.into_iter().map(|part| match part.join() {
                Ok(blamed) => blamed,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            finished.flatten().collect()
        })
    }

    /// Returns what becomes otherwise of a packet, if anything does.
    fn ask(&self, question: &Question) -> Option<Blamed> {
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
    if is_same_as_written(one, other) {
        return true;
    }
    let (one, other) = (Answer::Exact(one.clone()), Answer::Exact(other.clone()));
    agree(&one, &other, Strictness::Shares).is_ok()
}

/// Tells whether two distributions have the same branches in the same order, which is quick: weights
/// are far more exact in fixed point than the comparison asks for.
fn is_same_as_written(one: &Distribution<Outcome>, other: &Distribution<Outcome>) -> bool {
    let (one, other) = (one.branches(), other.branches());
    let is_same = |((weight, outcome), (others, found)): (&(_, Outcome), &(_, Outcome))| {
        outcome == found && Weight::to_fixed(weight) == Weight::to_fixed(others)
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
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
