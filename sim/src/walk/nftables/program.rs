//! An nftables rule set, prepared for walking: names resolved to numbers, sets indexed, and what
//! has no effect on a packet left out.

use kps_ruleset::Name;
use kps_ruleset::nftables::{
    BinaryOp, CtDirection, CtKey, FibFlags, FibResult, Meta, NatKind, NumgenMode, Payload, Policy,
    Reject, Relation, SetOp, TableFamily,
};
use smallvec::SmallVec;

use super::lookup::Lookup;
use crate::walk::chains::ChainId;
use crate::walk::datum::{Datum, Pattern};

/// The number of a set or map in [`Program::lookups`].
pub(crate) type LookupId = u32;

/// All tables of a rule set.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// The chains of all tables.
    pub chains: Vec<Chain>,
    /// The named sets and maps of all tables, then the anonymous ones.
    pub lookups: Vec<Lookup>,
}

/// A chain.
#[derive(Debug)]
pub(crate) struct Chain {
    /// The family of its table.
    pub family: TableFamily,
    /// Its table.
    pub table: Name,
    /// Its name.
    pub name: Name,
    /// Its policy; accept if it is no base chain.
    pub policy: Policy,
    /// Its priority, if it is a base chain.
    pub priority: i32,
    /// Whether a change of the packet makes the kernel route it again.
    pub reroutes: bool,
    /// Its rules that do something, with their places in the chain.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Its place in the chain, from 0.
    pub place: u32,
    /// What it does, from left to right.
    pub ops: Box<[Op]>,
}

/// A statement.
#[derive(Debug)]
pub(crate) enum Op {
    /// Goes on only if this holds.
    Test(Expr, Test),
    /// A verdict.
    Verdict(Verdict),
    /// The verdict that a map has for a key.
    VerdictMap(Expr, LookupId),
    /// `meta mark set`.
    SetMark(Expr),
    /// `ct mark set`.
    SetConnectionMark(Expr),
    /// Writes a header field without telling conntrack.
    SetField(Payload, Expr),
    /// A translation.
    Translate(Box<Translation>),
    /// `reject`.
    Reject(Reject),
    /// `update @set { key }`.
    Update(SetOp, LookupId, Expr),
    /// `notrack`.
    Untrack,
    /// Goes on while a rate is not exceeded.
    Limit(Name),
    /// Goes on if a condition holds that the model does not know.
    Uncertain(Name),
    /// Does something that the model does not know.
    Unsupported(Name),
}

/// The right side of a match.
#[derive(Debug)]
pub(crate) struct Test {
    /// How the sides are compared.
    pub relation: Relation,
    /// With what.
    pub right: Right,
}

/// What a match compares with.
#[derive(Debug)]
pub(crate) enum Right {
    /// Constants, one for each part.
    Constant(SmallVec<[Pattern; 1]>),
    /// A set.
    Set(LookupId),
    /// Something that the packet decides.
    Computed(Expr),
}

/// A verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accept,
    Drop,
    Continue,
    Return,
    Jump(ChainId),
    Goto(ChainId),
    Queue,
    /// A jump to a chain that does not exist.
    Dangling(Name),
}

/// `dnat`, `snat`, `masquerade`, `redirect`.
#[derive(Debug)]
pub(crate) struct Translation {
    pub kind: NatKind,
    /// The family that it is limited to.
    pub family: Option<TableFamily>,
    pub address: Option<Expr>,
    pub port: Option<Expr>,
    /// Whether the port is drawn at random.
    pub random: bool,
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Expr {
    Payload(Payload),
    Meta(Meta),
    Ct(CtKey, Option<CtDirection>),
    Fib(FibResult, FibFlags),
    Numgen(NumgenMode, u32, u32),
    Constant(Datum),
    Concat(Box<[Expr]>),
    Binary(Box<(Expr, BinaryOp, Expr)>),
    Map(Box<Expr>, LookupId),
    /// Its value is not modelled; the text is what it says.
    Unknown(Name),
}
