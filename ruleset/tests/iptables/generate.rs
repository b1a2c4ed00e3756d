//! Random rules and rule sets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use kps_ruleset::iptables::{
    AddrType, AddressTypes, Chain, Connmark, Conntrack, Counters, CtDirection, CtStates,
    CtStatuses, Family, Header, Icmp, InterfacePattern, IpRange, Layout, MaskedMark, Match,
    Multiport, Nat, NatPorts, Negatable, Network, Owner, Part, Physdev, Policy, PortRange,
    PortSide, PortTest, Probability, Recent, RecentAction, RejectWith, Rule, Ruleset, SetMatch,
    Side, Statistic, Table, Target, TcpFlags, TcpFlagsTest, TcpTest, XMark,
};
use kps_ruleset::{Name, Protocol};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn negatable<T: std::fmt::Debug + Clone>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Negatable<T>> {
    (any::<bool>(), value).prop_map(|(negated, value)| Negatable { negated, value })
}

fn plain<T: std::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Negatable<T>> {
    value.prop_map(Negatable::is)
}

pub fn address(family: Family) -> BoxedStrategy<IpAddr> {
    match family {
        Family::Ipv4 => any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).into()).boxed(),
        Family::Ipv6 => any::<u128>().prop_map(|bits| Ipv6Addr::from(bits).into()).boxed(),
    }
}

fn network(family: Family) -> impl Strategy<Value = Network> {
    let prefix = (address(family), 1..=family.address_bits())
        .prop_map(|(address, length)| IpNet::new(address, length).unwrap().into());
    let masked = (address(family), address(family)).prop_filter_map("a mask", |(a, mask)| {
        Network::new(a, mask).filter(|network| matches!(network, Network::Masked(_)))
    });
    prop_oneof![9 => prefix, 1 => masked]
}

fn name() -> impl Strategy<Value = Name> {
    "[A-Za-z][A-Za-z0-9_-]{0,20}".prop_map(Name::from)
}

fn comment() -> impl Strategy<Value = Name> {
    prop_oneof!["[a-z0-9/:.-]{1,20}", "[ -~]{1,40}", "\\PC{1,30}"].prop_map(Name::from)
}

fn interface() -> impl Strategy<Value = InterfacePattern> {
    "[a-z][a-z0-9.-]{0,12}\\+?".prop_map(|name| InterfacePattern(name.into()))
}

fn ports() -> impl Strategy<Value = PortRange> {
    (any::<u16>(), any::<u16>())
        .prop_map(|(a, b)| PortRange { first: a.min(b), last: a.max(b) })
        .prop_filter("not everything", |range| range.first > 0 || range.last < u16::MAX)
}

fn port_test() -> impl Strategy<Value = PortTest> {
    (of(negatable(ports())), of(negatable(ports())))
        .prop_map(|(source, destination)| PortTest { source, destination })
}

fn mark() -> impl Strategy<Value = MaskedMark> {
    (any::<u32>(), any::<u32>()).prop_map(|(value, mask)| MaskedMark { value, mask })
}

fn xmark() -> impl Strategy<Value = XMark> {
    prop_oneof![
        any::<u32>().prop_map(XMark::or),
        any::<u32>().prop_map(XMark::xor),
        any::<u32>().prop_map(XMark::and),
        (any::<u32>(), any::<u32>()).prop_map(|(value, mask)| XMark { value, mask }),
    ]
}

fn sides() -> impl Strategy<Value = Box<[Side]>> {
    vec(prop_oneof![Just(Side::Source), Just(Side::Destination)], 1..=6).prop_map(Vec::into)
}

fn flags<F: bitflags::Flags<Bits: Into<u64> + TryFrom<u64>> + std::fmt::Debug + Copy>()
-> impl Strategy<Value = F> {
    any::<u64>().prop_filter_map("some flag", |bits| {
        let all: u64 = F::all().bits().into();
        let flags = F::Bits::try_from(bits & all).ok().map(F::from_bits_truncate)?;
        (!flags.is_empty()).then_some(flags)
    })
}

fn conntrack(family: Family) -> impl Strategy<Value = Conntrack> {
    let tuple = (
        of(negatable(network(family))),
        of(negatable(network(family))),
        of(negatable(ports())),
        of(negatable(ports())),
    );
    let rest = (
        of(negatable(flags::<CtStatuses>())),
        of(negatable((0..1000_u32, 1000..2000_u32))),
        of(prop_oneof![Just(CtDirection::Original), Just(CtDirection::Reply)]),
    );
    (negatable(flags::<CtStates>()), tuple, rest).prop_map(|(states, tuple, rest)| Conntrack {
        states: Some(states),
        original_source: tuple.0,
        reply_destination: tuple.1,
        original_destination_port: tuple.2,
        reply_source_port: tuple.3,
        statuses: rest.0,
        expire: rest.1,
        direction: rest.2,
        ..Conntrack::default()
    })
}

