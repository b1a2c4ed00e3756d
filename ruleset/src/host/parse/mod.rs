//! What `ip` and `sysctl` print, into the types of the host.
//!
//! Each reader takes a whole text and reads it line by line. A line that it cannot read is reported
//! with its number, and the others still count. Words that say nothing about the way of a packet
//! (`proto kernel`, `valid_lft forever`, …) are passed over.

mod address;
mod link;
mod route;
mod rule;

use std::collections::BTreeMap;

use thiserror::Error;

pub use address::parse_addresses;
pub use link::parse_links;
pub use route::parse_routes;
pub use rule::parse_rules;

/// What was read, and the lines that could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostParsed<T> {
    /// All that could be read.
    pub value: T,
    /// The lines that were skipped.
    pub errors: Vec<HostParseError>,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: expected {expected}: `{text}`")]
pub struct HostParseError {
    /// The line, counted from 1.
    pub line: u32,
    /// What would have been right.
    pub expected: &'static str,
    /// The line's text.
    pub text: String,
}

/// Reads `sysctl -a`: `name = value`.
#[must_use]
pub fn parse_sysctls(text: &str) -> HostParsed<BTreeMap<String, String>> {
    let entries = each_line(text, |line| {
        let (name, value) = line.split_once('=').ok_or("`name = value`")?;
        Ok(Some((name.trim().replace('/', "."), value.trim().to_owned())))
    });
    HostParsed { value: entries.value.into_iter().collect(), errors: entries.errors }
}

/// Reads each line that is not empty; `None` means that there is nothing in it.
fn each_line<T>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<Option<T>, &'static str>,
) -> HostParsed<Vec<T>> {
    let mut parsed = HostParsed { value: Vec::new(), errors: Vec::new() };
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        match read(line) {
            Ok(read) => parsed.value.extend(read),
            Err(expected) => {
                let text = line.trim().to_owned();
                parsed.errors.push(HostParseError { line: number, expected, text });
            }
        }
    }
    parsed
}

/// Returns the word behind a keyword.
fn word_after<'a>(words: &[&'a str], keyword: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == keyword)?;
    words.get(at + 1).copied()
}

/// Returns the number of a routing table (`/etc/iproute2/rt_tables`).
fn table_number(name: &str) -> Option<u32> {
    match name {
        "local" => Some(255),
        "main" => Some(254),
        "default" => Some(253),
        "unspec" => Some(0),
        _ => name.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
