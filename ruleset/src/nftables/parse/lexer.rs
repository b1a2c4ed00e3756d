//! Bytes into tokens.

use std::fmt;

/// A token. Blanks, carriage returns, continued lines and comments are between tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A run of bytes that are no punctuation: names, numbers, addresses, ranges, a lone `.` or `:`.
    Word(&'a str),
    /// What stands between two `"`.
    Quoted(&'a str),
    /// A sign.
    Punct(u8),
    /// An operator of two signs.
    Double([u8; 2]),
    /// The end of a line.
    Newline,
    /// The end of the text.
    End,
}

/// Cuts a text into tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    start: usize,
    line: u32,
    line_start: usize,
    token_line: u32,
    token_line_start: usize,
    /// The number of the last `# handle N`.
    pub(super) handle: Option<u64>,
    /// Where the last comment of another kind began, if it follows something on its line.
    pub(super) remark: Option<&'a str>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Lexer {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            start: 0,
            line: 1,
            line_start: 0,
            token_line: 1,
            token_line_start: 0,
            handle: None,
            remark: None,
        }
    }

    /// Returns the next token.
    pub(super) fn next(&mut self) -> Token<'a> {
        self.skip_blanks();
        self.start = self.pos;
        self.token_line = self.line;
        self.token_line_start = self.line_start;
        match self.bytes.get(self.pos) {
            None => Token::End,
            Some(b'\n') => self.newline(),
            Some(b'"') => self.quoted(),
            Some(byte) if is_punct(*byte) => self.punct(*byte),
            Some(_) => self.word(),
        }
    }

    /// Goes back, so that the next token begins at a place inside the current one.
    pub(super) fn resume_at(&mut self, pos: usize) {
        debug_assert!(pos >= self.line_start);
        self.pos = pos;
    }

    pub(super) fn token_start(&self) -> usize {
        self.start
    }

    /// Returns where the current token ends.
    pub(super) fn token_end(&self) -> usize {
        self.pos
    }

    pub(super) fn token_line(&self) -> u32 {
        self.token_line
    }

    pub(super) fn token_column(&self) -> u32 {
        u32::try_from(self.start - self.token_line_start + 1).unwrap_or(u32::MAX)
    }

    /// Returns the text between two places, without the blanks at its ends.
    pub(super) fn text_between(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default().trim()
    }

    /// Returns the line on which the current token began.
    pub(super) fn current_line(&self) -> &'a str {
        let rest = self.text.get(self.token_line_start..).unwrap_or_default();
        rest.lines().next().unwrap_or_default()
    }

    /// Goes to the end of the current line.
    pub(super) fn skip_current_line(&mut self) {
        self.pos = self.end_of_line();
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.bytes.get(self.pos) {
                Some(b' ' | b'\t' | b'\r') => self.pos += 1,
                Some(b'#') => self.comment(),
                Some(b'\\') if self.bytes.get(self.pos + 1) == Some(&b'\n') => {
                    self.pos += 1;
                    self.newline();
                }
                _ => return,
            }
        }
    }

    fn comment(&mut self) {
        let end = self.end_of_line();
        let comment = self.text.get(self.pos + 1..end).unwrap_or_default().trim();
        match comment.strip_prefix("handle ") {
            Some(handle) => self.handle = handle.trim().parse().ok(),
            None => self.remark = Some(comment),
        }
        self.pos = end;
    }

    fn end_of_line(&self) -> usize {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.bytes.len(), |length| self.pos + length)
    }

    fn newline(&mut self) -> Token<'a> {
        self.pos += 1;
        self.line = self.line.saturating_add(1);
        self.line_start = self.pos;
        Token::Newline
    }

    /// A quoted text ends at the next quote of its line. Go's escapes, which knftables writes, are
    /// left as they are: nft knows none.
    fn quoted(&mut self) -> Token<'a> {
        let from = self.pos + 1;
        let rest = self.bytes.get(from..).unwrap_or_default();
        let length = memchr::memchr2(b'"', b'\n', rest).unwrap_or(rest.len());
        let closed = rest.get(length) == Some(&b'"');
        self.pos = from + length + usize::from(closed);
        Token::Quoted(self.text.get(from..from + length).unwrap_or_default())
    }

    fn punct(&mut self, first: u8) -> Token<'a> {
        self.pos += 1;
        let second = self.bytes.get(self.pos).copied().unwrap_or(0);
        if matches!(
            (first, second),
            (b'!' | b'=' | b'<' | b'>', b'=') | (b'<', b'<') | (b'>', b'>')
        ) {
            self.pos += 1;
            return Token::Double([first, second]);
        }
        Token::Punct(first)
    }

    fn word(&mut self) -> Token<'a> {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let length = rest.iter().position(|byte| ends_word(*byte));
        self.pos += length.unwrap_or(rest.len());
        Token::Word(self.text.get(self.start..self.pos).unwrap_or_default())
    }
}

fn is_punct(byte: u8) -> bool {
    CLASSES[usize::from(byte)] == Class::Punct as u8
}

fn ends_word(byte: u8) -> bool {
    CLASSES[usize::from(byte)] != Class::Word as u8
}

/// What a byte is to the lexer.
#[derive(Clone, Copy)]
enum Class {
    Word,
    Blank,
    Punct,
}

const CLASSES: [u8; 256] = with_class(
    with_class([Class::Word as u8; 256], b" \t\r\n\"#", Class::Blank),
    PUNCT,
    Class::Punct,
);

const PUNCT: &[u8] = b"{}()[];,=!<>&|^@$";

const fn with_class(mut classes: [u8; 256], bytes: &[u8], class: Class) -> [u8; 256] {
    let mut i = 0;
    while i < bytes.len() {
        classes[bytes[i] as usize] = class as u8;
        i += 1;
    }
    classes
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => f.write_str(word),
            Token::Quoted(text) => write!(f, "\"{text}\""),
            Token::Punct(byte) => write!(f, "{}", char::from(*byte)),
            Token::Double([a, b]) => write!(f, "{}{}", char::from(*a), char::from(*b)),
            Token::Newline => f.write_str("end of line"),
            Token::End => f.write_str("end of text"),
        }
    }
}
