//! Test reports in the XML of `JUnit`, as CI systems read it. No times and no ids: the same answer gives the same bytes.

use std::io;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::error::Failure;

/// A test case.
pub struct Case {
    /// Its name.
    pub name: String,
    /// What a failure means.
    pub message: String,
    /// The failures; none means success.
    pub failures: Vec<String>,
    /// What is worth knowing beside.
    pub notes: Vec<String>,
}

/// Writes a suite of cases.
///
/// # Errors
/// If the XML cannot be written.
pub fn print(suite: &str, cases: &[Case]) -> Result<String, Failure> {
    let mut report = Report::new(suite);
    let mut tests = TestSuite::new(suite);
    for case in cases {
        let mut status = TestCaseStatus::success();
        if !case.failures.is_empty() {
            status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(&case.message).set_description(case.failures.join("\n"));
        }
        let mut test = TestCase::new(&case.name, status);
        if !case.notes.is_empty() {
            test.set_system_out(case.notes.join("\n"));
        }
        tests.add_test_case(test);
    }
    report.add_test_suite(tests);
    let text = report.to_string().map_err(io::Error::other)?;
    Ok(if text.ends_with('\n') { text } else { format!("{text}\n") })
}