fn recent(family: Family) -> impl Strategy<Value = Recent> {
    let action = prop_oneof![
        Just(RecentAction::Set),
        Just(RecentAction::Check),
        Just(RecentAction::Update),
        Just(RecentAction::Remove)
    ];
    let side = prop_oneof![Just(Side::Source), Just(Side::Destination)];
    let mask = of(address(family).prop_filter("not full", |mask| match mask {
        IpAddr::V4(mask) => !mask.is_broadcast(),
        IpAddr::V6(mask) => u128::from(*mask) != u128::MAX,
    }));
    let numbers = (of(any::<u32>()), of(any::<u32>()), any::<bool>(), any::<bool>());
    (negatable(action), numbers, name(), mask, side).prop_map(
        |(action, (seconds, hit_count, reap, ttl), name, mask, side)| Recent {
            action,
            seconds,
            reap,
            hit_count,
            ttl,
            name,
            mask,
            side,
        },
    )
}

fn statistic() -> impl Strategy<Value = Statistic> {
    prop_oneof![
        (any::<bool>(), 0..=Probability::ONE).prop_map(|(negated, chances)| Statistic::Random {
            negated,
            probability: Probability::new(chances)
        }),
        (any::<bool>(), 1..=u32::MAX, any::<u32>()).prop_map(|(negated, every, packet)| {
            Statistic::Nth { negated, every, packet: packet % every }
        }),
    ]
}

fn switch() -> impl Strategy<Value = Option<bool>> {
    of(any::<bool>())
}

fn physdev() -> impl Strategy<Value = Physdev> {
    (of(negatable(interface())), any::<bool>(), of(negatable(interface())), switch(), switch())
        .prop_map(|(input, is_in, output, is_out, is_bridged)| Physdev {
            input,
            is_in: Some(is_in),
            output,
            is_out,
            is_bridged,
        })
}

fn icmp() -> impl Strategy<Value = Icmp> {
    (any::<bool>(), 0..255_u8, of(any::<u8>())).prop_map(|(negated, kind, code)| Icmp {
        negated,
        kind: Some(kind),
        first_code: code.unwrap_or(0),
        last_code: code.unwrap_or(u8::MAX),
    })
}

fn tcp() -> impl Strategy<Value = TcpTest> {
    let flags = (any::<u8>(), any::<u8>()).prop_map(|(mask, set)| TcpFlagsTest {
        mask: TcpFlags::from_bits_truncate(mask),
        set: TcpFlags::from_bits_truncate(set),
    });
    (port_test(), of(negatable(1..=255_u8)), of(negatable(flags)))
        .prop_map(|(ports, option, flags)| TcpTest { ports, option, flags })
}

pub fn any_match(family: Family) -> BoxedStrategy<Match> {
    let set = (any::<bool>(), name(), sides(), any::<bool>()).prop_map(
        |(negated, set, sides, return_nomatch)| SetMatch {
            negated,
            set,
            sides,
            return_nomatch,
            counters: None,
        },
    );
    let side =
        prop_oneof![Just(PortSide::Source), Just(PortSide::Destination), Just(PortSide::Either)];
    let multiport = (any::<bool>(), side, vec(ports(), 1..7))
        .prop_map(|(negated, side, ports)| Multiport { negated, side, ports: ports.into() });
    let addrtype = (negatable(flags::<AddressTypes>()), of(negatable(flags::<AddressTypes>())))
        .prop_map(|(source, destination)| AddrType {
            source: Some(source),
            destination,
            limit_input: source.negated,
            limit_output: false,
        });
    let owner = (negatable((0..99_u32, 99..200_u32)), switch()).prop_map(|(uid, socket)| Owner {
        uid: Some(uid),
        socket,
        ..Owner::default()
    });
    let range = negatable((address(family), address(family)))
        .prop_map(|source| IpRange { source: Some(source), destination: None });
    let rare = prop_oneof![
        multiport.prop_map(Match::Multiport),
        set.prop_map(|m| Match::Set(Box::new(m))),
        physdev().prop_map(|m| Match::Physdev(Box::new(m))),
        icmp().prop_map(if family == Family::Ipv4 { Match::Icmp } else { Match::Icmp6 }),
        owner.prop_map(|m| Match::Owner(Box::new(m))),
        range.prop_map(|m| Match::IpRange(Box::new(m))),
        name().prop_map(Match::Nfacct),
        negatable(any::<[u8; 6]>()).prop_map(Match::Mac),
    ];
    prop_oneof![
        comment().prop_map(Match::Comment),
        conntrack(family).prop_map(|m| Match::Conntrack(Box::new(m))),
        addrtype.prop_map(Match::AddrType),
        negatable(mark()).prop_map(Match::Mark),
        negatable(mark()).prop_map(Match::Connmark),
        statistic().prop_map(Match::Statistic),
        recent(family).prop_map(|m| Match::Recent(Box::new(m))),
        tcp().prop_map(Match::Tcp),
        port_test().prop_map(Match::Udp),
        rare,
    ]
    .boxed()
}

