//! A report for CI: a test case a cause.

use std::sync::Arc;

use kps_compare::diff::{Difference, Group, Shown};

use super::{Migration, services};
use crate::report::junit::Case;

impl Migration<'_> {
    /// Returns a case for each cause, and one for packets that nothing explains.
    pub fn cases(&self) -> Vec<Case> {
        let names = self.names();
        let packet = |difference: &Arc<Difference>| {
            let shown = Shown::of(difference);
            let first = |side: &[(kps_flow::Outcome, _)]| {
                side.first().map(|(outcome, _)| outcome.to_string()).unwrap_or_default()
            };
            let (left, right) = (first(&shown.left), first(&shown.right));
            format!("{}: {} by {}, {} by {}", shown.flow, left, names[0], right, names[1])
        };
        let mut cases = vec![Case {
            name: "unexplained".to_owned(),
            message: "packets fare differently, and no documented difference says why".to_owned(),
            failures: self.report.unexplained.iter().map(|it| packet(&it.difference)).collect(),
            notes: Vec::new(),
        }];
        let case = |group: &Group| {
            let told = group.witness.iter().map(packet).chain(group.facts.iter().cloned());
            let services = services(group);
            let mut told: Vec<String> = told.collect();
            if !services.is_empty() {
                told.push(format!("Services: {}", services.join(", ")));
            }
            let (failures, notes) = if group.is_in_packets() {
                (vec![told.join("\n")], Vec::new())
            } else {
                (Vec::new(), told)
            };
            let about = group.cause.about();
            Case { name: group.cause.to_string(), message: about.title.to_owned(), failures, notes }
        };
        cases.extend(self.report.groups.iter().map(case));
        cases
    }
}
