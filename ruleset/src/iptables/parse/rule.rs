//! Reads one rule.

use super::super::ast::{
    Counters, Family, Header, InterfacePattern, Layout, Match, Negatable, Network, Part, PortTest,
    Rule, Target, Unknown,
};
use super::super::print;
use super::args::{Args, Bad, Progress, Read, Taken, network};
use super::{matches, targets};
use crate::Name;
use crate::protocol::Protocol;
use crate::words::Words;

/// Reads rules; what it needs for one serves the next.
pub(super) struct RuleReader {
    family: Family,
    line: u32,
    header: Header,
    counters: Option<Counters>,
    matches: Vec<Open<Match>>,
    target: Option<Open<Target>>,
    parts: Vec<Part>,
    /// The options stand in an order that no layout can tell.
    scattered: bool,
}

/// An extension whose options are being read.
struct Open<T> {
    extension: T,
    /// It has all the options that it must have.
    complete: bool,
    /// It has options at all.
    given: bool,
}

/// Who took an option.
#[derive(Clone, Copy)]
enum Owner {
    Target,
    Match(usize),
}

impl RuleReader {
    pub(super) fn new(family: Family) -> RuleReader {
        RuleReader {
            family,
            line: 0,
            header: Header::default(),
            counters: None,
            matches: Vec::new(),
            target: None,
            parts: Vec::new(),
            scattered: false,
        }
    }

    /// Reads a rule from its words, those after the chain.
    pub(super) fn read(&mut self, line: u32, text: &str) -> Rule {
        self.line = line;
        let mut words = Words::new(text);
        let mut negation = None;
        while let Some(word) = words.next() {
            if word.text == "!" && !word.quoted && negation.is_none() {
                negation = Some(word.start);
                continue;
            }
            let start = negation.take().unwrap_or(word.start);
            let negated = start != word.start;
            let mut args = Args { words: &mut words, family: self.family, negated };
            if self.option(&word.text, &mut args).is_err() || args.negated {
                self.keep_raw(start, &mut words);
            }
        }
        self.finish()
    }

    /// Reads an option and its values. An error leaves it to be kept as text.
    fn option(&mut self, option: &str, args: &mut Args<'_, '_>) -> Read<()> {
        match option {
            "-m" | "--match" | "-j" | "--jump" | "-g" | "--goto" if args.negated => {
                return Err(Bad);
            }
            "-m" | "--match" => self.load(&args.word()?),
            "-j" | "--jump" => self.target = Some(targets::open(&args.word()?, self.family).into()),
            "-g" | "--goto" => self.target = Some((Target::Goto(args.name()?), true).into()),
            "-c" | "--set-counters" => {
                self.counters = Some(Counters { packets: args.number()?, bytes: args.number()? });
            }
            _ => {
                if let Some(part) = self.header_option(option, args)? {
                    self.parts.push(part);
                } else {
                    self.extension_option(option, args)?;
                }
            }
        }
        Ok(())
    }

    fn header_option(&mut self, option: &str, args: &mut Args<'_, '_>) -> Read<Option<Part>> {
        Ok(Some(match option {
            "-s" | "--source" | "--src" => {
                let word = args.word()?;
                self.header.source = address_test(network(&word, self.family)?, args);
                if word.contains('/') { Part::Source } else { Part::SourceHost }
            }
            "-d" | "--destination" | "--dst" => {
                let word = args.word()?;
                self.header.destination = address_test(network(&word, self.family)?, args);
                if word.contains('/') { Part::Destination } else { Part::DestinationHost }
            }
            "-p" | "--protocol" | "--proto" => {
                let word = args.word()?;
                if word != "all" && word != "0" {
                    self.header.protocol = args.test(Protocol::parse(&word).ok_or(Bad)?);
                }
                Part::Protocol
            }
            "-i" | "--in-interface" => {
                self.header.input = interface_test(args)?;
                Part::Input
            }
            "-o" | "--out-interface" => {
                self.header.output =
                    Some(InterfacePattern(args.name()?)).and_then(|i| args.test(i));
                Part::Output
            }
            "-f" | "--fragment" => {
                self.header.fragment = args.switch();
                Part::Fragment
            }
            _ => return Ok(None),
        }))
    }

    fn load(&mut self, module: &str) {
        let (extension, complete) = matches::open(module, self.line);
        self.matches.push(Open { extension, complete, given: false });
        self.parts.push(Part::Load);
    }

    /// Offers an option to the target, to the matches from the last one on, and to the match that a
    /// protocol implies.
    fn extension_option(&mut self, option: &str, args: &mut Args<'_, '_>) -> Read<()> {
        if let Some(target) = &mut self.target {
            let taken = targets::option(&mut target.extension, option, args);
            if self.took(Owner::Target, taken)? {
                return Ok(());
            }
        }
        for i in (0..self.matches.len()).rev() {
            let taken = matches::option(&mut self.matches[i].extension, option, args);
            if self.took(Owner::Match(i), taken)? {
                return Ok(());
            }
            if matches!(self.matches[i].extension, Match::Unknown(_)) {
                return Err(Bad);
            }
        }
        self.implied_option(option, args)
    }

