//! The story of one packet: the final word, then hook by hook what happened.

use std::fmt::Write;

use anstyle::Style;
use kps_flow::{Flow, Outcome, SourceNat};
use kps_model::Cluster;
use kps_ruleset::nftables::Element;
use kps_ruleset::{Name, NodeState};
use kps_sim::trace::{Deed, Language, Place, RulePlace, Step, hook_name};
use kps_sim::{Path, Walk, Walker};
use num_rational::BigRational;
use serde_json::{Value, json};

use super::answer::Answer;
use super::bars::percent;
use super::style::{BAD, GOOD, NAME, WARNING};
use crate::owners::Owners;

/// A walked packet with what is needed to tell of it.
pub struct Story<'a> {
    /// The question.
    pub flow: &'a Flow,
    /// The rules.
    pub state: &'a NodeState,
    /// Who walked.
    pub walker: &'a Walker<'a>,
    /// Every way.
    pub walk: &'a Walk,
    /// The Services of chains.
    pub owners: &'a Owners,
    /// Whether the packet is an answer to the flow.
    pub is_reply: bool,
    /// The objects, if there are any.
    pub cluster: Option<&'a Cluster>,
}

impl Story<'_> {
    /// Tells of one way, for people.
    pub fn text(&self, path: &Path) -> String {
        let mut out = String::new();
        let style = style_of(&path.outcome);
        let _ = writeln!(out, "{style}{}.{style:#}", capitalised(&self.final_word(path)));
        self.tell_shares(&mut out, path);
        self.tell_source(&mut out, path);
        self.tell_reply(&mut out, path);
        for assumption in path.assumptions() {
            let holds = if assumption.holds { "holds" } else { "does not hold" };
            let _ = writeln!(out, "This supposes that «{}» {holds}.", assumption.what);
        }
        let _ = writeln!(out, "\n{}", self.flow);
        self.tell_steps(&mut out, path);
        out
    }

    /// Tells the rules that decide over one way, a line each.
    pub fn deciding(&self, path: &Path) -> Vec<String> {
        let decides = |step: &&Step| {
            matches!(
                step.deed,
                Deed::Drops
                    | Deed::Rejects(_)
                    | Deed::Refuses(_)
                    | Deed::TranslatesDestination(_)
                    | Deed::TranslatesSource { .. }
                    | Deed::Schedules { .. }
                    | Deed::Assumes { .. }
            )
        };
        path.steps.iter().filter(decides).map(|step| self.step_line(step)).collect()
    }

    fn step_line(&self, step: &Step) -> String {
        match step.place {
            Place::Rule(place) => format!("{} - {}", self.rule_line(&place), self.deed_line(step)),
            Place::Kernel => format!("the kernel {}", self.deed_line(step)),
        }
    }

    /// Tells of one way, for programs.
    pub fn json(&self, path: &Path) -> Value {
        let steps: Vec<Value> = path.steps.iter().map(|step| self.step_json(step)).collect();
        json!({
            "flow": self.flow.to_string(),
            "outcome": path.outcome.to_string(),
            "service": self.service(path),
            "share": path.weight.to_ratio().to_string(),
            "reply_returns": self.walker.answer_returns(path),
            "assumes": path.assumptions().map(|a| json!({"what": a.what.as_str(), "holds": a.holds}))
                .collect::<Vec<_>>(),
            "steps": steps,
            "all": Answer::of(self.walk),
        })
    }

    fn final_word(&self, path: &Path) -> String {
        let mut word = path.outcome.to_string();
        if let Outcome::Deliver(delivery) = &path.outcome
            && let Some(pod) = self.pod(&delivery.endpoint.ip().to_string())
        {
            let endpoint = delivery.endpoint.to_string();
            word = word.replace(&endpoint, &format!("{endpoint} ({pod})"));
        }
        let Some(service) = self.service(path).or_else(|| self.owners.of_destination(self.flow))
        else {
            return format!("{word}; no Service has a part in it");
        };
        let handled = self.service(path).is_some();
        match path.outcome {
            _ if self.is_reply => format!("{word}, in answer to what went to Service {service}"),
            Outcome::Local | Outcome::Pass(_) if !handled => {
                format!("{word}, though Service {service} has that destination")
            }
            _ => format!("{word}, by Service {service}"),
        }
    }

    /// Returns the last ServicePort whose chain the packet went through or whose element it found.
    fn service(&self, path: &Path) -> Option<String> {
        path.steps.iter().rev().find_map(|step| match (step.place, &step.deed) {
            (_, Deed::Goes(chain) | Deed::Jumps(chain)) => self.owners.service(*chain),
            (Place::Rule(place), Deed::Found { set: Some(set), element }) => {
                self.element(&place, *set, *element)?.comment.map(|comment| comment.to_string())
            }
            (Place::Rule(place), _) => self.owners.of_rule(&place, self.state),
            (Place::Kernel, _) => None,
        })
    }

    /// Says what was found in a set.
    fn found(&self, place: &RulePlace, set: Name, index: usize) -> Option<String> {
        if place.language == Language::Nftables {
            return self.element(place, set, index).map(|found| format!("finds {found} in @{set}"));
        }
        let found = self.state.ipset.sets.get(&set)?.entries.get_index(index)?;
        Some(format!("finds {} in {set}", found.0))
    }

    fn element(&self, place: &RulePlace, set: Name, index: usize) -> Option<&Element> {
        let table = self.state.nftables.table(place.family, &place.table)?;
        table.sets.get(&set)?.elements.get_index(index).map(|(_, element)| element)
    }

    /// Returns what is known of the pod behind an address.
    fn pod(&self, address: &str) -> Option<String> {
        let slices = self.cluster?.slices.iter();
        let endpoint = slices
            .flat_map(|slice| &slice.endpoints)
            .find(|endpoint| endpoint.addresses.first().is_some_and(|a| a == address))?;
        let target = &endpoint.target_ref;
        let name = target.namespace.as_ref().zip(target.name.as_ref());
        match (name, &endpoint.node_name) {
            (Some((namespace, name)), Some(node)) => {
                Some(format!("pod {namespace}/{name} on {node}"))
            }
            (Some((namespace, name)), None) => Some(format!("pod {namespace}/{name}")),
            (None, Some(node)) => Some(format!("on {node}")),
            (None, None) => None,
        }
    }

    fn tell_shares(&self, out: &mut String, path: &Path) {
        let distribution = self.walk.distribution();
        let merged = distribution.merged();
        if merged.len() < 2 {
            return;
        }
        let share = |share: &BigRational| format!("{} ({share})", percent(share));
        let _ = writeln!(out, "This is one of {} outcomes, with a share each of:", merged.len());
        for (outcome, weight) in &merged {
            let sign = if **outcome == path.outcome { '>' } else { ' ' };
            let _ = writeln!(out, "  {sign} {}: {outcome}", share(weight));
        }
    }

    /// Says which rule had the source rewritten, and which one marked the packet for it.
    fn tell_source(&self, out: &mut String, path: &Path) {
        let (Outcome::Deliver(kps_flow::Delivery { source, .. }) | Outcome::Pass(source)) =
            &path.outcome
        else {
            return;
        };
        if *source == SourceNat::Kept {
            return;
        }
        let last =
            |wanted: fn(&Deed) -> bool| path.steps.iter().rev().find(|step| wanted(&step.deed));
        let rewrote = last(|deed| matches!(deed, Deed::TranslatesSource { .. }));
        let marked = path.steps.iter().find(|step| matches!(step.deed, Deed::Marks { .. }));
        for (verb, step) in [("rewritten", rewrote), ("marked for that", marked)] {
            if let Some(Step { place: Place::Rule(place), .. }) = step {
                let _ = writeln!(out, "Its source is {verb} by {}", self.rule_line(place));
            }
        }
    }

    fn tell_reply(&self, out: &mut String, path: &Path) {
        let word = match self.walker.answer_returns(path) {
            Some(true) => "The reply passes this node, which translates it back.",
            Some(false) if matches!(path.outcome, Outcome::Deliver(_)) => {
                "The reply does not pass this node, so nothing translates it back: the client gets it \
                 from an address that it did not dial, unless it passes another node that knows."
            }
            _ => return,
        };
        let _ = writeln!(out, "{word}");
    }

    fn tell_steps(&self, out: &mut String, path: &Path) {
        let mut at: Option<Place> = None;
        for step in &path.steps {
            if let Deed::Reaches(hook, packet) = &step.deed {
                let _ = writeln!(out, "\n{NAME}{}{NAME:#}: {packet}", hook_name(*hook));
                at = None;
                continue;
            }
            if let Place::Rule(place) = step.place
                && at != Some(step.place)
            {
                let _ = writeln!(out, "  {}", self.rule_line(&place));
            }
            at = Some(step.place);
            let indent = if step.place == Place::Kernel { "  " } else { "      " };
            let _ = writeln!(out, "{indent}{}", self.deed_line(step));
        }
    }

    /// Writes where a rule is, what it says, and whose it is.
    fn rule_line(&self, place: &RulePlace) -> String {
        let rule = self.walker.rule_text(place);
        let mut line = place.to_string();
        if let Some(rule) = rule {
            let _ = write!(line, ": {rule}");
        }
        line
    }

    fn deed_line(&self, step: &Step) -> String {
        if let (Place::Rule(place), Deed::Found { set: Some(set), element }) =
            (step.place, &step.deed)
            && let Some(found) = self.found(&place, *set, *element)
        {
            return found;
        }
        match self.reached(step) {
            Some(service) => format!("{} (Service {service})", step.deed),
            None => step.deed.to_string(),
        }
    }

    /// Returns the ServicePort that the packet comes to by a step.
    fn reached(&self, step: &Step) -> Option<String> {
        match (step.place, &step.deed) {
            (_, Deed::Goes(chain) | Deed::Jumps(chain)) => self.owners.service(*chain),
            (Place::Rule(place), Deed::Schedules { .. }) => self.owners.service(place.chain),
            (Place::Rule(place), Deed::Rejects(_) | Deed::Drops) => {
                self.owners.of_rule(&place, self.state)
            }
            _ => None,
        }
    }

    fn step_json(&self, step: &Step) -> Value {
        let mut value = json!({ "deed": step.deed.to_string() });
        if let Place::Rule(place) = step.place {
            value["table"] = json!(place.table.as_str());
            value["chain"] = json!(place.chain.as_str());
            value["rule"] = json!(place.rule);
            value["text"] = json!(self.walker.rule_text(&place));
            value["service"] = json!(self.owners.of_rule(&place, self.state));
        }
        value
    }
}

fn style_of(outcome: &Outcome) -> Style {
    match outcome {
        Outcome::Deliver(_) => GOOD,
        Outcome::Local | Outcome::Pass(_) => NAME,
        Outcome::Reject(_) | Outcome::Drop => BAD,
        Outcome::Unknown(_) => WARNING,
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
