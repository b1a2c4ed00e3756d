//! The tree of an nftables rule set.
//!
//! The tree holds what the kernel holds: `nft list ruleset`, its JSON form and the command form all
//! read into it and are printed from it. Interned [`Name`]s and boxed slices keep it flat: a rule
//! is one allocation plus those of its anonymous sets and maps.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Deref;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::Name;

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
    pub base: Option<BaseChain>,
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

/// A constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
    /// An IPv4 prefix, masked.
    Ipv4Prefix(Ipv4Addr, u8),
    /// An IPv6 prefix, masked.
    Ipv6Prefix(Ipv6Addr, u8),
    /// An inclusive range of IPv4 addresses.
    Ipv4Range(Ipv4Addr, Ipv4Addr),
    /// An inclusive range of IPv6 addresses.
    Ipv6Range(Ipv6Addr, Ipv6Addr),
    /// An IP protocol number (`inet_proto`).
    Protocol(u8),
    /// A port (`inet_service`).
    Port(u16),
    /// An inclusive range of ports.
    PortRange(u16, u16),
    /// A mark, or the mask of one; printed as eight hexadecimal digits.
    Mark(u32),
    /// Any other number. Also what nft shows as a word for it, where the type is known from the
    /// other side: `tcp flags syn` 2, `icmp type echo-request` 8, `meta nfproto ipv4` 2,
    /// `meta protocol ip` 0x800, `meta pkttype host` 0, `ct direction original` 0.
    Number(u64),
    /// An inclusive range of numbers.
    NumberRange(u64, u64),
    /// An interface name. A trailing `*` is a wildcard.
    Interface(Name),
    /// An address type, as `fib … type` gives it.
    AddressType(AddressType),
    /// Bits of `ct state`: `invalid` 1, `established` 2, `related` 4, `new` 8, `untracked` 64.
    CtState(u32),
    /// Bits of `ct status`: `expected` 1, `seen-reply` 2, `assured` 4, `confirmed` 8, `snat` 16,
    /// `dnat` 32, `dying` 512.
    CtStatus(u32),
    /// A verdict, as data of a map.
    Verdict(Verdict),
    /// Any other word or quoted text, as it was read.
    Word(Name),
    /// `*`: the element that catches all.
    Wildcard,
}

/// The type of an address (`RTN_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressType {
    /// No route.
    Unspec,
    /// Sent on.
    Unicast,
    /// An address of this host.
    Local,
    /// A broadcast address.
    Broadcast,
    /// An anycast address.
    Anycast,
    /// A multicast address.
    Multicast,
    /// Blackholed.
    Blackhole,
    /// Unreachable.
    Unreachable,
    /// Prohibited.
    Prohibit,
}

/// The key of an element, or its data: one value, or one for each part of a concatenation.
///
/// A single value needs no allocation and a copy never does. It reads as a slice, and a map by keys
/// can be asked with a plain `&[Value]`.
#[derive(Clone)]
pub enum Key {
    /// One value.
    One(Value),
    /// A concatenation.
    Many(Arc<[Value]>),
}

/// An element of a set or map.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    /// Its key.
    pub key: Key,
    /// Its data, in a map.
    pub data: Option<Data>,
    /// Its comment.
    pub comment: Option<Name>,
    /// What changes while it lives, if it has any of it.
    pub state: Option<Box<ElementState>>,
}

/// The times and counts of an element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ElementState {
    /// Its own timeout in milliseconds.
    pub timeout: Option<u64>,
    /// The time left in milliseconds.
    pub expires: Option<u64>,
    /// Packets and bytes, if it counts.
    pub counter: Option<(u64, u64)>,
}

/// The data of a map element.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// A verdict.
    Verdict(Verdict),
    /// A value, or a concatenation of values.
    Values(Key),
}

/// A named set or map.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Set {
    /// The types of the key's parts.
    pub key: Vec<DataType>,
    /// The types of the data's parts; `None` for a set. A verdict map has `[DataType::Verdict]`.
    pub data: Option<Vec<DataType>>,
    /// What stands after `typeof`, if the types were given by expressions.
    pub type_of: Option<Name>,
    /// Its flags.
    pub flags: SetFlags,
    /// The timeout of its elements in milliseconds.
    pub timeout: Option<u64>,
    /// The interval of the garbage collector in milliseconds.
    pub gc_interval: Option<u64>,
    /// The most elements that it may hold.
    pub size: Option<u32>,
    /// Whether overlapping elements are merged.
    pub auto_merge: bool,
    /// Whether each element counts (`counter` in the definition).
    pub counter: bool,
    /// Its comment.
    pub comment: Option<Name>,
    /// Its elements by key.
    pub elements: IndexMap<Key, Element>,
    /// Its handle.
    pub handle: Option<u64>,
    /// Properties that the tree does not model, as text.
    pub other: Vec<Unsupported>,
}

/// The flags of a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags of the language")]
pub struct SetFlags {
    /// `constant`.
    pub constant: bool,
    /// `interval`.
    pub interval: bool,
    /// `timeout`.
    pub timeout: bool,
    /// `dynamic`.
    pub dynamic: bool,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataType {
    /// `ipv4_addr`.
    Ipv4Addr,
    /// `ipv6_addr`.
    Ipv6Addr,
    /// `inet_proto`.
    InetProto,
    /// `inet_service`.
    InetService,
    /// `mark`.
    Mark,
    /// `ifname`.
    Ifname,
    /// `verdict`.
    Verdict,
    /// Any other type.
    Other(Name),
}

impl Value {
    /// Returns the constant for an address.
    #[must_use]
    pub fn address(address: IpAddr) -> Value {
        match address {
            IpAddr::V4(a) => Value::Ipv4(a),
            IpAddr::V6(a) => Value::Ipv6(a),
        }
    }
}

impl Element {
    /// Returns an element that has a key and nothing else.
    #[must_use]
    pub fn new(key: impl Into<Key>) -> Element {
        Element { key: key.into(), data: None, comment: None, state: None }
    }
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

impl Key {
    /// Returns the parts.
    #[must_use]
    pub fn as_slice(&self) -> &[Value] {
        match self {
            Key::One(value) => std::slice::from_ref(value),
            Key::Many(values) => values,
        }
    }
}

impl Deref for Key {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.as_slice()
    }
}

impl Borrow<[Value]> for Key {
    fn borrow(&self) -> &[Value] {
        self.as_slice()
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl From<Value> for Key {
    fn from(value: Value) -> Key {
        Key::One(value)
    }
}

impl From<&[Value]> for Key {
    fn from(values: &[Value]) -> Key {
        match values {
            [value] => Key::One(*value),
            _ => Key::Many(values.into()),
        }
    }
}

impl From<Vec<Value>> for Key {
    fn from(values: Vec<Value>) -> Key {
        Key::from(values.as_slice())
    }
}

impl From<Box<[Value]>> for Key {
    fn from(values: Box<[Value]>) -> Key {
        Key::from(&*values)
    }
}

impl<const N: usize> From<[Value; N]> for Key {
    fn from(values: [Value; N]) -> Key {
        Key::from(values.as_slice())
    }
}
