//! The tables of both families, prepared for walking: chains numbered, names of chains resolved,
//! rules indexed. Matches and targets are read where they are, in the tree.

use std::collections::HashMap;

use kps_ruleset::Name;
use kps_ruleset::iptables::{Rule as Tree, Target};
use kps_ruleset::nftables::{Policy, TableFamily};

use super::index::Index;
use super::lookup::Set;
use crate::walk::chains::ChainId;

/// All tables of both families.
#[derive(Debug, Default)]
pub(crate) struct Program<'a> {
    /// The chains of all tables.
    pub chains: Vec<Chain<'a>>,
    /// The IP sets.
    pub sets: HashMap<Name, Set<'a>>,
}

/// A chain.
#[derive(Debug)]
pub(crate) struct Chain<'a> {
    /// The family of its table.
    pub family: TableFamily,
    /// Its table.
    pub table: Name,
    /// Its name.
    pub name: Name,
    /// Its policy; accept if it is not built in.
    pub policy: Policy,
    /// The priority of its table at the hook, if it is built in.
    pub priority: i32,
    /// Whether a change of the packet makes the kernel route it again.
    pub reroutes: bool,
    /// Its rules.
    pub rules: Vec<Rule<'a>>,
    /// Its rules by what they ask of the header; `None` if it has few.
    pub index: Option<Box<Index>>,
}

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule<'a> {
    /// The rule in the tree.
    pub tree: &'a Tree,
    /// What it does.
    pub action: Action<'a>,
}

/// What a rule does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action<'a> {
    /// Nothing: it has no target.
    Nothing,
    /// Calls a chain.
    Jump(ChainId),
    /// Goes to a chain for good.
    Goto(ChainId),
    /// Names a chain that does not exist.
    Dangling(Name),
    /// Does what its target says.
    Target(&'a Target),
}
