//! Text into the tree: what `ipset save` and `ipset list` print and `ipset restore` takes.
//!
//! Both forms may stand in one text. A line that makes no sense is reported and left out.

use super::ast::{Entry, Family, Options, Range, Set, SetType, Sets};
use super::transaction::{Command, apply};
use super::{ast::Element, element};
use crate::Name;
use crate::parsed::{ParseError, Parsed, lines};
use crate::words::Words;

type Read<T> = Result<T, &'static str>;

/// Reads what `ipset save` or `ipset list` prints. Other commands than `create` and `add` are applied,
/// too.
#[must_use]
pub fn parse_sets(text: &str) -> Parsed<Sets> {
    let mut reader = Reader::default();
    for (number, line) in lines(text) {
        let result = match reader.line(line) {
            Ok(commands) => commands.iter().try_for_each(|command| {
                apply(&mut reader.sets, command).map_err(|_| "a command that can be done")
            }),
            Err(expected) => Err(expected),
        };
        if let Err(expected) = result {
            reader.errors.push(ParseError::new(number, expected, line));
        }
    }
    Parsed { value: reader.sets, errors: reader.errors }
}

/// Reads commands as `ipset restore` takes them. The sets that exist tell what their elements look
/// like; those that the text creates are known, too.
#[must_use]
pub fn parse_commands(text: &str, existing: &Sets) -> Parsed<Vec<Command>> {
    let mut reader = Reader { sets: Sets::default(), listed: None, errors: Vec::new() };
    for (name, set) in &existing.sets {
        reader.sets.sets.insert(*name, Set::new(set.kind, set.options.clone()));
    }
    let mut all = Vec::new();
    for (number, line) in lines(text) {
        match reader.line(line) {
            Ok(commands) => {
                for command in &commands {
                    reader.note(command);
                }
                all.extend(commands);
            }
            Err(expected) => reader.errors.push(ParseError::new(number, expected, line)),
        }
    }
    Parsed { value: all, errors: reader.errors }
}

#[derive(Default)]
struct Reader {
    sets: Sets,
    /// The set that a listing is about, and whether its members have begun.
    listed: Option<(Name, Option<SetType>, bool)>,
    errors: Vec<ParseError>,
}

impl Reader {
    /// Keeps what a command says about the types of sets.
    fn note(&mut self, command: &Command) {
        if !matches!(command, Command::Add { .. } | Command::Delete { .. }) {
            // What is wrong shows when the commands are applied.
            let _ = apply(&mut self.sets, command);
        }
    }

    fn line(&mut self, line: &str) -> Read<Vec<Command>> {
        if line.is_empty() {
            self.listed = None;
            return Ok(Vec::new());
        }
        if line.starts_with('#') || line == "COMMIT" {
            return Ok(Vec::new());
        }
        if let Some(name) = line.strip_prefix("Name: ") {
            self.listed = Some((Name::new(name), None, false));
            return Ok(Vec::new());
        }
        match self.listed {
            Some((name, _, true)) => self.member(name, line),
            Some((name, kind, false)) => self.property(name, kind, line),
            None => self.command(line),
        }
    }

