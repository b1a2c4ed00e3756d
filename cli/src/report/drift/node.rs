//! What a node has against what it should have.

use std::fmt::Write;

use kps_compare::drift::{Drift, Finding, Fit, files};

use super::cases::{Failed, cases};
use super::document::{Document, Node};
use super::finding::Told;
use super::{MOST, Stories, counted};
use crate::report::junit::Case;
use crate::report::style::{BAD, GOOD, WARNING};

/// A node's drift, with what it is told with.
pub struct Drifted<'a> {
    /// The drift.
    pub drift: &'a Drift,
    /// The node.
    pub node: &'a str,
    /// The files that the dumps lack.
    pub missing: &'a [&'static str],
    /// Tells stories of witnesses, if they are asked for.
    pub stories: Option<Stories<'a>>,
}

impl Drifted<'_> {
    /// Writes for people: the verdict first.
    pub fn text(&self) -> String {
        let mut text = self.verdict();
        text.push_str(&self.fit());
        for finding in &self.drift.findings {
            text.push('\n');
            text.push_str(&self.told(finding).text());
        }
        text
    }

    /// Returns it for programs.
    pub fn document(&self) -> Document {
        let nodes = [self.node.to_owned()];
        let finding = |finding| self.told(finding).document(&nodes);
        Document {
            nodes: vec![Node::of(self.node, self.drift, self.missing)],
            unread: Vec::new(),
            findings: self.drift.findings.iter().map(finding).collect(),
        }
    }

    /// Returns a case for each ServicePort, and one for what all share.
    pub fn cases(&self) -> Vec<Case> {
        let failed = |finding| Failed { finding, text: self.told(finding).text() };
        let failed: Vec<Failed<'_>> = self.drift.findings.iter().map(failed).collect();
        cases(self.drift.services.iter().map(String::as_str), &failed)
    }

    fn told<'f>(&'f self, finding: &'f Finding) -> Told<'f> {
        Told { finding, stories: self.stories.as_ref(), place: None }
    }

    fn verdict(&self) -> String {
        let (drift, node) = (self.drift, self.node);
        let (affected, all) = (drift.affected(), drift.services.len());
        let (known, gone): (Vec<&str>, Vec<&str>) =
            affected.into_iter().partition(|name| drift.services.iter().any(|known| known == name));
        let packets = drift.packets;
        if drift.findings.is_empty() {
            return format!(
                "{GOOD}as it should be{GOOD:#}: node {node}, {all} ServicePorts, {packets} packets\n"
            );
        }
        let (style, word) =
            if drift.is_harmless() { (WARNING, "harmless") } else { (BAD, "drift") };
        let gone = match gone.len() {
            0 => String::new(),
            number => format!(" and {number} that there should not be"),
        };
        format!(
            "{style}{word}{style:#}: {} on node {node}; {} of {all} ServicePorts{gone} treated \
             otherwise, {packets} packets\n",
            counted(drift.findings.len(), "finding"),
            known.len(),
        )
    }

    /// Says what the dump was taken for, and how sure that is.
    fn fit(&self) -> String {
        let Fit { mode, settings, suggested, expected, off, others, .. } = &self.drift.fit;
        let mut text = format!(
            "{}: {off} of {expected} rules, chains, elements and servers off\n",
            taken_for(&self.drift.fit)
        );
        if self.drift.fit.is_poor() {
            text.push_str("nothing fits well: another release, or the dump of another node?\n");
        }
        if let Some(proof) = &self.drift.proof {
            let (classes, undecided) = (proof.classes, proof.undecided.len());
            let _ = writeln!(text, "all packets: {classes} classes, {undecided} of them undecided");
            for (flow, why) in proof.undecided.iter().take(MOST) {
                let _ = writeln!(text, "  undecided: {flow}: {why}");
            }
        }
        if let Some(next) = others.first() {
            let _ = writeln!(
                text,
                "next best: {} mode, kube-proxy {}: {} off",
                next.mode, next.version, next.off
            );
        }
        for (word, settings) in [("found in the dump", settings), ("would fit better", suggested)] {
            for setting in settings {
                let _ = writeln!(text, "{word}: {setting}");
            }
        }
        for file in self.missing.iter().filter(|file| files(*mode).contains(file)) {
            let _ = writeln!(text, "not in the dump: {file}, taken to be as it should be");
        }
        text
    }
}

/// Says what mode and release a dump was taken for.
pub fn taken_for(fit: &Fit) -> String {
    let versions: Vec<String> = fit.versions.iter().map(ToString::to_string).collect();
    format!("{} mode, rules of kube-proxy {}", fit.mode, versions.join(" or "))
}
