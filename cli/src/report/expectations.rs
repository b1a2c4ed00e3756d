//! Which expectations are kept, for people, programs and CI: the same every time for the same input.

use std::fmt::Write;
use std::path::Path;

use kps_compare::expect::Expectation;
use kps_flow::Flow;
use kps_model::{Diagnostic, Mode, Place};
use serde_json::{Value, json};

use super::junit::Case;
use super::style::{BAD, GOOD, NAME};

/// An expectation in one mode on one node.
pub struct Held<'s> {
    /// What was expected.
    pub expectation: &'s Expectation,
    /// The mode.
    pub mode: Mode,
    /// The node.
    pub node: String,
    /// The packet, if the words of the expectation mean one.
    pub flow: Option<Flow>,
    /// Whether it is kept, and if not, why.
    pub kept: Result<(), String>,
}

/// A file of expectations, tested.
pub struct Tested<'a> {
    /// The file.
    pub file: &'a Path,
    /// What was tested, in the order of the file.
    pub held: &'a [Held<'a>],
    /// What is wrong with expectations that could not be tested.
    pub faults: &'a [Diagnostic],
    /// Says on which line of the file an expectation starts.
    pub line: &'a dyn Fn(&Expectation) -> Option<usize>,
}

impl Tested<'_> {
    /// Tells whether all are kept, and all could be tested.
    pub fn is_kept(&self) -> bool {
        self.faults.is_empty() && self.held.iter().all(|held| held.kept.is_ok())
    }

    /// Writes for people: the counts first, then what is not kept.
    pub fn text(&self) -> String {
        let mut text = self.summary();
        for held in self.held {
            if let Err(why) = &held.kept {
                let name = &held.expectation.name;
                let _ = writeln!(text, "\n{BAD}failed{BAD:#} {NAME}{name}{NAME:#} ({})", held.on());
                let _ = write!(text, "{}", self.told(held, why));
            }
        }
        text
    }

    /// Writes for programs.
    pub fn json(&self) -> Value {
        let one = |held: &Held<'_>| {
            json!({
                "name": held.expectation.name,
                "mode": held.mode.as_str(),
                "node": held.node,
                "flow": held.flow.as_ref().map(ToString::to_string),
                "kept": held.kept.is_ok(),
                "why": held.kept.as_ref().err(),
            })
        };
        let held: Vec<Value> = self.held.iter().map(one).collect();
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        json!({ "kept": self.is_kept(), "tested": held, "faults": faults })
    }

    /// Returns a case for each, and for each expectation that could not be tested.
    pub fn cases(&self) -> Vec<Case> {
        let tested = self.held.iter().map(|held| Case {
            name: format!("{} ({})", held.expectation.name, held.on()),
            message: "not as expected".to_owned(),
            failures: held
                .kept
                .as_ref()
                .err()
                .map(|why| self.told(held, why))
                .into_iter()
                .collect(),
            notes: Vec::new(),
        });
        let faults = self.faults.iter().map(|fault| Case {
            name: fault.place.to_string(),
            message: "cannot be tested".to_owned(),
            failures: vec![fault.to_string()],
            notes: Vec::new(),
        });
        tested.chain(faults).collect()
    }

    fn summary(&self) -> String {
        let (all, kept) = (self.held.len(), self.held.iter().filter(|h| h.kept.is_ok()).count());
        let style = if self.is_kept() { GOOD } else { BAD };
        let unread = match self.faults.len() {
            0 => String::new(),
            number => format!(", {number} could not be tested"),
        };
        format!("{style}{kept} of {all} tests as expected{unread}{style:#}\n")
    }

    /// Says where an expectation is, what packet it is about, and why it is not kept.
    fn told(&self, held: &Held<'_>, why: &str) -> String {
        let source = self.file.display().to_string();
        let place = Place { source, line: (self.line)(held.expectation) };
        let flow = held.flow.as_ref().map(|flow| format!("  {flow}\n")).unwrap_or_default();
        format!("  {place}\n{flow}  {why}\n")
    }
}

impl Held<'_> {
    fn on(&self) -> String {
        format!("{}, {}", self.mode, self.node)
    }
}