    /// Reads an option of a match that was not loaded but that `-p` implies.
    fn implied_option(&mut self, option: &str, args: &mut Args<'_, '_>) -> Read<()> {
        let protocol = self.header.protocol.filter(|p| !p.negated).ok_or(Bad)?.value;
        let (mut extension, complete) = match protocol {
            Protocol::ICMP => matches::open("icmp", self.line),
            Protocol::ICMPV6 => matches::open("icmp6", self.line),
            _ => (Match::ports(protocol, PortTest::default()).ok_or(Bad)?, true),
        };
        let taken = matches::option(&mut extension, option, args)?.ok_or(Bad)?;
        let complete = complete || taken == Progress::Done;
        self.matches.push(Open { extension, complete, given: true });
        self.scattered = true;
        Ok(())
    }

    /// Notes who took an option. When its value made no sense, the extension becomes unknown.
    fn took(&mut self, owner: Owner, taken: Taken) -> Read<bool> {
        match taken {
            Ok(None) => Ok(false),
            Ok(Some(progress)) => {
                self.note(owner, progress == Progress::Done);
                Ok(true)
            }
            Err(bad) => {
                self.make_unknown(owner);
                Err(bad)
            }
        }
    }

    fn note(&mut self, owner: Owner, complete: bool) {
        match owner {
            Owner::Target => {
                if let Some(target) = &mut self.target {
                    target.complete |= complete;
                    target.given = true;
                }
            }
            Owner::Match(i) => {
                self.place_options(i);
                self.matches[i].complete |= complete;
                self.matches[i].given = true;
            }
        }
    }

    /// Notes that options of a match stand here.
    fn place_options(&mut self, i: usize) {
        let is_last = i + 1 == self.matches.len();
        match self.parts.last_mut() {
            Some(part @ Part::Load) if is_last => *part = Part::Match,
            Some(Part::Match | Part::Options) if is_last => {}
            _ if is_last && !self.matches[i].given => self.parts.push(Part::Options),
            _ => self.scattered = true,
        }
    }

    fn make_unknown(&mut self, owner: Owner) {
        match owner {
            Owner::Target => {
                if let Some(open) = &mut self.target {
                    open.extension = Target::Unknown(open.unknown(self.family, self.line));
                }
            }
            Owner::Match(i) => {
                let open = &mut self.matches[i];
                open.extension = Match::Unknown(open.unknown(self.family, self.line));
            }
        }
    }

    /// Keeps the text of an option that could not be read, together with its values.
    fn keep_raw(&mut self, start: usize, words: &mut Words<'_>) {
        while words.peek().is_some_and(|w| !w.ends_values()) {
            words.next();
        }
        let raw = words.since(start);
        if let Some(open) = &mut self.target
            && let Some(unknown) = targets::as_raw(&mut open.extension, self.line)
        {
            (open.complete, open.given) = (true, true);
            return append(unknown, raw);
        }
        match self.matches.last_mut() {
            Some(Open { extension: Match::Unknown(options), .. }) => {
                append(&mut options.options, raw);
                let last = self.matches.len() - 1;
                self.note(Owner::Match(last), true);
            }
            _ => self.push_raw(raw),
        }
    }

    /// Keeps text that belongs to no extension as a match of its own.
    fn push_raw(&mut self, raw: &str) {
        let unknown = Unknown { module: Name::new(""), options: Name::new(raw), line: self.line };
        self.matches.push(Open { extension: Match::Unknown(unknown), complete: true, given: true });
        self.parts.push(Part::Match);
    }

    fn finish(&mut self) -> Rule {
        let (family, line) = (self.family, self.line);
        let matches = self.matches.drain(..).map(|open| {
            if open.complete { open.extension } else { Match::Unknown(open.unknown(family, line)) }
        });
        let matches = matches.collect();
        let target = self.target.take().map(|open| {
            if open.complete { open.extension } else { Target::Unknown(open.unknown(family, line)) }
        });
        let layout = if self.scattered { Layout::default() } else { Layout::new(&self.parts) };
        self.parts.clear();
        self.scattered = false;
        let header = std::mem::take(&mut self.header);
        Rule { header, matches, target, counters: self.counters.take(), layout }
    }
}

impl Open<Match> {
    /// Returns what was read so far as text.
    fn unknown(&self, family: Family, line: u32) -> Unknown {
        let read = self.given.then(|| print::match_options(&self.extension, family));
        let options = Name::from(read.unwrap_or_default());
        Unknown { module: Name::new(self.extension.module()), options, line }
    }
}

impl Open<Target> {
    /// Returns what was read so far as text.
    fn unknown(&self, family: Family, line: u32) -> Unknown {
        let read = self.given.then(|| print::target_options(&self.extension, family));
        let options = Name::from(read.unwrap_or_default());
        Unknown { module: Name::new(self.extension.name()), options, line }
    }
}

impl<T> From<(T, bool)> for Open<T> {
    fn from((extension, complete): (T, bool)) -> Open<T> {
        Open { extension, complete, given: false }
    }
}

/// Returns the test of an address; the tools keep none that always holds.
fn address_test(network: Network, args: &mut Args<'_, '_>) -> Option<Negatable<Network>> {
    let everything = matches!(&network, Network::Prefix(prefix) if prefix.prefix_len() == 0);
    args.test(network).filter(|test| test.negated || !everything)
}

/// Reads the test of an interface; the tools keep none that always holds.
fn interface_test(args: &mut Args<'_, '_>) -> Read<Option<Negatable<InterfacePattern>>> {
    let name = args.name()?;
    Ok(args.test(InterfacePattern(name)).filter(|test| test.negated || name != "+"))
}

fn append(options: &mut Name, raw: &str) {
    *options =
        if options.is_empty() { Name::new(raw) } else { Name::from(format!("{options} {raw}")) };
}
