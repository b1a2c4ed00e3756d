//! Strategies that draw trees, for tests of laws here and in other crates (feature `arbitrary`).
//!
//! What is drawn is what the kernel could hold: prefixes are masked, anonymous sets have more than
//! one element and are sorted, chains call only chains after them, and each set that a rule names
//! is there. Names come from a small pool, so that rules meet.

use std::net::{Ipv4Addr, Ipv6Addr};

use indexmap::IndexMap;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::ast::{
    AddressType, BaseChain, Binary, BinaryOp, Chain, ChainKind, Ct, CtKey, Data, DataType, Element,
    Expr, FibFlags, FibResult, Hook, Key, Mangle, MapLookup, MapSource, Match, Meta, Nat, NatFlags,
    NatKind, NumgenMode, Payload, Policy, Reject, Relation, Rule, Ruleset, Set, SetFlags, SetOp,
    SetUpdate, Statement, Table, TableFamily, Value, Verdict, VerdictMap,
};
use super::transaction::TableId;
use crate::Name;

/// How many chains a table has.
const CHAINS: usize = 5;

/// Draws a rule set of one IPv4 and one IPv6 table.
pub fn ruleset() -> impl Strategy<Value = Ruleset> {
    (table(TableFamily::Ip), table(TableFamily::Ip6))
        .prop_map(|(ipv4, ipv6)| Ruleset { tables: vec![ipv4, ipv6] })
}

/// Draws a table with chains `chain-0` and up, sets `addresses` and `seen`, and maps `ports` and
/// `services`.
pub fn table(family: TableFamily) -> impl Strategy<Value = Table> {
    let chains: Vec<BoxedStrategy<Chain>> =
        (0..CHAINS).map(|at| chain(family, at).boxed()).collect();
    (sets(family), chains).prop_map(move |(sets, chains)| {
        let chains = chains.into_iter().enumerate().map(|(at, chain)| (chain_name(at), chain));
        let id = TableId { family, name: "kube-proxy".into() };
        Table { sets, chains: chains.collect(), ..Table::new(id) }
    })
}

fn chain_name(at: usize) -> Name {
    format!("chain-{at}/tcp/p.{at}").into()
}

fn comment() -> impl Strategy<Value = Option<Name>> {
    option::weighted(0.3, "[a-zA-Z0-9@/:._-][a-zA-Z0-9 @/:._-]{0,30}")
        .prop_map(|c| c.map(Name::from))
}

/// The first chain is a base chain.
fn chain(family: TableFamily, at: usize) -> impl Strategy<Value = Chain> {
    (vec(rule(family, at), 0..6), base_chain()).prop_map(move |(rules, base)| Chain {
        base: (at == 0).then(|| Box::new(base)),
        rules,
        ..Chain::default()
    })
}

fn base_chain() -> impl Strategy<Value = BaseChain> {
    let hook = prop_oneof![Just(Hook::Prerouting), Just(Hook::Output), Just(Hook::Postrouting)];
    let policy = prop_oneof![Just(Policy::Accept), Just(Policy::Drop)];
    let kind = prop_oneof![Just(ChainKind::Nat), Just(ChainKind::Filter)];
    (kind, hook, -320..320_i32, policy).prop_map(|(kind, hook, priority, policy)| BaseChain {
        kind,
        hook,
        priority,
        policy,
        devices: Vec::new(),
    })
}

/// Draws a rule for the chain at a place, which may call those after it.
pub fn rule(family: TableFamily, chain: usize) -> impl Strategy<Value = Rule> {
    let middle = prop_oneof![
        4 => match_(family),
        1 => mangle(),
        1 => Just(Statement::Counter { packets: 7, bytes: 420 }),
        1 => update(family),
    ];
    (vec(middle, 0..4), last(family, chain), comment()).prop_map(
        |(mut statements, last, comment)| {
            statements.push(last);
            Rule { statements: statements.into(), comment, handle: None }
        },
    )
}

fn verdict(chain: usize) -> BoxedStrategy<Verdict> {
    let plain = prop_oneof![Just(Verdict::Accept), Just(Verdict::Drop), Just(Verdict::Return)];
    if chain + 1 >= CHAINS {
        return plain.boxed();
    }
    let callee = (chain + 1..CHAINS).prop_map(chain_name);
    let call = (callee, any::<bool>())
        .prop_map(|(chain, jump)| if jump { Verdict::Jump(chain) } else { Verdict::Goto(chain) });
    prop_oneof![plain, call].boxed()
}

fn last(family: TableFamily, chain: usize) -> impl Strategy<Value = Statement> {
    prop_oneof![
        3 => verdict(chain).prop_map(Statement::Verdict),
        1 => reject(family).prop_map(Statement::Reject),
        1 => nat(family).prop_map(Statement::Nat),
        1 => numgen_map(chain),
        1 => Just(Statement::VerdictMap(VerdictMap {
            key: destination(family),
            map: MapSource::Named("services".into()),
        })),
    ]
}

fn reject(family: TableFamily) -> impl Strategy<Value = Reject> {
    let with_code = if family == TableFamily::Ip { Reject::Icmp(1) } else { Reject::Icmpv6(0) };
    prop_oneof![Just(Reject::Default), Just(Reject::TcpReset), Just(with_code)]
}

