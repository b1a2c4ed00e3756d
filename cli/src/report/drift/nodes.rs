//! What all nodes have against what they should have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use kps_compare::drift::{Drift, Merged, Shared};

use super::cases::{Failed, cases};
use super::document::{Document, Node};
use super::finding::Told;
use super::node::taken_for;
use super::{counted, listed};
use crate::report::junit::Case;
use crate::report::style::{BAD, GOOD, WARNING};

/// The drift of every node, merged.
#[derive(Default)]
pub struct Nodes {
    summaries: Vec<Node>,
    /// The nodes by what their dumps were taken for.
    fits: BTreeMap<String, Vec<String>>,
    services: BTreeSet<String>,
    merged: Merged,
    unread: Vec<String>,
}

/// The same, judged.
pub struct Judged {
    nodes: Nodes,
    shared: Vec<Shared>,
}

impl Nodes {
    /// Adds a node with the files that its dumps lack.
    pub fn add(&mut self, node: &str, drift: Drift, missing: &[&'static str]) {
        self.summaries.push(Node::of(node, &drift, missing));
        self.fits.entry(taken_for(&drift.fit)).or_default().push(node.to_owned());
        self.services.extend(drift.services);
        self.merged.add(node, drift.findings);
    }

    /// Adds a node whose dumps cannot be read.
    pub fn add_unread(&mut self, node: &str) {
        self.unread.push(node.to_owned());
    }

    /// Merges what was added.
    pub fn judge(mut self) -> Judged {
        let shared = std::mem::take(&mut self.merged).finish();
        Judged { nodes: self, shared }
    }
}

impl Judged {
    /// Tells whether all is as it should be; `strict` also minds what is left over.
    pub fn is_fine(&self, strict: bool) -> bool {
        let is_fine = |shared: &Shared| !strict && shared.finding.is_harmless();
        self.nodes.unread.is_empty() && self.shared.iter().all(is_fine)
    }

    /// Tells whether no node could be read.
    pub fn is_empty(&self) -> bool {
        self.nodes.summaries.is_empty()
    }

    /// Writes for people: the verdict first.
    pub fn text(&self) -> String {
        let mut text = self.verdict();
        for (fit, nodes) in &self.nodes.fits {
            let (number, names) = (counted(nodes.len(), "node"), listed(nodes.clone()));
            let _ = writeln!(text, "{number}: {fit}: {names}");
        }
        if !self.nodes.unread.is_empty() {
            let _ = writeln!(text, "not read: {}", listed(self.nodes.unread.clone()));
        }
        for shared in &self.shared {
            text.push('\n');
            text.push_str(&self.told(shared).text());
        }
        text
    }

    /// Returns it for programs.
    pub fn document(self) -> Document {
        let finding = |shared: &Shared| self.told(shared).document(&shared.nodes);
        let findings = self.shared.iter().map(finding).collect();
        Document { nodes: self.nodes.summaries, unread: self.nodes.unread, findings }
    }

    /// Returns a case for each ServicePort, and one for what all share.
    pub fn cases(&self) -> Vec<Case> {
        let failed = |shared| {
            let text = self.told(shared).text();
            Failed { finding: &shared.finding, text }
        };
        let failed: Vec<Failed<'_>> = self.shared.iter().map(failed).collect();
        cases(self.nodes.services.iter().map(String::as_str), &failed)
    }

    fn told<'s>(&self, shared: &'s Shared) -> Told<'s> {
        let (some, all) = (shared.nodes.len(), self.nodes.summaries.len());
        let place = format!("on {some} of {all} nodes: {}", listed(shared.nodes.clone()));
        Told { finding: &shared.finding, stories: None, place: Some(place) }
    }

    fn verdict(&self) -> String {
        let (all, services) = (self.nodes.summaries.len(), self.nodes.services.len());
        let nodes = counted(all, "node");
        if self.shared.is_empty() {
            return format!("{GOOD}as it should be{GOOD:#}: {nodes}, {services} ServicePorts\n");
        }
        let is_harmless = self.shared.iter().all(|shared| shared.finding.is_harmless());
        let (style, word) = if is_harmless { (WARNING, "harmless") } else { (BAD, "drift") };
        let touched: BTreeSet<&String> = self.shared.iter().flat_map(|s| &s.nodes).collect();
        let affected = self.shared.iter().flat_map(|shared| shared.finding.services());
        let affected: BTreeSet<&str> =
            affected.filter(|service| self.nodes.services.contains(*service)).collect();
        format!(
            "{style}{word}{style:#}: {} on {} of {nodes}; {} of {services} ServicePorts treated \
             otherwise\n",
            counted(self.shared.len(), "finding"),
            touched.len(),
            affected.len(),
        )
    }
}
