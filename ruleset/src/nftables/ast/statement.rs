//! Statements: what a rule asks and does.

use super::{Element, Expr, TableFamily, Unsupported};
use crate::Name;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `LEFT OP RIGHT`: the rule goes on only if it holds.
    Match(Match),
    /// `accept`, `jump X`, …
    Verdict(Verdict),
    /// `KEY vmap MAP`: the verdict found; if none is found, the rule ends.
    VerdictMap(VerdictMap),
    /// `meta mark set VALUE`, `ct mark set VALUE`, `ip daddr set VALUE`.
    Mangle(Mangle),
    /// `dnat`, `snat`, `masquerade`, `redirect`.
    Nat(Nat),
    /// `reject with …`.
    Reject(Reject),
    /// `update @s { KEY }`.
    SetUpdate(SetUpdate),
    /// `counter packets N bytes N`.
    Counter {
        /// Packets counted.
        packets: u64,
        /// Bytes counted.
        bytes: u64,
    },
    /// `counter name "N"`.
    NamedCounter(Name),
    /// `limit rate …`: whether it matches depends on time.
    Limit(Name),
    /// `log …`: no effect on the packet. The text after `log`.
    Log(Name),
    /// `notrack`.
    NoTrack,
    /// `xt match "NAME"` or `xt target "NAME"`: an iptables extension that nft cannot show.
    Xt {
        /// Whether it is a target.
        target: bool,
        /// Its name.
        name: Name,
    },
    /// Something else.
    Unsupported(Unsupported),
}

/// A match.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// What is looked at.
    pub left: Expr,
    /// How it is compared.
    pub op: Relation,
    /// What it is compared with.
    pub right: Expr,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Equal, or member of a set, a prefix or a range.
    Equal,
    /// Not so.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterEqual,
    /// Has one of these bits (the implied operator of bit masks such as `ct state`).
    AnyBit,
}

/// What becomes of the packet, or of the walk through the chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Ends this base chain; later ones still see the packet.
    Accept,
    /// Throws the packet away.
    Drop,
    /// Goes on with the next rule.
    Continue,
    /// Back to the calling chain.
    Return,
    /// Calls a chain.
    Jump(Name),
    /// Goes to a chain without coming back here.
    Goto(Name),
    /// Hands the packet to user space.
    Queue,
}

/// `KEY vmap MAP`.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictMap {
    /// What is looked up.
    pub key: Expr,
    /// Where.
    pub map: MapSource,
}

/// Where a map look-up looks.
#[derive(Debug, Clone, PartialEq)]
pub enum MapSource {
    /// `@name`.
    Named(Name),
    /// `{ key : value, … }`.
    Anonymous(Box<[Element]>),
}

/// `TARGET set VALUE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Mangle {
    /// What is set.
    pub target: Expr,
    /// To which value.
    pub value: Expr,
}

/// A network address translation.
#[derive(Debug, Clone, PartialEq)]
pub struct Nat {
    /// Which one.
    pub kind: NatKind,
    /// The family keyword (`dnat ip to`), written for maps and in `inet` tables.
    pub family: Option<TableFamily>,
    /// The new address. A concatenation, or a map to one, of address and port sets both.
    pub address: Option<Expr>,
    /// The new port.
    pub port: Option<Expr>,
    /// Its flags.
    pub flags: NatFlags,
}

/// The kind of a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NatKind {
    /// New destination.
    Dnat,
    /// New source.
    Snat,
    /// The outgoing interface's address as source.
    Masquerade,
    /// This host as destination.
    Redirect,
}

/// The flags of a translation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct NatFlags {
    /// `random`.
    pub random: bool,
    /// `fully-random`.
    pub fully_random: bool,
    /// `persistent`.
    pub persistent: bool,
}

/// What a refused client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reject {
    /// The default: port unreachable of the packet's family.
    Default,
    /// `with icmp CODE`: the code of destination unreachable.
    Icmp(u8),
    /// `with icmpv6 CODE`.
    Icmpv6(u8),
    /// `with icmpx CODE`: nft's own numbers (0 no route, 1 port unreachable, 2 host unreachable,
    /// 3 admin prohibited).
    Icmpx(u8),
    /// `with tcp reset`.
    TcpReset,
}

/// `add|update|delete @SET { KEY timeout T STATEMENTS }`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetUpdate {
    /// What is done.
    pub op: SetOp,
    /// The set.
    pub set: Name,
    /// The key.
    pub key: Expr,
    /// The element's own timeout in milliseconds.
    pub timeout: Option<u64>,
    /// The data, for a map.
    pub data: Option<Expr>,
    /// What is done for each element (`counter`, `limit rate …`).
    pub statements: Box<[Statement]>,
}

/// What a rule does to a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetOp {
    /// Adds if absent.
    Add,
    /// Adds, or refreshes the timeout.
    Update,
    /// Removes.
    Delete,
}
