//! What reading a text of lines gives: the value, and the lines that were skipped.

use thiserror::Error;

/// What was read, and what could not be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed<T, E = ParseError> {
    /// All that could be read.
    pub value: T,
    /// The lines or places that were skipped, in the order of the text.
    pub errors: Vec<E>,
}

/// A line that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: expected {expected}, found `{found}`")]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: u32,
    /// What would have been right there.
    pub expected: &'static str,
    /// What was there instead.
    pub found: String,
}

impl ParseError {
    /// Returns the error for a line, with as much of the text as a message can bear.
    pub(crate) fn new(line: u32, expected: &'static str, found: &str) -> ParseError {
        ParseError { line, expected, found: found.chars().take(120).collect() }
    }
}

/// Returns the lines of a text with their numbers, without line ends and surrounding blanks.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let mut rest = Some(text);
    let mut number = 0_u32;
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr::memchr(b'\n', text.as_bytes());
        rest = end.and_then(|end| text.get(end + 1..)).filter(|rest| !rest.is_empty());
        number = number.saturating_add(1);
        Some((number, text.get(..end.unwrap_or(text.len()))?.trim_ascii()))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_are_numbered_and_trimmed() {
        let lines: Vec<_> = super::lines("a\r\n\n  b ").collect();
        assert_eq!(lines, [(1, "a"), (2, ""), (3, "b")]);
    }
}
