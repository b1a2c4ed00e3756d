//! `ip -o link show`.

use super::{each_line, word_after};
use crate::Parsed;
use crate::host::Link;

/// Reads `ip -o link show`, one link a line: `2: eth0@if3: <BROADCAST,UP> mtu 1500 … master br0 …`.
#[must_use]
pub fn parse_links(text: &str) -> Parsed<Vec<Link>> {
    each_line(text, link)
}

fn link(line: &str) -> Result<Option<Link>, &'static str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // Without `-o` a link has a second line.
    if words.first().is_some_and(|word| word.starts_with("link/")) {
        return Ok(None);
    }
    let [_, name, flags, ..] = words[..] else { return Err("a link") };
    let name = name.trim_end_matches(':');
    let name = name.split('@').next().unwrap_or(name);
    let flags = flags.trim_matches(['<', '>']);
    Ok(Some(Link {
        name: name.into(),
        up: flags.split(',').any(|flag| flag == "UP"),
        master: word_after(&words, "master").map(Into::into),
    }))
}
