//! The tree of an iptables rule set.
//!
//! The tree holds what the kernel holds: a rule is a header test, matches in order and a target, as
//! in `struct ipt_entry`. How a rule was written (kube-proxy writes `-m comment` before `-d`, the
//! tools print it after) is kept beside it in a [`Layout`], which equality ignores.

mod matches;
mod parts;
mod probability;
mod target;

use std::net::IpAddr;

use indexmap::IndexMap;

pub use super::layout::{Layout, Part};
use crate::Name;
use crate::protocol::Protocol;
pub use matches::{
    AddrType, AddressTypes, Conntrack, CtDirection, CtStates, CtStatuses, Dscp, Hashlimit, Icmp,
    IpRange, Ipvs, IpvsMethod, Limit, Match, Multiport, Owner, PacketType, Physdev, PortSide,
    PortTest, Recent, RecentAction, Rpfilter, SctpTest, SetMatch, Side, Statistic, TcpFlags,
    TcpFlagsTest, TcpTest,
};
pub use parts::{InterfacePattern, MaskedMark, Negatable, Network, PortRange, Unknown};
pub use probability::Probability;
pub use target::{
    Connmark, Nat, NatPorts, RejectWith, SetChange, SetTarget, Target, TcpMss, Tproxy, XMark,
};

/// The rule sets of both families of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct DualStack {
    /// What `iptables-save` shows.
    pub v4: Ruleset,
    /// What `ip6tables-save` shows.
    pub v6: Ruleset,
}

/// The address family of a rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `iptables`.
    Ipv4,
    /// `ip6tables`.
    Ipv6,
}

/// The rule set of one family, tables in the order in which the tool lists them.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruleset {
    /// Its family.
    pub family: Family,
    /// The tables: `filter`, `nat`, `mangle`, `raw`, `security`.
    pub tables: IndexMap<Name, Table>,
}

/// A table: its chains, built-in ones first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The chains by name.
    pub chains: IndexMap<Name, Chain>,
}

/// A chain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain {
    /// The verdict at its end, for a built-in chain. At the end of any other chain the walk returns
    /// to the caller.
    pub policy: Option<Policy>,
    /// What ran into the policy, if it was read.
    pub counters: Option<Counters>,
    /// Its rules, in order.
    pub rules: Vec<Rule>,
}

/// The policy of a built-in chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Let the packet go on.
    Accept,
    /// Throw it away.
    Drop,
}

/// What a rule or policy has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A rule: it applies if its header test and then all its matches hold, from left to right.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rule {
    /// What is tested first.
    pub header: Header,
    /// The matches, in order: some have effects (`recent`, `statistic`, `nfacct`), so a later one is
    /// not evaluated when an earlier one fails.
    pub matches: Box<[Match]>,
    /// What is done. A rule without a target only counts.
    pub target: Option<Target>,
    /// What it has counted, if it was read.
    pub counters: Option<Counters>,
    /// How it was written, if not in the tools' order. Equality ignores it.
    pub layout: Layout,
}

/// The test of a packet's header that every rule has. `None` matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// `-s`.
    pub source: Option<Negatable<Network>>,
    /// `-d`.
    pub destination: Option<Negatable<Network>>,
    /// `-i`.
    pub input: Option<Negatable<InterfacePattern>>,
    /// `-o`.
    pub output: Option<Negatable<InterfacePattern>>,
    /// `-p`.
    pub protocol: Option<Negatable<Protocol>>,
    /// `-f`: second and further fragments; `Some(false)` is `! -f` (IPv4 only).
    pub fragment: Option<bool>,
}

impl Default for DualStack {
    fn default() -> Self {
        DualStack { v4: Ruleset::new(Family::Ipv4), v6: Ruleset::new(Family::Ipv6) }
    }
}

impl DualStack {
    /// Returns the rule set of a family.
    #[must_use]
    pub fn family(&self, family: Family) -> &Ruleset {
        match family {
            Family::Ipv4 => &self.v4,
            Family::Ipv6 => &self.v6,
        }
    }

    /// Returns the rule set of a family, to change it.
    pub fn family_mut(&mut self, family: Family) -> &mut Ruleset {
        match family {
            Family::Ipv4 => &mut self.v4,
            Family::Ipv6 => &mut self.v6,
        }
    }
}

impl Ruleset {
    /// Returns a rule set without tables.
    #[must_use]
    pub fn new(family: Family) -> Ruleset {
        Ruleset { family, tables: IndexMap::new() }
    }

    /// Returns a chain of a table.
    #[must_use]
    pub fn chain(&self, table: &str, chain: &str) -> Option<&Chain> {
        self.tables.get(&Name::new(table))?.chains.get(&Name::new(chain))
    }
}

impl Table {
    /// Returns a table as the kernel makes it: the built-in chains of that name with policy ACCEPT.
    /// A table of an unknown name has none.
    #[must_use]
    pub fn builtin(name: &str) -> Table {
        let chain = || Chain { policy: Some(Policy::Accept), ..Chain::default() };
        let chains = builtin_chains(name).iter().map(|name| (Name::new(name), chain())).collect();
        Table { chains }
    }
}

/// Returns the built-in chains of a table, in the order in which the tools list them.
#[must_use]
pub fn builtin_chains(table: &str) -> &'static [&'static str] {
    match table {
        "filter" | "security" => &["INPUT", "FORWARD", "OUTPUT"],
        "nat" => &["PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"],
        "mangle" => &["PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"],
        "raw" => &["PREROUTING", "OUTPUT"],
        _ => &[],
    }
}

impl Policy {
    /// Returns the policy's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Policy::Accept => "ACCEPT",
            Policy::Drop => "DROP",
        }
    }
}

impl Family {
    /// Returns the number of bits of an address.
    #[must_use]
    pub fn address_bits(self) -> u8 {
        match self {
            Family::Ipv4 => 32,
            Family::Ipv6 => 128,
        }
    }

    /// Returns the family of an address.
    #[must_use]
    pub fn of(address: IpAddr) -> Family {
        if address.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 }
    }
}

impl Rule {
    /// Returns the rule's first comment.
    #[must_use]
    pub fn comment(&self) -> Option<Name> {
        self.matches.iter().find_map(|m| if let Match::Comment(c) = m { Some(*c) } else { None })
    }
}