    /// Reads a line of a listing before the members.
    fn property(&mut self, name: Name, kind: Option<SetType>, line: &str) -> Read<Vec<Command>> {
        match line.split_once(':').unwrap_or((line, "")) {
            ("Type", word) => {
                self.listed = Some((name, Some(SetType::parse(word.trim_ascii())), false));
            }
            ("Header", words) => {
                let kind = kind.ok_or("a type")?;
                let options = options(kind, &mut Words::new(words))?.0;
                return Ok(vec![Command::Create { name, kind, options, exist: false }]);
            }
            ("Members", _) => self.listed = Some((name, kind, true)),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn member(&self, set: Name, line: &str) -> Read<Vec<Command>> {
        let mut words = Words::new(line);
        let elements = self.elements(set, &mut words)?;
        let (entry, _) = entry(&mut words)?;
        Ok(elements.into_iter().map(|element| Command::add(set, element, entry)).collect())
    }

    fn command(&self, line: &str) -> Read<Vec<Command>> {
        let mut words = Words::new(line);
        let verb = words.next().map(|w| w.text).unwrap_or_default();
        let verb =
            if verb == "ipset" { words.next().map(|w| w.text).unwrap_or_default() } else { verb };
        Ok(match &*verb {
            "create" | "n" | "-N" => vec![create(&mut words)?],
            "add" | "a" | "-A" => self.add(&mut words)?,
            "del" | "d" | "-D" => self.delete(&mut words)?,
            "destroy" | "x" | "-X" => vec![Command::Destroy(optional_name(&mut words))],
            "flush" | "f" | "-F" => vec![Command::Flush(optional_name(&mut words))],
            "swap" | "w" | "-W" => vec![Command::Swap(name(&mut words)?, name(&mut words)?)],
            "rename" | "e" | "-E" => vec![Command::Rename(name(&mut words)?, name(&mut words)?)],
            _ => return Err("a command of ipset"),
        })
    }

    fn add(&self, words: &mut Words<'_>) -> Read<Vec<Command>> {
        let set = name(words)?;
        let elements = self.elements(set, words)?;
        let (entry, exist) = entry(words)?;
        let add = |element| Command::Add { set, element, entry, exist };
        Ok(elements.into_iter().map(add).collect())
    }

    fn delete(&self, words: &mut Words<'_>) -> Read<Vec<Command>> {
        let set = name(words)?;
        let elements = self.elements(set, words)?;
        let (_, exist) = entry(words)?;
        Ok(elements.into_iter().map(|element| Command::Delete { set, element, exist }).collect())
    }

    fn elements(&self, set: Name, words: &mut Words<'_>) -> Read<Vec<Element>> {
        let set = self.sets.sets.get(&set).ok_or("a known set")?;
        let text = words.next().ok_or("an element")?;
        let family = set.options.family.unwrap_or_default();
        element::parse(&text.text, set.kind, family).ok_or("an element of the set's type")
    }
}

fn name(words: &mut Words<'_>) -> Read<Name> {
    words.next().map(|w| Name::new(&w.text)).ok_or("a name")
}

fn optional_name(words: &mut Words<'_>) -> Option<Name> {
    words.next().map(|w| Name::new(&w.text))
}

fn create(words: &mut Words<'_>) -> Read<Command> {
    let name = name(words)?;
    let kind = SetType::parse(&words.next().ok_or("a type")?.text);
    let (options, exist) = options(kind, words)?;
    Ok(Command::Create { name, kind, options, exist })
}

/// Reads the options of a set, and whether `-exist` is among them.
fn options(kind: SetType, words: &mut Words<'_>) -> Read<(Options, bool)> {
    let mut options = Options::default();
    let mut exist = false;
    while let Some(word) = words.next() {
        match &*word.text {
            "family" => options.family = Some(Family::parse(&value(words)?)?),
            "range" => options.range = Some(Range::parse(&value(words)?, kind)?),
            "netmask" => options.netmask = Some(number(words)?),
            "markmask" => options.mark_mask = Some(number(words)?),
            "hashsize" => options.hash_size = Some(number(words)?),
            "maxelem" => options.max_elements = Some(number(words)?),
            "size" => options.size = Some(number(words)?),
            "timeout" => options.timeout = Some(number(words)?),
            "bucketsize" => options.bucket_size = Some(number(words)?),
            "initval" => options.initial_value = Some(number(words)?),
            "counters" => options.counters = true,
            "comment" => options.comment = true,
            "skbinfo" => options.skbinfo = true,
            "forceadd" => options.force_add = true,
            "-exist" | "-!" => exist = true,
            other => options.other = Some(joined(options.other, other)),
        }
    }
    if kind.has_family() && options.family.is_none() {
        options.family = Some(Family::Inet);
    }
    Ok((options, exist))
}

/// Reads what stands after an element, and whether `-exist` is among it.
fn entry(words: &mut Words<'_>) -> Read<(Entry, bool)> {
    let mut entry = Entry::default();
    let mut exist = false;
    let mut counters = (None, None);
    while let Some(word) = words.next() {
        match &*word.text {
            "nomatch" => entry.nomatch = true,
            "timeout" => entry.timeout = Some(number(words)?),
            "packets" => counters.0 = Some(number(words)?),
            "bytes" => counters.1 = Some(number(words)?),
            "comment" => entry.comment = Some(Name::new(&value(words)?)),
            "-exist" | "-!" => exist = true,
            other => entry.other = Some(joined(entry.other, other)),
        }
    }
    if counters != (None, None) {
        entry.counters = Some((counters.0.unwrap_or(0), counters.1.unwrap_or(0)));
    }
    Ok((entry, exist))
}

fn value(words: &mut Words<'_>) -> Read<String> {
    words.next().map(|w| w.text.into_owned()).ok_or("a value")
}

fn number<T: TryFrom<u64>>(words: &mut Words<'_>) -> Read<T> {
    let word = value(words)?;
    let number = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    number.ok().and_then(|n| T::try_from(n).ok()).ok_or("a number")
}

fn joined(before: Option<Name>, word: &str) -> Name {
    before.map_or_else(|| Name::new(word), |before| format!("{before} {word}").into())
}

impl Family {
    fn parse(word: &str) -> Read<Family> {
        match word {
            "inet" | "ipv4" => Ok(Family::Inet),
            "inet6" | "ipv6" => Ok(Family::Inet6),
            _ => Err("inet or inet6"),
        }
    }
}

impl Range {
    fn parse(word: &str, kind: SetType) -> Read<Range> {
        const EXPECTED: &str = "a range";
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        if kind == SetType::BitmapPort {
            let port = |text: &str| text.parse().map_err(|_| EXPECTED);
            return Ok(Range::Ports(port(first)?, port(last)?));
        }
        if let Ok(network) = word.parse::<ipnet::IpNet>() {
            return Ok(Range::Addresses(network.network(), network.broadcast()));
        }
        let address = |text: &str| text.parse().map_err(|_| EXPECTED);
        Ok(Range::Addresses(address(first)?, address(last)?))
    }
}
