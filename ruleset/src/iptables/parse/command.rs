//! Reads lines: tables, chains, commands.

use super::super::ast::{Counters, Family, Policy};
use super::super::transaction::Command;
use super::rule::RuleReader;
use crate::Name;
use crate::parsed::ParseError;
use crate::words::Words;

/// What a line says.
pub(super) enum Line {
    /// A comment, or nothing.
    Nothing,
    /// `*TABLE`.
    Table(Name),
    /// `COMMIT`.
    Commit,
    /// A command.
    Command(Command),
}

type Expected = &'static str;

/// Reads lines, one after the other.
pub(super) struct LineReader {
    rules: RuleReader,
    /// The chain of the line before: rules of a chain stand together, so its name is at hand.
    chain: Name,
}

impl LineReader {
    pub(super) fn new(family: Family) -> LineReader {
        LineReader { rules: RuleReader::new(family), chain: Name::new("") }
    }

    /// Reads a line without surrounding blanks.
    pub(super) fn line(&mut self, number: u32, line: &str) -> Result<Line, ParseError> {
        let read = match line.as_bytes().first() {
            None | Some(b'#') => Ok(Line::Nothing),
            Some(b'*') => Ok(Line::Table(Name::new(line[1..].trim_ascii()))),
            Some(b':') => declaration(&line[1..]),
            Some(b'-' | b'[') => self.command(number, line),
            _ if line == "COMMIT" => Ok(Line::Commit),
            _ => Err("a table, a chain, a command or COMMIT"),
        };
        read.map_err(|expected| ParseError::new(number, expected, line))
    }

    fn command(&mut self, number: u32, line: &str) -> Result<Line, Expected> {
        let (counters, line) = leading_counters(line)?;
        let mut words = Words::new(line);
        let verb = words.next().map(|w| w.text).unwrap_or_default();
        let command = match &*verb {
            "-A" | "--append" => {
                let chain = self.chain(&mut words)?;
                let mut rule = self.rules.read(number, words.rest());
                rule.counters = counters.or(rule.counters);
                Command::Append { chain, rule }
            }
            "-I" | "--insert" => {
                let chain = self.chain(&mut words)?;
                let at = position(&mut words).unwrap_or(1);
                let mut rule = self.rules.read(number, words.rest());
                rule.counters = counters.or(rule.counters);
                Command::Insert { chain, number: at, rule }
            }
            "-R" | "--replace" => {
                let chain = self.chain(&mut words)?;
                let at = position(&mut words).ok_or("the number of a rule")?;
                Command::Replace { chain, number: at, rule: self.rules.read(number, words.rest()) }
            }
            "-D" | "--delete" => {
                let chain = self.chain(&mut words)?;
                match position(&mut words) {
                    Some(number) => Command::DeleteNumber { chain, number },
                    None => Command::Delete { chain, rule: self.rules.read(number, words.rest()) },
                }
            }
            "-C" | "--check" => {
                let chain = self.chain(&mut words)?;
                Command::Check { chain, rule: self.rules.read(number, words.rest()) }
            }
            verb => chain_command(verb, &mut words)?,
        };
        Ok(Line::Command(command))
    }

    fn chain(&mut self, words: &mut Words<'_>) -> Result<Name, Expected> {
        let word = words.next().ok_or("a chain")?;
        if self.chain != *word.text {
            self.chain = Name::new(&word.text);
        }
        Ok(self.chain)
    }
}

/// Reads `NAME POLICY [p:b]`.
fn declaration(text: &str) -> Result<Line, Expected> {
    let mut words = Words::new(text);
    let chain = required(&mut words)?;
    let policy = match words.next() {
        None => None,
        Some(word) if word.text == "-" => None,
        Some(word) => Some(policy(&word.text)?),
    };
    let counters = match words.next() {
        None => None,
        Some(word) => Some(leading_counters(&word.text)?.0.ok_or("counters")?),
    };
    Ok(Line::Command(Command::Declare { chain, policy, counters }))
}

/// Reads a command that is about a chain and not about a rule.
fn chain_command(verb: &str, words: &mut Words<'_>) -> Result<Command, Expected> {
    let optional = |words: &mut Words<'_>| words.next().map(|w| Name::new(&w.text));
    Ok(match verb {
        "-F" | "--flush" => Command::Flush(optional(words)),
        "-Z" | "--zero" => Command::Zero(optional(words)),
        "-X" | "--delete-chain" => Command::DeleteChain(optional(words)),
        "-N" | "--new-chain" => Command::New(required(words)?),
        "-E" | "--rename-chain" => {
            Command::Rename { chain: required(words)?, to: required(words)? }
        }
        "-P" | "--policy" => {
            let chain = required(words)?;
            let word = words.next().ok_or("a policy")?;
            Command::Policy { chain, policy: policy(&word.text)?, counters: counter_option(words)? }
        }
        _ => return Err("a command"),
    })
}

fn required(words: &mut Words<'_>) -> Result<Name, Expected> {
    words.next().map(|w| Name::new(&w.text)).ok_or("a chain")
}

fn policy(word: &str) -> Result<Policy, Expected> {
    match word {
        "ACCEPT" => Ok(Policy::Accept),
        "DROP" => Ok(Policy::Drop),
        _ => Err("a policy"),
    }
}

/// Reads the number of a rule, if the next word is one.
fn position(words: &mut Words<'_>) -> Option<u32> {
    let number = words.peek()?.text.parse().ok()?;
    words.next();
    Some(number)
}

/// Reads `-c PACKETS BYTES`, if it is there.
fn counter_option(words: &mut Words<'_>) -> Result<Option<Counters>, Expected> {
    if words.next().is_none_or(|w| w.text != "-c") {
        return Ok(None);
    }
    let mut number = || words.next().and_then(|w| w.text.parse().ok()).ok_or("a number");
    Ok(Some(Counters { packets: number()?, bytes: number()? }))
}

/// Reads `[p:b]` at the start of a text and returns what follows.
fn leading_counters(text: &str) -> Result<(Option<Counters>, &str), Expected> {
    let Some(inside) = text.strip_prefix('[') else { return Ok((None, text)) };
    let (numbers, rest) = inside.split_once(']').ok_or("counters")?;
    let (packets, bytes) = numbers.split_once(':').ok_or("counters")?;
    let number = |text: &str| text.parse().map_err(|_| "counters");
    Ok((Some(Counters { packets: number(packets)?, bytes: number(bytes)? }), rest.trim_ascii()))
}
