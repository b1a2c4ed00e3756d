//! Findings as test cases: one for each ServicePort, and one for what all share.

use std::collections::BTreeMap;

use kps_compare::drift::Finding;

use super::MOST;
use crate::report::junit::Case;

/// A finding with its text.
pub struct Failed<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// What is told of it.
    pub text: String,
}

/// Returns a case for each ServicePort, also for those that there should not be, and one for what is
/// about none or about many.
pub fn cases<'a>(services: impl Iterator<Item = &'a str>, failed: &[Failed<'a>]) -> Vec<Case> {
    let mut of_services: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for service in services {
        of_services.entry(service).or_default();
    }
    let mut shared = case("what all Services share", Vec::new());
    for Failed { finding, text } in failed {
        let services = concerned(finding);
        let is_shared = services.is_empty() || services.len() > MOST;
        for service in &services {
            let told = if is_shared { "as all Services share it" } else { text.as_str() };
            of_services.entry(service).or_default().push(told.to_owned());
        }
        if finding.is_harmless() {
            shared.notes.push(text.clone());
        } else if is_shared {
            shared.failures.push(text.clone());
        }
    }
    let of_services = of_services.into_iter().map(|(name, failures)| case(name, failures));
    of_services.chain([shared]).collect()
}

/// Returns the ServicePorts that a finding is about.
fn concerned(finding: &Finding) -> Vec<&str> {
    match &finding.service {
        Some(service) => vec![service],
        None => finding.services(),
    }
}

fn case(name: &str, failures: Vec<String>) -> Case {
    let message = "not as it should be".to_owned();
    Case { name: name.to_owned(), message, failures, notes: Vec::new() }
}
