//! A finding: the lint, the objects, and the packet that proves it.

use std::cmp::Ordering;

use kps_flow::{Flow, Outcome};
use num_rational::BigRational;

use super::catalogue::Lint;

/// What a lint found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The lint.
    pub lint: Lint,
    /// What it is about: `Kind namespace/name` of objects, or a field of the configuration.
    pub objects: Vec<String>,
    /// What is the case here.
    pub detail: String,
    /// A packet that shows it.
    pub witness: Option<Witness>,
    /// The nodes on which it is so, in the order of the objects; empty if it is so for the cluster.
    pub nodes: Vec<String>,
}

/// A packet, and what the rules do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The packet.
    pub flow: Flow,
    /// Each outcome with its exact share.
    pub outcomes: Vec<(Outcome, BigRational)>,
    /// The rule that decides so, with its place, where that is not plain.
    pub decided: Option<String>,
}

impl Finding {
    /// A finding without a witness.
    #[must_use]
    pub fn new(lint: Lint, objects: Vec<String>, detail: String) -> Finding {
        Finding { lint, objects, detail, witness: None, nodes: Vec::new() }
    }

    /// Adds the packet that shows it.
    #[must_use]
    pub fn with(mut self, witness: Option<Witness>) -> Finding {
        self.witness = witness;
        self
    }

    /// Returns what makes two findings one: all but the packet and the nodes.
    #[must_use]
    pub fn key(&self) -> (Lint, &[String], &str) {
        (self.lint, &self.objects, &self.detail)
    }

    /// Orders findings as they are told: the worst first, then by lint, object and detail.
    #[must_use]
    pub fn order(&self, other: &Finding) -> Ordering {
        let worst = |finding: &Finding| std::cmp::Reverse(finding.lint.about().severity);
        worst(self).cmp(&worst(other)).then_with(|| self.key().cmp(&other.key()))
    }
}
