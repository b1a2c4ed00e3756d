//! Findings of several nodes as one list.

use std::collections::{BTreeSet, HashMap};

use kps_flow::ClientClass;

use super::{Effect, Finding, Kind};

/// Something that is not as it should be on some nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// The finding, with the lines and witnesses of the first node.
    pub finding: Finding,
    /// The nodes, in the order in which they were added.
    pub nodes: Vec<String>,
}

/// Gathers findings, and tells those that come to the same on several nodes once: which endpoints are
/// local, and what addresses a node has, make lines differ that mean the same.
#[derive(Debug, Default)]
pub struct Merged {
    findings: Vec<Shared>,
    by_key: HashMap<Key, usize>,
}

/// What a finding is known by on every node.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    service: Option<String>,
    /// Of foreign rules, what they say.
    rules: BTreeSet<String>,
    effects: BTreeSet<Meaning>,
}

/// What an effect comes to.
type Meaning = (String, &'static str, ClientClass, BTreeSet<&'static str>, BTreeSet<&'static str>);

impl Merged {
    /// Adds the findings of a node.
    pub fn add(&mut self, node: &str, findings: Vec<Finding>) {
        for finding in findings {
            let place = *self.by_key.entry(Key::of(&finding)).or_insert(self.findings.len());
            match self.findings.get_mut(place) {
                Some(known) => known.nodes.push(node.to_owned()),
                None => self.findings.push(Shared { finding, nodes: vec![node.to_owned()] }),
            }
        }
    }

    /// Returns the findings: those with effects first, those on most nodes before others.
    #[must_use]
    pub fn finish(mut self) -> Vec<Shared> {
        self.findings.sort_by_key(|shared| {
            (shared.finding.effects.is_empty(), std::cmp::Reverse(shared.nodes.len()))
        });
        self.findings
    }
}

impl Key {
    fn of(finding: &Finding) -> Key {
        let is_foreign = finding.kind == Kind::Foreign;
        let rules = finding.lines.iter().filter(|_| is_foreign).map(|line| line.text.clone());
        Key {
            kind: finding.kind,
            service: finding.service.clone(),
            rules: rules.collect(),
            effects: finding.effects.iter().map(meaning).collect(),
        }
    }
}

fn meaning(effect: &Effect) -> Meaning {
    let Effect { service, frontend, class, .. } = effect;
    (service.clone(), frontend, *class, effect.expected_kinds(), effect.found_kinds())
}
