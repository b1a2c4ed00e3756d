//! How a kernel's answers compare with the walker's.

use std::collections::BTreeMap;
use std::fmt::Write;

use kps_compare::conform::{Conformity, Difference};
use kps_flow::{Flow, Observation, Outcome};
use serde_json::{Value, json};

use super::answer::word;
use super::style::{BAD, GOOD, NAME};
use crate::Verdict;

/// A flow that went through a kernel.
pub struct Asked {
    /// The flow.
    pub flow: Flow,
    /// What the kernel did.
    pub seen: Observation,
    /// How that compares with its walk.
    pub conformity: Conformity,
}

/// What came of all flows.
pub struct Conformed<'a> {
    /// How many agree and how many differ, by the word for what the kernel did.
    kinds: BTreeMap<&'static str, (usize, usize)>,
    by_chance: usize,
    not_sent: usize,
    undecided: Vec<(&'a Flow, &'a [String])>,
    differences: Vec<&'a Difference>,
}

impl Asked {
    /// Returns what the head of a script says of it.
    pub fn remarks(&self, walked: &[Outcome]) -> Vec<String> {
        let said = walked.iter().map(|outcome| format!("walker: {outcome}"));
        let seen = self.seen.counts.keys().map(|outcome| format!("kernel: {outcome}"));
        said.chain(seen).collect()
    }
}

impl<'a> Conformed<'a> {
    /// Counts.
    pub fn of(asked: &'a [Asked]) -> Conformed<'a> {
        let mut all = Conformed {
            kinds: BTreeMap::new(),
            by_chance: 0,
            not_sent: 0,
            undecided: Vec::new(),
            differences: Vec::new(),
        };
        for asked in asked {
            all.add(asked);
        }
        all
    }

    fn add(&mut self, asked: &'a Asked) {
        let mut count = |agreed, differing| {
            for outcome in asked.seen.counts.keys() {
                let kind = self.kinds.entry(word(outcome)).or_default();
                kind.0 += agreed;
                kind.1 += differing;
            }
        };
        match &asked.conformity {
            Conformity::Agrees => count(1, 0),
            Conformity::ByChance => {
                count(1, 0);
                self.by_chance += 1;
            }
            Conformity::Differs(difference) => {
                count(0, 1);
                self.differences.push(difference);
            }
            Conformity::NotSent => self.not_sent += 1,
            Conformity::Undecided(why) => self.undecided.push((&asked.flow, why)),
        }
    }

    /// A difference is a finding.
    pub fn verdict(&self) -> Verdict {
        if self.differences.is_empty() { Verdict::Fine } else { Verdict::Findings }
    }

    fn agreed(&self) -> usize {
        self.kinds.values().map(|(agreed, _)| agreed).sum()
    }

    /// Writes for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // INVARIANT: writing to a String cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{NAME}{:<12} {:>8} {:>8}{NAME:#}", "kernel", "agreed", "differ")?;
        for (kind, (agreed, differing)) in &self.kinds {
            writeln!(out, "{kind:<12} {agreed:>8} {differing:>8}")?;
        }
        let (agreed, differing) = (self.agreed(), self.differences.len());
        let style = if differing == 0 { GOOD } else { BAD };
        writeln!(out, "{style}{:<12} {agreed:>8} {differing:>8}{style:#}", "all")?;
        for (number, what) in [
            (self.not_sent, "could not be sent: no such packet comes in by this host's links"),
            (self.undecided.len(), "not judged: the walker does not know"),
            (self.by_chance, "masqueraded, with the old port by chance"),
        ] {
            if number > 0 {
                writeln!(out, "{number} {what}")?;
            }
        }
        for (flow, why) in &self.undecided {
            writeln!(out, "\n{flow}\n  walker: unknown: {}", why.join(", "))?;
        }
        for difference in &self.differences {
            writeln!(out, "\n{difference}")?;
        }
        Ok(())
    }

    /// Writes for programs.
    pub fn json(&self) -> Value {
        let kinds: serde_json::Map<String, Value> = self
            .kinds
            .iter()
            .map(|(kind, (agreed, differing))| {
                ((*kind).to_owned(), json!({ "agreed": agreed, "differing": differing }))
            })
            .collect();
        let texts = |outcomes: &[Outcome]| -> Vec<String> {
            outcomes.iter().map(ToString::to_string).collect()
        };
        let differences: Vec<Value> = self
            .differences
            .iter()
            .map(|difference| {
                json!({
                    "flow": difference.flow.to_string(),
                    "walker": texts(&difference.walked),
                    "kernel": texts(&difference.seen),
                })
            })
            .collect();
        let undecided: Vec<Value> = self
            .undecided
            .iter()
            .map(|(flow, why)| json!({ "flow": flow.to_string(), "unknown": why }))
            .collect();
        json!({
            "agreed": self.agreed(),
            "outcomes": kinds,
            "notSent": self.not_sent,
            "byChance": self.by_chance,
            "undecided": undecided,
            "differences": differences,
        })
    }
}