fn numgen_map(chain: usize) -> impl Strategy<Value = Statement> {
    vec(verdict(chain), 1..6).prop_map(|verdicts| {
        let elements = (0_u64..).zip(verdicts).map(|(at, verdict)| Element {
            data: Some(Data::Verdict(verdict)),
            ..Element::new(Value::Number(at))
        });
        let elements: Box<[Element]> = elements.collect();
        let key = numgen(elements.len());
        Statement::VerdictMap(VerdictMap { key, map: MapSource::Anonymous(elements) })
    })
}

fn numgen(modulus: usize) -> Expr {
    let modulus = u32::try_from(modulus).unwrap_or(u32::MAX);
    Expr::Numgen { mode: NumgenMode::Random, modulus, offset: 0 }
}

fn destination(family: TableFamily) -> Expr {
    let address = match family {
        TableFamily::Ip => Payload::IpDaddr,
        _ => Payload::Ip6Daddr,
    };
    let parts =
        [Expr::Payload(address), Expr::Meta(Meta::L4proto), Expr::Payload(Payload::ThDport)];
    Expr::Concat(parts.into())
}

fn source(family: TableFamily) -> Expr {
    match family {
        TableFamily::Ip => Expr::Payload(Payload::IpSaddr),
        _ => Expr::Payload(Payload::Ip6Saddr),
    }
}

/// Draws one address of the family.
pub fn address(family: TableFamily) -> BoxedStrategy<Value> {
    match family {
        TableFamily::Ip => any::<Ipv4Addr>().prop_map(Value::Ipv4).boxed(),
        _ => any::<Ipv6Addr>().prop_map(Value::Ipv6).boxed(),
    }
}

fn prefix(family: TableFamily) -> BoxedStrategy<Value> {
    match family {
        TableFamily::Ip => (any::<u32>(), 0..32_u8)
            .prop_map(|(bits, len)| {
                let mask = u32::MAX.checked_shl(u32::from(32 - len)).unwrap_or(0);
                Value::Ipv4Prefix(Ipv4Addr::from_bits(bits & mask), len)
            })
            .boxed(),
        _ => (any::<u128>(), 0..128_u8)
            .prop_map(|(bits, len)| {
                let mask = u128::MAX.checked_shl(u32::from(128 - len)).unwrap_or(0);
                Value::Ipv6Prefix(Ipv6Addr::from_bits(bits & mask), len)
            })
            .boxed(),
    }
}

fn equality() -> impl Strategy<Value = Relation> {
    prop_oneof![Just(Relation::Equal), Just(Relation::NotEqual)]
}

fn match_(family: TableFamily) -> impl Strategy<Value = Statement> {
    let plain = |left: Expr, right: BoxedStrategy<Value>| {
        (equality(), right).prop_map(move |(op, value)| (left.clone(), op, Expr::Value(value)))
    };
    let left = source(family);
    let interface = "[a-z]{1,8}[*]?".prop_map(|name| Value::Interface(name.into())).boxed();
    let protocol = any::<u8>().prop_map(Value::Protocol).boxed();
    let port = (any::<u16>(), any::<u16>()).prop_map(|(a, b)| match a.cmp(&b) {
        std::cmp::Ordering::Less => Value::PortRange(a, b),
        _ => Value::Port(a),
    });
    let local = FibFlags { daddr: true, ..FibFlags::default() };
    let fib = Expr::Fib { result: FibResult::Type, flags: local };
    prop_oneof![
        plain(left.clone(), address(family)),
        plain(left.clone(), prefix(family)),
        address_set(left, family),
        plain(Expr::Meta(Meta::Iifname), interface),
        plain(Expr::Meta(Meta::L4proto), protocol),
        plain(Expr::Payload(Payload::ThDport), port.boxed()),
        plain(fib, Just(Value::AddressType(AddressType::Local)).boxed()),
        mark_match(),
        connection_state(),
        Just((source(family), Relation::Equal, Expr::SetRef("addresses".into()))),
    ]
    .prop_map(|(left, op, right)| Statement::Match(Match { left, op, right }))
}

/// Single addresses are no intervals, so nothing of them is merged.
fn address_set(left: Expr, family: TableFamily) -> impl Strategy<Value = (Expr, Relation, Expr)> {
    (equality(), btree_set(address(family), 2..5)).prop_map(move |(op, values)| {
        (left.clone(), op, Expr::Set(values.into_iter().map(Element::new).collect()))
    })
}

fn mark_match() -> impl Strategy<Value = (Expr, Relation, Expr)> {
    (equality(), 1..=u32::MAX, any::<u32>()).prop_map(|(op, mask, value)| {
        (masked_mark(BinaryOp::And, mask), op, Expr::Value(Value::Mark(value)))
    })
}

fn masked_mark(op: BinaryOp, mask: u32) -> Expr {
    let right = Expr::Value(Value::Mark(mask));
    Expr::Binary(Box::new(Binary { left: Expr::Meta(Meta::Mark), op, right }))
}

