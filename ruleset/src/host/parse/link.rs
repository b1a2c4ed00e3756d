//! `ip -o link show`.

use super::{HostParsed, each_line, word_after};
use crate::host::Link;

/// Reads `ip -o link show`, one link a line: `2: eth0@if3: <BROADCAST,UP> mtu 1500 … master br0 …`.
#[must_use]
pub fn parse_links(text: &str) -> HostParsed<Vec<Link>> {
    each_line(text, link)
}

fn link(line: &str) -> Result<Option<Link>, &'static str> {
    // Without `-o` the second line of a link is indented.
    if line.starts_with(char::is_whitespace) {
        return Ok(None);
    }
    let words: Vec<&str> = line.split_whitespace().collect();
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
