//! The tree of an nftables rule set.
//!
//! The tree holds what the kernel holds: `nft list ruleset`, its JSON form and the command form all
//! read into it and are printed from it. Interned [`Name`]s and boxed slices keep it flat: a rule
//! is one allocation plus those of its anonymous sets and maps.
//!
//! This file has tables, chains and rules; what rules are made of is in the files below it.

mod expr;
mod set;
mod statement;
mod value;

use std::hash::{Hash, Hasher};

use indexmap::IndexMap;

use crate::Name;

pub use expr::*;
pub use set::*;
pub use statement::*;
pub use value::*;

/// A whole rule set, tables in the order of creation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ruleset {
    /// The tables.
    pub tables: Vec<Table>,
}

/// The family of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableFamily {
    /// IPv4.
    Ip,
    /// IPv6.
    Ip6,
    /// IPv4 and IPv6.
    Inet,
    /// ARP.
    Arp,
    /// Frames through a bridge.
    Bridge,
    /// Frames at a device.
    Netdev,
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its family.
    pub family: TableFamily,
    /// Its name.
    pub name: Name,
    /// Its comment.
    pub comment: Option<Name>,
    /// Its flags (`dormant`, `owner`, `persist`).
    pub flags: Vec<Name>,
    /// Its handle (`nft -a`).
    pub handle: Option<u64>,
    /// Named counters.
    pub counters: IndexMap<Name, Counter>,
    /// Sets and maps, in the order of creation.
    pub sets: IndexMap<Name, Set>,
    /// Chains, in the order of creation.
    pub chains: IndexMap<Name, Chain>,
    /// Objects that the tree does not model (flowtables, quotas, helpers, …), as text.
    pub other: Vec<Unsupported>,
}

/// A named counter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counter {
    /// Its comment.
    pub comment: Option<Name>,
    /// Packets counted.
    pub packets: u64,
    /// Bytes counted.
    pub bytes: u64,
    /// Its handle.
    pub handle: Option<u64>,
}

/// Text that the tree does not model, with the place where it was read.
///
/// Two of them are equal if their texts are: the line is only for reports.
#[derive(Debug, Clone, Copy)]
pub struct Unsupported {
    /// The text as it was read.
    pub text: Name,
    /// The line, counted from 1; 0 if it was not read from text.
    pub line: u32,
}

/// A chain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain {
    /// Its comment.
    pub comment: Option<Name>,
    /// Where it is hooked in, if it is a base chain.
    pub base: Option<Box<BaseChain>>,
    /// Its rules, in order.
    pub rules: Vec<Rule>,
    /// Its handle.
    pub handle: Option<u64>,
}

/// The hook of a base chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseChain {
    /// Its type.
    pub kind: ChainKind,
    /// Its hook.
    pub hook: Hook,
    /// Its priority; lower runs earlier.
    pub priority: i32,
    /// What happens at its end.
    pub policy: Policy,
    /// The devices of an ingress or egress hook.
    pub devices: Vec<Name>,
}

/// The type of a base chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChainKind {
    /// Sees every packet.
    Filter,
    /// Sees the first packet of a connection.
    Nat,
    /// Re-routes a packet that it changed.
    Route,
}

/// A netfilter hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// At a device, before everything else.
    Ingress,
    /// Before routing.
    Prerouting,
    /// On the way to the host.
    Input,
    /// On the way through the host.
    Forward,
    /// On the way from a process of the host.
    Output,
    /// After routing.
    Postrouting,
    /// At a device, after everything else.
    Egress,
}

/// The policy of a base chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Let the packet go on.
    Accept,
    /// Throw it away.
    Drop,
}

/// A rule: statements from left to right.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its statements.
    pub statements: Box<[Statement]>,
    /// Its comment.
    pub comment: Option<Name>,
    /// Its handle.
    pub handle: Option<u64>,
}

impl PartialEq for Unsupported {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Unsupported {}

impl Hash for Unsupported {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
