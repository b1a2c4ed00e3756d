//! Findings of several nodes as one list.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::catalogue::Lint;
use super::finding::Finding;

/// Gathers findings, and tells those that are the same on several nodes once.
#[derive(Debug, Default)]
pub struct Merged {
    findings: Vec<Finding>,
    by_key: HashMap<(Lint, Vec<String>, String), usize>,
}

impl Merged {
    /// Adds findings about the cluster.
    pub fn add(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            self.insert(finding);
        }
    }

    /// Adds findings about a node. The packet of the first node is kept.
    pub fn add_of(&mut self, node: &str, findings: Vec<Finding>) {
        for mut finding in findings {
            finding.nodes = vec![node.to_owned()];
            self.insert(finding);
        }
    }

    /// Returns the findings in the order in which they are told.
    #[must_use]
    pub fn finish(mut self) -> Vec<Finding> {
        self.findings.sort_by(Finding::order);
        self.findings
    }

    fn insert(&mut self, finding: Finding) {
        // That a finding is about the node on which it is so makes it no other than that on the next.
        let is_other = |name: &&String| {
            !finding.nodes.iter().any(|node| name.strip_prefix("Node ") == Some(node))
        };
        let objects = finding.objects.iter().filter(is_other).cloned().collect();
        let key = (finding.lint, objects, finding.detail.clone());
        match self.by_key.entry(key) {
            Entry::Vacant(place) => {
                place.insert(self.findings.len());
                self.findings.push(finding);
            }
            Entry::Occupied(place) => {
                if let Some(known) = self.findings.get_mut(*place.get()) {
                    // Nodes come one after the other.
                    let new = finding.nodes.into_iter().filter(|n| Some(n) != known.nodes.last());
                    let new: Vec<String> = new.collect();
                    known.nodes.extend(new);
                }
            }
        }
    }
}