fn connection_state() -> impl Strategy<Value = (Expr, Relation, Expr)> {
    (1..16_u32).prop_map(|bits| {
        let state = Expr::Ct(Ct { key: CtKey::State, direction: None });
        (state, Relation::AnyBit, Expr::Value(Value::CtState(bits)))
    })
}

fn mangle() -> impl Strategy<Value = Statement> {
    let op = prop_oneof![Just(BinaryOp::Or), Just(BinaryOp::Xor), Just(BinaryOp::And)];
    (op, any::<u32>()).prop_map(|(op, mark)| {
        let target = Expr::Meta(Meta::Mark);
        Statement::Mangle(Mangle { target, value: masked_mark(op, mark) })
    })
}

fn update(family: TableFamily) -> impl Strategy<Value = Statement> {
    option::of((1..90_000_u64).prop_map(|seconds| seconds * 1000)).prop_map(move |timeout| {
        Statement::SetUpdate(SetUpdate {
            op: SetOp::Update,
            set: "seen".into(),
            key: source(family),
            timeout,
            data: None,
            statements: Box::default(),
        })
    })
}

fn nat(family: TableFamily) -> impl Strategy<Value = Nat> {
    let flags = (any::<bool>(), any::<bool>()).prop_map(|(fully_random, persistent)| NatFlags {
        fully_random,
        persistent,
        ..NatFlags::default()
    });
    let masquerade = flags.prop_map(|flags| translation(NatKind::Masquerade, None, flags));
    let plain = (address(family), option::of(any::<u16>())).prop_map(|(address, port)| Nat {
        port: port.map(|port| Expr::Value(Value::Port(port))),
        ..translation(NatKind::Dnat, Some(Expr::Value(address)), NatFlags::default())
    });
    prop_oneof![masquerade, plain, balanced(family)]
}

fn translation(kind: NatKind, address: Option<Expr>, flags: NatFlags) -> Nat {
    Nat { kind, family: None, address, port: None, flags }
}

/// Draws `dnat ip to numgen … map { … }`.
fn balanced(family: TableFamily) -> impl Strategy<Value = Nat> {
    vec((address(family), any::<u16>()), 2..12).prop_map(move |endpoints| {
        let elements = (0_u64..).zip(endpoints).map(|(at, (address, port))| Element {
            data: Some(Data::Values([address, Value::Port(port)].into())),
            ..Element::new(Value::Number(at))
        });
        let elements: Box<[Element]> = elements.collect();
        let key = numgen(elements.len());
        let map = MapSource::Anonymous(elements);
        let address = Expr::Map(Box::new(MapLookup { key, map }));
        Nat {
            family: Some(family),
            ..translation(NatKind::Dnat, Some(address), NatFlags::default())
        }
    })
}

fn sets(family: TableFamily) -> impl Strategy<Value = IndexMap<Name, Set>> {
    let address_type =
        if family == TableFamily::Ip { DataType::Ipv4Addr } else { DataType::Ipv6Addr };
    let seen = Set {
        key: vec![address_type],
        flags: SetFlags { dynamic: true, timeout: true, ..SetFlags::default() },
        timeout: Some(10_800_000),
        size: Some(65535),
        ..Set::default()
    };
    let service = vec![address_type, DataType::InetProto, DataType::InetService];
    let ports = (any::<u8>(), any::<u16>())
        .prop_map(|(protocol, port)| Key::from([Value::Protocol(protocol), Value::Port(port)]));
    let services =
        (address(family), any::<u8>(), any::<u16>()).prop_map(|(address, proto, port)| {
            Key::from([address, Value::Protocol(proto), Value::Port(port)])
        });
    (
        set(vec![address_type], address(family).prop_map(Key::from)),
        verdict_map(vec![DataType::InetProto, DataType::InetService], ports),
        verdict_map(service, services),
    )
        .prop_map(move |(addresses, ports, services)| {
            let sets = [
                ("addresses", addresses),
                ("seen", seen.clone()),
                ("ports", ports),
                ("services", services),
            ];
            sets.into_iter().map(|(name, set)| (Name::from(name), set)).collect()
        })
}

fn set(types: Vec<DataType>, key: impl Strategy<Value = Key>) -> impl Strategy<Value = Set> {
    (btree_map(key, comment(), 0..8), comment()).prop_map(move |(keys, comment)| {
        let elements = keys
            .into_iter()
            .map(|(key, comment)| (key.clone(), Element { comment, ..Element::new(key) }));
        Set { key: types.clone(), comment, elements: elements.collect(), ..Set::default() }
    })
}

/// Elements of maps call only the last chain, so that no circle comes about.
fn verdict_map(
    types: Vec<DataType>,
    key: impl Strategy<Value = Key>,
) -> impl Strategy<Value = Set> {
    (set(types, key), any::<bool>()).prop_map(|(mut set, drops)| {
        set.data = Some(vec![DataType::Verdict]);
        let verdict = if drops { Verdict::Drop } else { Verdict::Goto(chain_name(CHAINS - 1)) };
        set.elements.values_mut().for_each(|e| e.data = Some(Data::Verdict(verdict)));
        set
    })
}
