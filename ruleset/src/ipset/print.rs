//! The tree as text: as `ipset save` and `ipset list` print it, and as `ipset restore` takes it.

use std::fmt::Write as _;

use super::ast::{Element, Entry, Family, Options, Range, Set, SetType, Sets};
use super::transaction::Command;
use crate::Name;

/// Returns what `ipset save` prints.
#[must_use]
pub fn print_save(sets: &Sets) -> String {
    let mut out = String::new();
    for (name, set) in &sets.sets {
        line(&mut out, format_args!("create {name} {}{}", set.kind, set.options));
        for (element, entry) in &set.entries {
            line(&mut out, format_args!("add {name} {element}{entry}"));
        }
    }
    out
}

/// Returns what `ipset list` prints, without the lines on revisions, memory and references, which the
/// tree does not hold.
#[must_use]
pub fn print_list(sets: &Sets) -> String {
    let listed = sets.sets.iter().map(|(name, set)| list(*name, set));
    listed.collect::<Vec<_>>().join("\n")
}

/// Returns commands, one a line, as `ipset restore` takes them.
#[must_use]
pub fn print_commands(commands: &[Command]) -> String {
    let mut out = String::new();
    for command in commands {
        line(&mut out, format_args!("{command}"));
    }
    out
}

fn list(name: Name, set: &Set) -> String {
    let mut out = String::new();
    line(&mut out, format_args!("Name: {name}"));
    line(&mut out, format_args!("Type: {}", set.kind));
    line(&mut out, format_args!("Header:{}", set.options));
    line(&mut out, format_args!("Number of entries: {}", set.entries.len()));
    line(&mut out, format_args!("Members:"));
    for (element, entry) in &set.entries {
        line(&mut out, format_args!("{element}{entry}"));
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // INVARIANT: writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

/// A flag that prints as its word with a blank before it.
fn flag(f: &mut std::fmt::Formatter<'_>, on: bool, word: &str) -> std::fmt::Result {
    if on { write!(f, " {word}") } else { Ok(()) }
}

/// An option that prints as its word and value with a blank before each.
fn option<T: std::fmt::Display>(
    f: &mut std::fmt::Formatter<'_>,
    word: &str,
    value: Option<T>,
) -> std::fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " {word} {value}"))
}

impl std::fmt::Display for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.range {
            Some(Range::Ports(first, last)) => write!(f, " range {first}-{last}")?,
            Some(Range::Addresses(first, last)) => write!(f, " range {first}-{last}")?,
            None => {}
        }
        option(f, "family", self.family.map(Family::as_str))?;
        option(f, "markmask", self.mark_mask.map(|mask| format!("{mask:#010x}")))?;
        option(f, "hashsize", self.hash_size)?;
        option(f, "maxelem", self.max_elements)?;
        option(f, "size", self.size)?;
        option(f, "netmask", self.netmask)?;
        option(f, "timeout", self.timeout)?;
        flag(f, self.counters, "counters")?;
        flag(f, self.comment, "comment")?;
        flag(f, self.skbinfo, "skbinfo")?;
        flag(f, self.force_add, "forceadd")?;
        option(f, "bucketsize", self.bucket_size)?;
        option(f, "initval", self.initial_value.map(|value| format!("{value:#010x}")))?;
        self.other.map_or(Ok(()), |other| write!(f, " {other}"))
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        option(f, "timeout", self.timeout)?;
        flag(f, self.nomatch, "nomatch")?;
        option(f, "packets", self.counters.map(|(packets, _)| packets))?;
        option(f, "bytes", self.counters.map(|(_, bytes)| bytes))?;
        option(f, "comment", self.comment.map(|comment| format!("\"{comment}\"")))?;
        self.other.map_or(Ok(()), |other| write!(f, " {other}"))
    }
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let exist = |on: &bool| if *on { " -exist" } else { "" };
        match self {
            Command::Create { name, kind, options, exist: e } => {
                write!(f, "create {name} {kind}{options}{}", exist(e))
            }
            Command::Add { set, element, entry, exist: e } => {
                write!(f, "add {set} {element}{entry}{}", exist(e))
            }
            Command::Delete { set, element, exist: e } => {
                write!(f, "del {set} {element}{}", exist(e))
            }
            Command::Destroy(name) => one(f, "destroy", *name),
            Command::Flush(name) => one(f, "flush", *name),
            Command::Rename(from, to) => write!(f, "rename {from} {to}"),
            Command::Swap(a, b) => write!(f, "swap {a} {b}"),
        }
    }
}

fn one(f: &mut std::fmt::Formatter<'_>, verb: &str, name: Option<Name>) -> std::fmt::Result {
    f.write_str(verb)?;
    name.map_or(Ok(()), |name| write!(f, " {name}"))
}

impl std::fmt::Display for SetType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Family {
    /// Returns the tool's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Inet => "inet",
            Family::Inet6 => "inet6",
        }
    }
}

impl SetType {
    /// Reads the tool's word.
    #[must_use]
    pub fn parse(word: &str) -> SetType {
        let known = TYPES.iter().find(|(_, name)| *name == word);
        known.map_or_else(|| SetType::Other(Name::new(word)), |(kind, _)| *kind)
    }

    /// Returns the tool's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        if let SetType::Other(name) = self {
            return name.as_str();
        }
        TYPES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// Returns whether its sets are of a family.
    #[must_use]
    pub fn has_family(self) -> bool {
        self.as_str().starts_with("hash:") && self != SetType::HashMac
    }
}

const TYPES: [(SetType, &str); 16] = [
    (SetType::BitmapIp, "bitmap:ip"),
    (SetType::BitmapIpMac, "bitmap:ip,mac"),
    (SetType::BitmapPort, "bitmap:port"),
    (SetType::HashIp, "hash:ip"),
    (SetType::HashIpMac, "hash:ip,mac"),
    (SetType::HashIpMark, "hash:ip,mark"),
    (SetType::HashIpPort, "hash:ip,port"),
    (SetType::HashIpPortIp, "hash:ip,port,ip"),
    (SetType::HashIpPortNet, "hash:ip,port,net"),
    (SetType::HashMac, "hash:mac"),
    (SetType::HashNet, "hash:net"),
    (SetType::HashNetIface, "hash:net,iface"),
    (SetType::HashNetNet, "hash:net,net"),
    (SetType::HashNetPort, "hash:net,port"),
    (SetType::HashNetPortNet, "hash:net,port,net"),
    (SetType::ListSet, "list:set"),
];

impl Command {
    /// Returns the command that adds an element.
    #[must_use]
    pub fn add(set: Name, element: Element, entry: Entry) -> Command {
        Command::Add { set, element, entry, exist: false }
    }
}