fn nat(family: Family) -> impl Strategy<Value = Nat> {
    let ports = (ports(), of(any::<u16>())).prop_map(|(range, base)| NatPorts { range, base });
    (address(family), address(family), of(ports), any::<[bool; 3]>()).prop_map(
        |(a, b, ports, [random, random_fully, persistent])| Nat {
            addresses: Some((a, b)),
            ports,
            random,
            random_fully,
            persistent,
        },
    )
}

pub fn any_target(family: Family) -> BoxedStrategy<Target> {
    let reject = match family {
        Family::Ipv4 => prop_oneof![Just(RejectWith::Icmp(3)), Just(RejectWith::Icmp(13))].boxed(),
        Family::Ipv6 => {
            prop_oneof![Just(RejectWith::Icmpv6(4)), Just(RejectWith::TcpReset)].boxed()
        }
    };
    let connmark = prop_oneof![
        xmark().prop_map(Connmark::Set),
        (any::<u32>(), any::<u32>())
            .prop_map(|(packet_mask, ct_mask)| Connmark::Save { packet_mask, ct_mask }),
        (any::<u32>(), any::<u32>())
            .prop_map(|(packet_mask, ct_mask)| Connmark::Restore { packet_mask, ct_mask }),
    ];
    prop_oneof![
        Just(Target::Accept),
        Just(Target::Drop),
        Just(Target::Return),
        name().prop_map(|chain| Target::Jump(format!("c-{chain}").into())),
        name().prop_map(|chain| Target::Goto(format!("c-{chain}").into())),
        reject.prop_map(Target::Reject),
        xmark().prop_map(Target::Mark),
        connmark.prop_map(Target::Connmark),
        nat(family).prop_map(|nat| Target::Dnat(Box::new(nat))),
        nat(family).prop_map(|nat| Target::Snat(Box::new(nat))),
        any::<bool>().prop_map(|random_fully| {
            Target::Masquerade(Box::new(Nat { random_fully, ..Nat::default() }))
        }),
        Just(Target::Trace),
        any::<bool>().prop_map(|ct| Target::NoTrack { ct }),
    ]
    .boxed()
}

fn header(family: Family) -> impl Strategy<Value = Header> {
    let protocol = (1..=255_u8).prop_map(Protocol);
    (
        of(negatable(network(family))),
        of(negatable(network(family))),
        of(negatable(interface())),
        of(negatable(interface())),
        of(plain(protocol)),
    )
        .prop_map(|(source, destination, input, output, protocol)| Header {
            source,
            destination,
            input,
            output,
            protocol,
            fragment: None,
        })
}

pub fn any_rule(family: Family) -> impl Strategy<Value = Rule> {
    (header(family), vec(any_match(family), 0..5), of(any_target(family))).prop_map(
        |(header, matches, target)| Rule {
            header,
            matches: matches.into(),
            target,
            counters: None,
            layout: Layout::default(),
        },
    )
}

/// A rule whose parts are written in any order.
pub fn any_written_rule(family: Family) -> impl Strategy<Value = Rule> {
    let parts = |rule: &Rule| {
        let header = &rule.header;
        let mut parts = vec![Part::Match; rule.matches.len()];
        parts.extend(header.source.as_ref().map(|_| Part::Source));
        parts.extend(header.destination.as_ref().map(|_| Part::Destination));
        parts.extend(header.input.map(|_| Part::Input));
        parts.extend(header.output.map(|_| Part::Output));
        parts.extend(header.protocol.map(|_| Part::Protocol));
        parts
    };
    any_rule(family).prop_flat_map(move |rule| {
        let order = Just(parts(&rule)).prop_shuffle();
        (Just(rule), order).prop_map(|(rule, order)| Rule { layout: Layout::new(&order), ..rule })
    })
}

fn counters() -> impl Strategy<Value = Counters> {
    (any::<u64>(), any::<u64>()).prop_map(|(packets, bytes)| Counters { packets, bytes })
}

fn any_chain(family: Family, policy: Option<Policy>) -> impl Strategy<Value = Chain> {
    let rule = (any_rule(family), counters())
        .prop_map(|(rule, counters)| Rule { counters: Some(counters), ..rule });
    (counters(), vec(rule, 0..4)).prop_map(move |(counters, rules)| Chain {
        policy,
        counters: Some(counters),
        rules,
    })
}

/// A rule set whose chains are in the order of the tools, with counters.
pub fn any_ruleset(family: Family) -> impl Strategy<Value = Ruleset> {
    let user = proptest::collection::btree_map(
        "c-[a-z]{1,8}".prop_map(Name::from),
        any_chain(family, None),
        0..4,
    );
    let builtin = vec(any_chain(family, Some(Policy::Drop)), 3);
    (builtin, user).prop_map(move |(builtin, user)| {
        let names = ["INPUT", "FORWARD", "OUTPUT"].map(Name::new);
        let chains = names.into_iter().zip(builtin).chain(user).collect();
        let mut ruleset = Ruleset::new(family);
        ruleset.tables.insert(Name::new("filter"), Table { chains });
        ruleset
    })
}
