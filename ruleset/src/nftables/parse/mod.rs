//! Text into the tree: what `nft list ruleset` shows and what `nft -f` reads.
//!
//! The reader takes text as people paste it: with or without handles and counters, one table or
//! all, with shell prompts and warnings between, in the spelling of any nft from 1.0.1 on. It never
//! gives up: a statement that the tree does not model stays as `Unsupported` text from there to the
//! end of its rule, and what breaks the structure of the text is reported as a [`ParseError`] while
//! the reader goes on with the next line.
//!
//! `Lexer` cuts the text into tokens without copying. The files after it read one
//! layer of the grammar each, from constants up to commands. None of them recurses with the input,
//! so deep nesting cannot overflow the stack.

mod command;
mod expr;
mod lexer;
mod nat;
mod set;
mod statement;
mod table;
mod value;

use thiserror::Error;

use super::ast::{Element, Ruleset, Statement, Table, TableFamily, Unsupported, Value};
use super::transaction::{Command, TableId};
use crate::Parsed;
pub(super) use expr::{MOST_OPERATORS, ct_key_word, meta, payload};
pub(super) use statement::reject_with;
pub(super) use value::{any_value, value as typed};

use lexer::{Lexer, Token};

/// A place that breaks the structure of the text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: expected {expected}, found `{found}`")]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: u32,
    /// The column in bytes, counted from 1.
    pub column: u32,
    /// What would have been right there.
    pub expected: &'static str,
    /// What was there instead.
    pub found: String,
}

/// Reads a rule set: the listing of one or all tables, or a script.
///
/// Commands of a script are applied in order; one that fails is reported and has no effect.
#[must_use]
pub fn parse_ruleset(text: &str) -> Parsed<Ruleset, ParseError> {
    let mut parser = Parser::new(text);
    let mut ruleset = Ruleset::default();
    let mut script = Script::default();
    while let Some(item) = parser.item() {
        match item {
            Item::Table(table) if script.is_empty() && is_new(&ruleset, &table) => {
                ruleset.tables.push(*table);
            }
            Item::Table(table) => script.extend(table.into_commands(), parser.item_at),
            Item::Command(command) => script.extend([*command], parser.item_at),
        }
    }
    script.apply(&mut ruleset, &mut parser.errors);
    Parsed { value: ruleset, errors: parser.errors }
}

fn is_new(ruleset: &Ruleset, table: &Table) -> bool {
    ruleset.table(table.family, &table.name).is_none()
}

/// The commands of a text, with the places where they stand.
#[derive(Default)]
struct Script {
    commands: Vec<Command>,
    places: Vec<(u32, u32)>,
}

impl Script {
    fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    fn extend(&mut self, commands: impl IntoIterator<Item = Command>, place: (u32, u32)) {
        self.commands.extend(commands);
        self.places.resize(self.commands.len(), place);
    }

    /// Applies the commands to the rule set that they describe, but for those that fail.
    fn apply(&self, ruleset: &mut Ruleset, errors: &mut Vec<ParseError>) {
        let mut from = 0;
        while let Err(error) = ruleset.apply(self.commands.get(from..).unwrap_or_default()) {
            let failed = from + error.index;
            // What came before the failure stands, unless it fails only as a whole.
            let before = self.commands.get(from..failed).unwrap_or_default();
            let _ = ruleset.apply(before);
            let (line, column) = self.places.get(failed).copied().unwrap_or_default();
            let expected = "a command that can be applied";
            let found = format!("{}: {}", error.text, error.kind);
            errors.push(ParseError { line, column, expected, found });
            from = failed + 1;
        }
    }
}

/// Reads a script for `nft -f`. A table in block form becomes the commands that create it.
#[must_use]
pub fn parse_script(text: &str) -> Parsed<Vec<Command>, ParseError> {
    let mut parser = Parser::new(text);
    let mut commands = Vec::new();
    while let Some(item) = parser.item() {
        match item {
            Item::Table(table) => commands.extend(table.into_commands()),
            Item::Command(command) => commands.push(*command),
        }
    }
    Parsed { value: commands, errors: parser.errors }
}

/// What stands at the top of a text.
enum Item {
    Table(Box<Table>),
    Command(Box<Command>),
}

/// Reads tokens into the tree.
struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token that is looked at.
    token: Token<'a>,
    /// The family of the table that is read, which decides what `reject` means.
    family: TableFamily,
    /// Line and column of the table or command that is read.
    item_at: (u32, u32),
    errors: Vec<ParseError>,
    elements_buffer: Vec<Element>,
    parts_buffer: Vec<Value>,
    statements_buffer: Vec<Statement>,
}

