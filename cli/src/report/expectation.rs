//! Whether answers agree with what a real kernel did.

use std::io::Write;

use kps_flow::Flow;

use super::answer::Answer;
use super::diagnostics::error;
use crate::Verdict;
use crate::flows::Recorded;

/// How answers compare with what was recorded.
#[derive(Default)]
pub struct Tally {
    /// Lines that were no flow.
    pub unreadable: u64,
    compared: u64,
    differing: u64,
    contested: u64,
}

impl Tally {
    /// Compares an answer with what its line recorded, and reports a difference on standard error.
    pub fn count(&mut self, place: &str, flow: &Flow, recorded: &Recorded, answer: &Answer) {
        if recorded.outcome.is_none() {
            return;
        }
        if recorded.contested {
            self.contested += 1;
            return;
        }
        self.compared += 1;
        if let Some(difference) = difference(answer, recorded) {
            self.differing += 1;
            let _ = writeln!(anstream::stderr(), "{place}: {flow}: {difference}");
        }
    }

    /// Writes the count of equal answers to standard error, and returns what it came to.
    pub fn verdict(&self) -> Verdict {
        let equal = self.compared - self.differing;
        let contested = match self.contested {
            0 => String::new(),
            number => format!(", {number} that change from run to run left out"),
        };
        let compared = self.compared;
        let _ = writeln!(anstream::stderr(), "{equal} of {compared} flows as recorded{contested}");
        if self.compared == 0 {
            error("no line has an `outcome` to compare with, so nothing is shown");
            return Verdict::Findings;
        }
        if self.differing + self.unreadable > 0 { Verdict::Findings } else { Verdict::Fine }
    }
}

/// Returns how an answer differs from what was recorded; `None` if it does not.
fn difference(answer: &Answer, recorded: &Recorded) -> Option<String> {
    let expected = recorded.outcome.as_deref()?;
    if expected != answer.outcome {
        return Some(format!("recorded {expected}, answered {}", answer.outcome));
    }
    if let Some(word) = recorded.detail.outcomes.keys().find(|w| !answer.may_be(w)) {
        return Some(format!("recorded {word}, which has no share"));
    }
    if let Some(endpoint) = recorded.endpoints.keys().find(|e| !answer.endpoints.contains_key(*e)) {
        return Some(format!("recorded endpoint {endpoint}, which has no share"));
    }
    source_difference(answer, recorded).or_else(|| reject_difference(answer, recorded))
}

impl Answer {
    fn may_be(&self, word: &str) -> bool {
        self.outcome == word || self.outcomes.contains_key(word)
    }
}

/// A rewritten source keeps its port by chance once in tens of thousands of packets, so the
/// majority counts.
fn source_difference(answer: &Answer, recorded: &Recorded) -> Option<String> {
    recorded.seen().find_map(|(endpoint, seen)| {
        let rewritten = seen.snat * 2 > seen.n;
        let ours = answer.endpoints.get(endpoint)?;
        (ours.snat != rewritten)
            .then(|| format!("recorded snat {rewritten} at {endpoint}, answered {}", ours.snat))
    })
}

fn reject_difference(answer: &Answer, recorded: &Recorded) -> Option<String> {
    let ours = answer.reject_with.as_ref()?;
    let kinds: Vec<&str> = recorded.rejections().map(String::as_str).collect();
    (!kinds.is_empty() && !kinds.contains(&ours.as_str()))
        .then(|| format!("recorded {}, answered {ours}", kinds.join(" or ")))
}
