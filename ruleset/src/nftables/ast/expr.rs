//! Expressions: header fields, properties and look-ups.

use super::{Element, MapSource, Unsupported, Value};
use crate::Name;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A header field.
    Payload(Payload),
    /// A property of the packet.
    Meta(Meta),
    /// A property of the connection.
    Ct(Ct),
    /// A routing look-up.
    Fib {
        /// What is asked.
        result: FibResult,
        /// With which fields (`saddr`, `daddr`, `mark`, `iif`, `oif`).
        flags: FibFlags,
    },
    /// `numgen random mod N offset O`.
    Numgen {
        /// Random or in turn.
        mode: NumgenMode,
        /// The modulus.
        modulus: u32,
        /// Added to the result.
        offset: u32,
    },
    /// `a . b . c`.
    Concat(Box<[Expr]>),
    /// `a & b`, `a | b`, …
    Binary(Box<Binary>),
    /// A constant.
    Value(Value),
    /// `{ a, b }`.
    Set(Box<[Element]>),
    /// `@name`.
    SetRef(Name),
    /// `KEY map MAP`.
    Map(Box<MapLookup>),
    /// Something else.
    Unsupported(Unsupported),
}

/// `KEY map MAP`: the data found.
#[derive(Debug, Clone, PartialEq)]
pub struct MapLookup {
    /// What is looked up.
    pub key: Expr,
    /// Where.
    pub map: MapSource,
}

/// A bitwise operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Binary {
    /// The left side.
    pub left: Expr,
    /// The operator.
    pub op: BinaryOp,
    /// The right side.
    pub right: Expr,
}

/// A bitwise operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    /// `&`.
    And,
    /// `|`.
    Or,
    /// `^`.
    Xor,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
}

/// A header field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Payload {
    /// `ip saddr`.
    IpSaddr,
    /// `ip daddr`.
    IpDaddr,
    /// `ip protocol`.
    IpProtocol,
    /// `ip6 saddr`.
    Ip6Saddr,
    /// `ip6 daddr`.
    Ip6Daddr,
    /// `ip6 nexthdr`.
    Ip6Nexthdr,
    /// `th sport`.
    ThSport,
    /// `th dport`.
    ThDport,
    /// `tcp sport`.
    TcpSport,
    /// `tcp dport`.
    TcpDport,
    /// `tcp flags`.
    TcpFlags,
    /// `udp sport`.
    UdpSport,
    /// `udp dport`.
    UdpDport,
    /// `sctp sport`.
    SctpSport,
    /// `sctp dport`.
    SctpDport,
    /// `icmp type`.
    IcmpType,
    /// `icmp code`.
    IcmpCode,
    /// `icmpv6 type`.
    Icmpv6Type,
    /// `icmpv6 code`.
    Icmpv6Code,
    /// Any other field, protocol and field name as nft spells them. Its value is not modelled.
    Other(Name),
}

/// A property of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meta {
    /// `meta l4proto`.
    L4proto,
    /// `meta nfproto`.
    Nfproto,
    /// `meta protocol`: the Ethernet type.
    Protocol,
    /// `meta mark`.
    Mark,
    /// `iifname`.
    Iifname,
    /// `oifname`.
    Oifname,
    /// `iif`, by index; printed by name.
    Iif,
    /// `oif`.
    Oif,
    /// `meta skuid`.
    Skuid,
    /// `meta skgid`.
    Skgid,
    /// `meta pkttype`.
    Pkttype,
    /// Any other key. Its value is not modelled.
    Other(Name),
}

/// A property of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ct {
    /// Which one.
    pub key: CtKey,
    /// Of which direction, for the keys that have one.
    pub direction: Option<CtDirection>,
}

/// A key of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CtKey {
    /// `ct state`.
    State,
    /// `ct status`.
    Status,
    /// `ct mark`.
    Mark,
    /// `ct direction`.
    Direction,
    /// `ct [original|reply] [ip|ip6] saddr`.
    Saddr,
    /// `ct … daddr`.
    Daddr,
    /// `ct … proto-src`.
    ProtoSrc,
    /// `ct … proto-dst`.
    ProtoDst,
    /// `ct protocol`.
    Protocol,
    /// Any other key. Its value is not modelled.
    Other(Name),
}

/// A direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CtDirection {
    /// As the first packet.
    Original,
    /// The other way.
    Reply,
}

/// What a routing look-up is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FibResult {
    /// The type of the address: `local`, `unicast`, …
    Type,
    /// The index of the outgoing interface.
    Oif,
    /// The name of the outgoing interface.
    Oifname,
    /// Whether there is a route.
    Present,
}

/// The fields that a routing look-up uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags of the language")]
pub struct FibFlags {
    /// The source address is what is looked up.
    pub saddr: bool,
    /// The destination address is what is looked up.
    pub daddr: bool,
    /// With the packet's mark.
    pub mark: bool,
    /// Limited to the incoming interface.
    pub iif: bool,
    /// Limited to the outgoing interface.
    pub oif: bool,
}

/// How a number is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NumgenMode {
    /// A 32-bit random number scaled to the modulus.
    Random,
    /// A counter of the rule.
    Increment,
}