/// Why something could not be read; the place is that of the current token.
#[derive(Debug, Clone, Copy)]
struct Expected(&'static str);

type Result<T> = std::result::Result<T, Expected>;

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next();
        Parser {
            lexer,
            token,
            family: TableFamily::Ip,
            item_at: (1, 1),
            errors: Vec::new(),
            elements_buffer: Vec::new(),
            parts_buffer: Vec::new(),
            statements_buffer: Vec::new(),
        }
    }

    fn bump(&mut self) {
        self.token = self.lexer.next();
    }

    fn word(&self) -> Option<&'a str> {
        match self.token {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word(word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }

    fn is_punct(&self, punct: u8) -> bool {
        self.token == Token::Punct(punct)
    }

    fn eat_punct(&mut self, punct: u8) -> bool {
        let found = self.is_punct(punct);
        if found {
            self.bump();
        }
        found
    }

    fn expect_punct(&mut self, punct: u8, expected: &'static str) -> Result<()> {
        if self.eat_punct(punct) { Ok(()) } else { Err(Expected(expected)) }
    }

    fn expect_word(&mut self, expected: &'static str) -> Result<&'a str> {
        let word = self.word().ok_or(Expected(expected))?;
        self.bump();
        Ok(word)
    }

    /// Takes a word or a quoted text.
    fn expect_name(&mut self, expected: &'static str) -> Result<&'a str> {
        let (Token::Word(name) | Token::Quoted(name)) = self.token else {
            return Err(Expected(expected));
        };
        self.bump();
        Ok(name)
    }

    fn expect_number<N: TryFrom<u64>>(&mut self, expected: &'static str) -> Result<N> {
        let number = self.word().and_then(value::number).and_then(|n| N::try_from(n).ok());
        let number = number.ok_or(Expected(expected))?;
        self.bump();
        Ok(number)
    }

    fn expect_time(&mut self) -> Result<u64> {
        let time = self.word().and_then(value::duration).ok_or(Expected("a time"))?;
        self.bump();
        Ok(time)
    }

    fn skip_newlines(&mut self) {
        while self.token == Token::Newline {
            self.bump();
        }
    }

    fn skip_separators(&mut self) {
        while matches!(self.token, Token::Newline | Token::Punct(b';')) {
            self.bump();
        }
    }

    /// Whether a rule or a property ends here.
    fn at_end(&self) -> bool {
        matches!(self.token, Token::Newline | Token::End | Token::Punct(b';' | b'}'))
    }

    fn report(&mut self, Expected(expected): Expected) {
        let found = self.token.to_string();
        let (line, column) = (self.lexer.token_line(), self.lexer.token_column());
        self.errors.push(ParseError { line, column, expected, found });
    }

    /// Takes all text from a place to the end of the rule or property, over braces and quotes.
    fn raw_rest(&mut self, from: usize) -> &'a str {
        let mut depth = 0_u32;
        loop {
            match self.token {
                Token::End => break,
                Token::Punct(b'{') => depth += 1,
                Token::Punct(b'}') if depth > 0 => depth -= 1,
                _ if depth == 0 && self.at_end() => break,
                _ => {}
            }
            self.bump();
        }
        self.lexer.text_between(from, self.lexer.token_start())
    }

    fn unsupported_rest(&mut self, from: usize, line: u32) -> Unsupported {
        Unsupported { text: self.raw_rest(from).into(), line }
    }

    /// Skips to the next line outside of braces opened on the way.
    fn skip_line(&mut self) {
        self.raw_rest(self.lexer.token_start());
        self.eat_punct(b'}');
    }

    /// Returns the handle that a comment before the current token named.
    fn handle(&mut self) -> Option<u64> {
        self.lexer.handle.take()
    }
}

impl Table {
    /// Returns an empty table.
    #[must_use]
    pub fn new(id: TableId) -> Table {
        Table {
            family: id.family,
            name: id.name,
            comment: None,
            flags: Vec::new(),
            handle: None,
            counters: indexmap::IndexMap::default(),
            sets: indexmap::IndexMap::default(),
            chains: indexmap::IndexMap::default(),
            other: Vec::new(),
        }
    }

    /// Returns its family and name.
    #[must_use]
    pub fn id(&self) -> TableId {
        TableId { family: self.family, name: self.name }
    }
}

impl Ruleset {
    /// Returns a table.
    #[must_use]
    pub fn table(&self, family: TableFamily, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.family == family && t.name == *name)
    }
}

#[cfg(test)]
mod tests;
