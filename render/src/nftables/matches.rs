//! The statements and expressions that kube-proxy's rules are made of.

use std::net::{IpAddr, SocketAddr};

use kps_flow::{Family, Protocol};
use kps_ruleset::Name;
use kps_ruleset::nftables::{
    AddressType, Binary, BinaryOp, Ct, CtKey, Data, Element, Expr, FibFlags, FibResult, Key,
    Mangle, MapLookup, MapSource, Match, Meta, Nat, NatFlags, NatKind, NumgenMode, Payload, Reject,
    Relation, SetOp, SetUpdate, Statement, TableFamily, Value, Verdict, VerdictMap,
};

use super::containers::Container;

/// `ct state new`.
const STATE_NEW: u32 = 8;
/// `ct status dnat`.
const STATUS_DNAT: u32 = 32;

/// `ip saddr` or `ip6 saddr`.
pub(super) fn saddr(family: Family) -> Expr {
    Expr::Payload(match family {
        Family::V4 => Payload::IpSaddr,
        Family::V6 => Payload::Ip6Saddr,
    })
}

/// `ip daddr` or `ip6 daddr`.
pub(super) fn daddr(family: Family) -> Expr {
    Expr::Payload(match family {
        Family::V4 => Payload::IpDaddr,
        Family::V6 => Payload::Ip6Daddr,
    })
}

/// `meta l4proto . th dport`.
pub(super) fn protocol_and_port() -> Expr {
    Expr::Concat(vec![l4proto(), dport()].into())
}

/// `DADDR . meta l4proto . th dport`.
pub(super) fn destination(family: Family) -> Expr {
    Expr::Concat(vec![daddr(family), l4proto(), dport()].into())
}

/// `SADDR . DADDR . meta l4proto . th dport`.
pub(super) fn connection(family: Family) -> Expr {
    Expr::Concat(vec![saddr(family), daddr(family), l4proto(), dport()].into())
}

fn l4proto() -> Expr {
    Expr::Meta(Meta::L4proto)
}

fn dport() -> Expr {
    Expr::Payload(Payload::ThDport)
}

/// `LEFT RIGHT`.
pub(super) fn equal(left: Expr, right: Expr) -> Statement {
    Statement::Match(Match { left, op: Relation::Equal, right })
}

/// `LEFT != RIGHT`.
pub(super) fn not_equal(left: Expr, right: Expr) -> Statement {
    Statement::Match(Match { left, op: Relation::NotEqual, right })
}

/// `KEY @SET`.
pub(super) fn in_set(key: Expr, set: impl Into<Name>) -> Statement {
    equal(key, Expr::SetRef(set.into()))
}

/// `KEY vmap @MAP`.
pub(super) fn verdict_map(key: Expr, map: Container) -> Statement {
    Statement::VerdictMap(VerdictMap { key, map: MapSource::Named(map.name()) })
}

/// `ct state new`.
pub(super) fn state_new() -> Statement {
    let left = Expr::Ct(Ct { key: CtKey::State, direction: None });
    let right = Expr::Value(Value::CtState(STATE_NEW));
    Statement::Match(Match { left, op: Relation::AnyBit, right })
}

/// `ct status dnat`.
pub(super) fn status_dnat() -> Statement {
    let left = Expr::Ct(Ct { key: CtKey::Status, direction: None });
    let right = Expr::Value(Value::CtStatus(STATUS_DNAT));
    Statement::Match(Match { left, op: Relation::AnyBit, right })
}

/// `fib saddr type local`.
pub(super) fn source_is_local() -> Statement {
    is_local(FibFlags { saddr: true, ..FibFlags::default() })
}

/// `fib daddr type local`.
pub(super) fn destination_is_local() -> Statement {
    is_local(FibFlags { daddr: true, ..FibFlags::default() })
}

fn is_local(flags: FibFlags) -> Statement {
    let local = Expr::Value(Value::AddressType(AddressType::Local));
    equal(Expr::Fib { result: FibResult::Type, flags }, local)
}

/// `meta l4proto P`.
pub(super) fn protocol(protocol: Protocol) -> Statement {
    equal(l4proto(), Expr::Value(protocol_value(protocol)))
}

/// `mark and MARK OP 0`.
pub(super) fn mark_bit(mark: u32, op: Relation) -> Statement {
    let left = marked(BinaryOp::And, mark);
    Statement::Match(Match { left, op, right: Expr::Value(Value::Mark(0)) })
}

/// `mark set mark or MARK`.
pub(super) fn set_mark(mark: u32) -> Statement {
    mangle_mark(BinaryOp::Or, mark)
}

