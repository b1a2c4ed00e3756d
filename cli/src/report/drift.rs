//! What `sim drift` found, for people, programs and CI.

mod cases;
mod document;
mod finding;
mod groups;
mod node;
mod nodes;
mod stories;

use std::fmt::Write;

pub use document::Document;
pub use node::Drifted;
pub use nodes::Nodes;
pub use stories::Stories;

/// How many of anything are written out for people.
const MOST: usize = 8;

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn listed(mut words: Vec<String>) -> String {
    let more = words.len().saturating_sub(MOST);
    words.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    words.join(", ") + &more
}

fn tell_more(text: &mut String, indent: &str, all: usize) {
    if let Some(more) = all.checked_sub(MOST).filter(|more| *more > 0) {
        let _ = writeln!(text, "{indent}and {more} more");
    }
}
