//! Changes of an iptables rule set, as `iptables-restore` takes them, and their effect.
//!
//! A text for `iptables-restore` is a list of tables with commands. The tools commit each table at
//! once, in the order of the text: when a command fails, its table and all later ones stay as they
//! are, and earlier ones keep their change.

mod apply;

use super::ast::{Counters, Policy, Rule};
use crate::Name;

pub use apply::{ApplyError, Flush, apply};

/// `*TABLE … COMMIT`: the commands for one table, which take effect at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    /// The table.
    pub table: Name,
    /// The commands, in order.
    pub commands: Vec<Command>,
}

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// `:CHAIN POLICY [p:b]`: makes a chain or, if it exists, removes its rules. A built-in chain gets
    /// the policy; without `--noflush` its rules are gone already, and with it they stay.
    Declare {
        /// The chain.
        chain: Name,
        /// Its policy, if it is a built-in one.
        policy: Option<Policy>,
        /// Its counters.
        counters: Option<Counters>,
    },
    /// `-A CHAIN RULE`: at the end.
    Append {
        /// The chain.
        chain: Name,
        /// The rule.
        rule: Rule,
    },
    /// `-I CHAIN [NUMBER] RULE`: before the rule of that number.
    Insert {
        /// The chain.
        chain: Name,
        /// The number, counted from 1.
        number: u32,
        /// The rule.
        rule: Rule,
    },
    /// `-R CHAIN NUMBER RULE`.
    Replace {
        /// The chain.
        chain: Name,
        /// The number, counted from 1.
        number: u32,
        /// The rule.
        rule: Rule,
    },
    /// `-D CHAIN RULE`: the first rule that is the same, whatever it has counted.
    Delete {
        /// The chain.
        chain: Name,
        /// The rule.
        rule: Rule,
    },
    /// `-D CHAIN NUMBER`.
    DeleteNumber {
        /// The chain.
        chain: Name,
        /// The number, counted from 1.
        number: u32,
    },
    /// `-C CHAIN RULE`: fails unless there is such a rule.
    Check {
        /// The chain.
        chain: Name,
        /// The rule.
        rule: Rule,
    },
    /// `-F [CHAIN]`: removes the rules of a chain, or of all.
    Flush(Option<Name>),
    /// `-Z [CHAIN]`: sets counters to zero.
    Zero(Option<Name>),
    /// `-N CHAIN`: fails if there is one.
    New(Name),
    /// `-X [CHAIN]`: removes an empty chain that no rule uses, or all of these.
    DeleteChain(Option<Name>),
    /// `-E OLD NEW`.
    Rename {
        /// The chain.
        chain: Name,
        /// Its new name.
        to: Name,
    },
    /// `-P CHAIN POLICY`.
    Policy {
        /// The chain.
        chain: Name,
        /// The policy.
        policy: Policy,
        /// Its counters (`-c`).
        counters: Option<Counters>,
    },
}