/// `mark set mark xor MARK`.
pub(super) fn clear_mark(mark: u32) -> Statement {
    mangle_mark(BinaryOp::Xor, mark)
}

fn mangle_mark(op: BinaryOp, mark: u32) -> Statement {
    Statement::Mangle(Mangle { target: Expr::Meta(Meta::Mark), value: marked(op, mark) })
}

fn marked(op: BinaryOp, mark: u32) -> Expr {
    let right = Expr::Value(Value::Mark(mark));
    Expr::Binary(Box::new(Binary { left: Expr::Meta(Meta::Mark), op, right }))
}

/// `masquerade fully-random`.
pub(super) fn masquerade() -> Statement {
    let flags = NatFlags { fully_random: true, ..NatFlags::default() };
    Statement::Nat(Nat {
        kind: NatKind::Masquerade,
        family: None,
        address: None,
        port: None,
        flags,
    })
}

/// `dnat to IP:PORT`.
pub(super) fn dnat(endpoint: SocketAddr) -> Statement {
    let address = Some(Expr::Value(Value::address(endpoint.ip())));
    let port = Some(Expr::Value(Value::Port(endpoint.port())));
    nat_to(None, address, port)
}

/// `dnat FAM addr . port to numgen random mod N map { 0 : IP . PORT , … }`.
pub(super) fn dnat_map(
    family: Family,
    endpoints: impl ExactSizeIterator<Item = SocketAddr>,
) -> Statement {
    let key = random(endpoints.len());
    let element = |(index, endpoint): (usize, SocketAddr)| {
        let target = [Value::address(endpoint.ip()), Value::Port(endpoint.port())];
        numbered(index, Data::Values(Key::Many(target.into())))
    };
    let map = MapSource::Anonymous(endpoints.enumerate().map(element).collect());
    let family = match family {
        Family::V4 => TableFamily::Ip,
        Family::V6 => TableFamily::Ip6,
    };
    nat_to(Some(family), Some(Expr::Map(Box::new(MapLookup { key, map }))), None)
}

fn nat_to(family: Option<TableFamily>, address: Option<Expr>, port: Option<Expr>) -> Statement {
    let flags = NatFlags::default();
    Statement::Nat(Nat { kind: NatKind::Dnat, family, address, port, flags })
}

/// `numgen random mod N vmap { 0 : goto CHAIN , … }`.
pub(super) fn random_goto(chains: impl ExactSizeIterator<Item = Name>) -> Statement {
    let key = random(chains.len());
    let element =
        |(index, chain): (usize, Name)| numbered(index, Data::Verdict(Verdict::Goto(chain)));
    let map = MapSource::Anonymous(chains.enumerate().map(element).collect());
    Statement::VerdictMap(VerdictMap { key, map })
}

fn random(modulus: usize) -> Expr {
    let modulus = u32::try_from(modulus).unwrap_or(u32::MAX);
    Expr::Numgen { mode: NumgenMode::Random, modulus, offset: 0 }
}

fn numbered(index: usize, data: Data) -> Element {
    Element { data: Some(data), ..Element::new(Key::One(Value::Number(index as u64))) }
}

/// `update @SET { SADDR }`.
pub(super) fn remember_client(set: Name, family: Family) -> Statement {
    let key = saddr(family);
    Statement::SetUpdate(SetUpdate {
        op: SetOp::Update,
        set,
        key,
        timeout: None,
        data: None,
        statements: Box::default(),
    })
}

/// `jump CHAIN`.
pub(super) fn jump(chain: impl Into<Name>) -> Statement {
    Statement::Verdict(Verdict::Jump(chain.into()))
}

/// `goto CHAIN`.
pub(super) fn goto(chain: impl Into<Name>) -> Statement {
    Statement::Verdict(Verdict::Goto(chain.into()))
}

/// `return`.
pub(super) fn return_to_caller() -> Statement {
    Statement::Verdict(Verdict::Return)
}

/// `drop`.
pub(super) fn drop() -> Statement {
    Statement::Verdict(Verdict::Drop)
}

/// `reject`.
pub(super) fn reject() -> Statement {
    Statement::Reject(Reject::Default)
}

/// An element key for an address, a protocol and a port.
pub(super) fn destination_key(address: IpAddr, protocol: Protocol, port: u16) -> Key {
    Key::Many([Value::address(address), protocol_value(protocol), Value::Port(port)].into())
}

/// An element key for a protocol and a port.
pub(super) fn port_key(protocol: Protocol, port: u16) -> Key {
    Key::Many([protocol_value(protocol), Value::Port(port)].into())
}

/// A protocol as a constant.
pub(super) fn protocol_value(protocol: Protocol) -> Value {
    Value::Protocol(protocol.number())
}
