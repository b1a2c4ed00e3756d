//! Findings about the input, on standard error: `FILE:LINE: SEVERITY: OBJECT: FIELD: MESSAGE`, so
//! that editors can jump there.

use std::io::Write;

use anstyle::Style;
use kps_model::{Diagnostic, Severity};

use super::style::{BAD, NAME, PLAIN, WARNING};
use crate::Verdict;

/// Writes findings, and remembers whether there was one that counts.
pub struct Reporter {
    strict: bool,
    verdict: Verdict,
}

impl Reporter {
    /// A reporter; with `strict`, a warning or an error is a finding that the exit code tells.
    pub fn new(strict: bool) -> Reporter {
        Reporter { strict, verdict: Verdict::Fine }
    }

    /// Writes findings to standard error.
    pub fn report(&mut self, findings: &[Diagnostic]) {
        let mut err = anstream::stderr().lock();
        for finding in findings {
            // There is nobody left to tell if standard error is closed.
            let _ = writeln!(err, "{}", styled(finding));
            if self.strict && finding.severity >= Severity::Warning {
                self.verdict = Verdict::Findings;
            }
        }
    }

    /// Returns what the findings came to.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }
}

/// Writes a warning that is not about an object.
pub fn warn(message: &str) {
    line(WARNING, "warning", message);
}

/// Writes what is worth knowing.
pub fn note(message: &str) {
    line(PLAIN, "note", message);
}

/// Writes what went wrong.
pub fn error(message: &str) {
    line(BAD, "error", message);
}

fn line(style: Style, severity: &str, message: &str) {
    let _ = writeln!(anstream::stderr(), "{style}{severity}:{style:#} {message}");
}

fn styled(finding: &Diagnostic) -> String {
    let style = match finding.severity {
        Severity::Error => BAD,
        Severity::Warning => WARNING,
        Severity::Note => PLAIN,
    };
    let place = match finding.place.to_string() {
        empty if empty.is_empty() => empty,
        place => format!("{NAME}{place}:{NAME:#} "),
    };
    let about: String =
        finding.object.iter().chain(&finding.field).flat_map(|part| [part, ": "]).collect();
    format!("{place}{style}{}:{style:#} {about}{}", finding.severity, finding.message)
}
