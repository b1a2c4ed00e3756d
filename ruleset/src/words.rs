//! Words of a command line, quoted as iptables-restore and ipset take them.

use std::borrow::Cow;

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// Its text, without quotes.
    pub text: Cow<'a, str>,
    /// Whether it was quoted, so that it is no option.
    pub quoted: bool,
    /// Where it starts in the line, quotes included.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl Word<'_> {
    /// Returns whether it is an option or `!`, and so ends the values of the option before.
    pub fn ends_values(&self) -> bool {
        !self.quoted && (self.text == "!" || self.is_option())
    }

    /// Returns whether it is an option.
    pub fn is_option(&self) -> bool {
        let mut bytes = self.text.bytes();
        !self.quoted
            && bytes.next() == Some(b'-')
            && bytes.next().is_some_and(|b| !b.is_ascii_digit())
    }
}

/// The bytes that end a word outside quotes, or begin a quoted one.
const ENDS_BARE: [bool; 256] = {
    let mut ends = [false; 256];
    ends[b' ' as usize] = true;
    ends[b'\t' as usize] = true;
    ends[b'"' as usize] = true;
    ends
};

/// Cuts a line into words.
///
/// Blanks separate words. A word in double quotes may hold blanks, and there a backslash makes the
/// next character an ordinary one; the closing quote ends the word (iptables/xshared.c). A missing
/// closing quote is taken to be at the end of the line.
#[derive(Debug, Clone)]
pub(crate) struct Words<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    /// Starts at the beginning of a line.
    pub fn new(line: &'a str) -> Words<'a> {
        Words { line, at: 0 }
    }

    /// Returns what is left of the line.
    pub fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or_default().trim_ascii()
    }

    /// Returns the text from a place up to here, without blanks at its end.
    pub fn since(&self, start: usize) -> &'a str {
        self.line.get(start..self.at).unwrap_or_default().trim_ascii()
    }

    /// Returns the next word without moving on.
    pub fn peek(&self) -> Option<Word<'a>> {
        self.clone().next()
    }

    fn bare(&mut self, start: usize) -> Word<'a> {
        let bytes = self.line.as_bytes();
        let len = bytes[start..].iter().position(|b| ENDS_BARE[usize::from(*b)]);
        self.at = len.map_or(bytes.len(), |len| start + len);
        if bytes.get(self.at) == Some(&b'"') {
            return self.quoted(start, self.at);
        }
        let text = Cow::Borrowed(self.line.get(start..self.at).unwrap_or_default());
        Word { text, quoted: false, start, end: self.at }
    }

    /// Reads a word that begins at `start` and whose quote opens at `quote`.
    fn quoted(&mut self, start: usize, quote: usize) -> Word<'a> {
        let bytes = self.line.as_bytes();
        let inside = quote + 1;
        let stop = memchr::memchr2(b'"', b'\\', &bytes[inside..]);
        let stop = stop.map_or(bytes.len(), |stop| inside + stop);
        let text = if start == quote && bytes.get(stop) != Some(&b'\\') {
            self.at = (stop + 1).min(bytes.len());
            Cow::Borrowed(self.line.get(inside..stop).unwrap_or_default())
        } else {
            Cow::Owned(self.unescape(start, quote))
        };
        Word { text, quoted: true, start, end: self.at }
    }

    fn unescape(&mut self, start: usize, quote: usize) -> String {
        let mut text = self.line.get(start..quote).unwrap_or_default().to_owned();
        let mut chars = self.line.get(quote + 1..).unwrap_or_default().char_indices();
        self.at = self.line.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = quote + 1 + at + 1;
                    break;
                }
                '\\' => text.extend(chars.next().map(|(_, c)| c)),
                _ => text.push(c),
            }
        }
        text
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.line.as_bytes();
        let blanks = bytes.get(self.at..)?.iter().position(|b| !matches!(b, b' ' | b'\t'))?;
        let start = self.at + blanks;
        Some(if bytes[start] == b'"' { self.quoted(start, start) } else { self.bare(start) })
    }
}

/// Appends a word as the tools write it: bare if it consists of letters, digits, `_` and `-`, else
/// in double quotes with `"`, `\` and `'` escaped (`xtables_save_string`).
pub(crate) fn push_quoted(out: &mut String, word: &str) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !word.is_empty() && word.bytes().all(plain) {
        return out.push_str(word);
    }
    push_escaped(out, word, |b| matches!(b, b'"' | b'\\' | b'\''));
}

/// Appends a word in double quotes, with a backslash before some of its (ASCII) bytes.
pub(crate) fn push_escaped(out: &mut String, word: &str, escape: impl Fn(u8) -> bool) {
    out.push('"');
    let mut rest = word;
    while let Some(at) = rest.bytes().position(&escape) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        out.push('\\');
        let (escaped, after) = special.split_at(1);
        out.push_str(escaped);
        rest = after;
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        Words::new(line).map(|w| w.text.into_owned()).collect()
    }

    #[test]
    fn quotes_hold_blanks_and_escapes() {
        assert_eq!(
            words(r#"-A X  --comment "a \"b\" c\\" -j "#),
            ["-A", "X", "--comment", r#"a "b" c\"#, "-j"]
        );
        assert_eq!(words(r#"a"b c"d"#), ["ab c", "d"]);
        assert_eq!(words(r#""open \"#), ["open "]);
        assert_eq!(words("\"\""), [""]);
    }

    #[test]
    fn quoted_words_are_no_options() {
        let options: Vec<_> = Words::new(r#"-j "-j" -5 ! -"#).map(|w| w.is_option()).collect();
        assert_eq!(options, [true, false, false, false, false]);
    }

    #[test]
    fn quoting_is_that_of_the_tools() {
        let quoted = |word| {
            let mut out = String::new();
            push_quoted(&mut out, word);
            out
        };
        assert_eq!(quoted("a-b_1"), "a-b_1");
        assert_eq!(quoted("a.b"), "\"a.b\"");
        assert_eq!(quoted("it's \"x\" \\"), r#""it\'s \"x\" \\""#);
        assert_eq!(quoted(""), "\"\"");
    }
}
