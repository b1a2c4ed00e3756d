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

use crate::parsed::{ParseError, Parsed, lines};

pub use address::parse_addresses;
pub use link::parse_links;
pub use route::parse_routes;
pub use rule::parse_rules;

/// Reads `sysctl -a`: `name = value`.
#[must_use]
pub fn parse_sysctls(text: &str) -> Parsed<BTreeMap<String, String>> {
    let entries = each_line(text, |line| {
        let (name, value) = line.split_once('=').ok_or("`name = value`")?;
        Ok(Some((name.trim().replace('/', "."), value.trim().to_owned())))
    });
    Parsed { value: entries.value.into_iter().collect(), errors: entries.errors }
}

/// Reads each line that is not empty; `None` means that there is nothing in it.
fn each_line<T>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<Option<T>, &'static str>,
) -> Parsed<Vec<T>> {
    let mut parsed = Parsed { value: Vec::new(), errors: Vec::new() };
    for (number, line) in lines(text).filter(|(_, line)| !line.is_empty()) {
        match read(line) {
            Ok(read) => parsed.value.extend(read),
            Err(expected) => parsed.errors.push(ParseError::new(number, expected, line)),
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
