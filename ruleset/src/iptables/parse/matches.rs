//! Reads the options of matches that look at the packet alone.

use super::super::ast::{
    AddrType, AddressTypes, CtStates, Dscp, Hashlimit, Icmp, InterfacePattern, IpRange, Ipvs,
    IpvsMethod, Limit, MaskedMark, Match, Multiport, Negatable, Owner, PacketType, Physdev,
    PortRange, PortSide, PortTest, Rpfilter, SctpTest, Statistic, TcpFlags, TcpFlagsTest, TcpTest,
    Unknown,
};
use super::args::{
    Args, Bad, DONE, MORE, NOT_MINE, Read, Taken, address_range, flags, masked, number,
    number_range, port_range,
};
use super::stateful;
use crate::Name;

/// Returns the match of a module before its options, and whether it needs none.
pub(super) fn open(module: &str, line: u32) -> (Match, bool) {
    let needs_options = match module {
        "comment" => Match::Comment(Name::new("")),
        "conntrack" => Match::Conntrack(Box::default()),
        "state" => Match::State(Negatable::is(CtStates::empty())),
        "addrtype" => Match::AddrType(AddrType::default()),
        "mark" => Match::Mark(Negatable::is(MaskedMark { value: 0, mask: 0 })),
        "connmark" => Match::Connmark(Negatable::is(MaskedMark { value: 0, mask: 0 })),
        "statistic" => Match::Statistic(Statistic::Nth { negated: false, every: 0, packet: 0 }),
        "recent" => Match::Recent(Box::default()),
        "multiport" => Match::Multiport(Multiport::default()),
        "set" => Match::Set(Box::default()),
        "physdev" => Match::Physdev(Box::default()),
        "limit" => Match::Limit(Limit::default()),
        "hashlimit" => Match::Hashlimit(Hashlimit { options: Name::new("") }),
        "icmp" => Match::Icmp(Icmp::ANY),
        "icmp6" | "icmpv6" => Match::Icmp6(Icmp::ANY),
        "owner" => Match::Owner(Box::default()),
        "iprange" => Match::IpRange(Box::default()),
        "length" => Match::Length(Negatable::is((0, u16::MAX))),
        "nfacct" => Match::Nfacct(Name::new("")),
        "ipvs" => Match::Ipvs(Box::default()),
        "mac" => Match::Mac(Negatable::is([0; 6])),
        "pkttype" => Match::PacketType(Negatable::is(PacketType::Unicast)),
        "tos" => Match::Tos(Negatable::is((0, 0))),
        "dscp" => Match::Dscp(Dscp { negated: false, value: 0 }),
        "tcp" => return (Match::Tcp(TcpTest::default()), true),
        "udp" => return (Match::Udp(PortTest::default()), true),
        "sctp" => return (Match::Sctp(SctpTest::default()), true),
        "rpfilter" => return (Match::Rpfilter(Rpfilter::default()), true),
        _ => {
            let unknown = Unknown { module: Name::new(module), options: Name::new(""), line };
            return (Match::Unknown(unknown), true);
        }
    };
    (needs_options, false)
}

/// Reads an option of a match.
pub(super) fn option(m: &mut Match, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match m {
        Match::Comment(text) => comment(text, option, args),
        Match::Conntrack(test) => stateful::conntrack(test, option, args),
        Match::State(test) => stateful::state(test, option, args),
        Match::AddrType(test) => addrtype(test, option, args),
        Match::Mark(test) | Match::Connmark(test) => mark(test, option, args),
        Match::Statistic(test) => stateful::statistic(test, option, args),
        Match::Recent(test) => stateful::recent(test, option, args),
        Match::Multiport(test) => multiport(test, option, args),
        Match::Set(test) => stateful::set(test, option, args),
        Match::Physdev(test) => physdev(test, option, args),
        Match::Limit(test) => stateful::limit(test, option, args),
        Match::Hashlimit(test) => stateful::hashlimit(test, option, args),
        Match::Icmp(test) => icmp(test, option, args, "--icmp-type"),
        Match::Icmp6(test) => icmp(test, option, args, "--icmpv6-type"),
        Match::Tcp(test) => tcp(test, option, args),
        Match::Udp(test) => ports(test, option, args),
        Match::Sctp(test) => sctp(test, option, args),
        Match::Owner(test) => owner(test, option, args),
        Match::IpRange(test) => iprange(test, option, args),
        Match::Length(test) => length(test, option, args),
        Match::Nfacct(name) => nfacct(name, option, args),
        Match::Ipvs(test) => ipvs(test, option, args),
        Match::Rpfilter(test) => rpfilter(test, option),
        Match::Mac(test) => mac(test, option, args),
        Match::PacketType(test) => packet_type(test, option, args),
        Match::Tos(test) => tos(test, option, args),
        Match::Dscp(test) => dscp(test, option, args),
        Match::Unknown(_) => NOT_MINE,
    }
}

fn comment(text: &mut Name, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--comment" {
        return NOT_MINE;
    }
    *text = args.name()?;
    DONE
}

fn addrtype(test: &mut AddrType, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--src-type" => test.source = args.flags::<AddressTypes>()?,
        "--dst-type" => test.destination = args.flags::<AddressTypes>()?,
        "--limit-iface-in" => test.limit_input = true,
        "--limit-iface-out" => test.limit_output = true,
        _ => return NOT_MINE,
    }
    if test.source.is_some() || test.destination.is_some() { DONE } else { MORE }
}

fn mark(test: &mut Negatable<MaskedMark>, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--mark" {
        return NOT_MINE;
    }
    *test = Negatable { negated: args.negation(), value: args.mark()? };
    DONE
}

fn multiport(test: &mut Multiport, option: &str, args: &mut Args<'_, '_>) -> Taken {
    test.side = match option {
        "--sports" | "--source-ports" => PortSide::Source,
        "--dports" | "--destination-ports" => PortSide::Destination,
        "--ports" => PortSide::Either,
        _ => return NOT_MINE,
    };
    test.negated = args.negation();
    let word = args.word()?;
    test.ports = word.split(',').map(|range| port_range(range, ':')).collect::<Read<_>>()?;
    DONE
}

fn physdev(test: &mut Physdev, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--physdev-in" => test.input = args.interface()?,
        "--physdev-out" => test.output = args.interface()?,
        "--physdev-is-in" => test.is_in = args.switch(),
        "--physdev-is-out" => test.is_out = args.switch(),
        "--physdev-is-bridged" => test.is_bridged = args.switch(),
        _ => return NOT_MINE,
    }
    DONE
}

fn icmp(test: &mut Icmp, option: &str, args: &mut Args<'_, '_>, name: &str) -> Taken {
    if option != name {
        return NOT_MINE;
    }
    let negated = args.negation();
    *test = Icmp { negated, ..Icmp::parse(&args.word()?, name == "--icmpv6-type").ok_or(Bad)? };
    DONE
}

fn tcp(test: &mut TcpTest, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--tcp-flags" => {
            let value =
                TcpFlagsTest { mask: tcp_flags(&args.word()?)?, set: tcp_flags(&args.word()?)? };
            test.flags = args.test(value);
        }
        "--syn" => test.flags = args.test(TcpFlagsTest::SYN),
        "--tcp-option" => {
            let number = args.number()?;
            test.option = args.test(number);
        }
        _ => return ports(&mut test.ports, option, args),
    }
    DONE
}

fn tcp_flags(word: &str) -> Read<TcpFlags> {
    match word {
        "ALL" => Ok(TcpFlags::all()),
        "NONE" => Ok(TcpFlags::empty()),
        _ => flags(word),
    }
}

fn ports(test: &mut PortTest, option: &str, args: &mut Args<'_, '_>) -> Taken {
    let end = match option {
        "--sport" | "--source-port" => &mut test.source,
        "--dport" | "--destination-port" => &mut test.destination,
        _ => return NOT_MINE,
    };
    let range = args.ports()?;
    // The tools print no test for all ports, unless it is negated.
    let everything = range == PortRange { first: 0, last: u16::MAX } && !args.negated;
    *end = args.test(range).filter(|_| !everything);
    DONE
}

fn sctp(test: &mut SctpTest, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--chunk-types" {
        return ports(&mut test.ports, option, args);
    }
    let negation = if args.negation() { "! " } else { "" };
    let (quantifier, chunks) = (args.word()?, args.word()?);
    test.chunks = Some(format!("{negation}--chunk-types {quantifier} {chunks}").into());
    DONE
}

fn owner(test: &mut Owner, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--uid-owner" => {
            let range = number_range(&args.word()?, '-')?;
            test.uid = args.test(range);
        }
        "--gid-owner" => {
            let range = number_range(&args.word()?, '-')?;
            test.gid = args.test(range);
        }
        "--socket-exists" => test.socket = args.switch(),
        "--suppl-groups" => test.supplementary = true,
        _ => return NOT_MINE,
    }
    DONE
}

fn iprange(test: &mut IpRange, option: &str, args: &mut Args<'_, '_>) -> Taken {
    let end = match option {
        "--src-range" => &mut test.source,
        "--dst-range" => &mut test.destination,
        _ => return NOT_MINE,
    };
    let range = address_range(&args.word()?, args.family)?;
    *end = args.test(range);
    DONE
}

fn length(test: &mut Negatable<(u16, u16)>, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--length" {
        return NOT_MINE;
    }
    let PortRange { first, last } = args.ports()?;
    *test = Negatable { negated: args.negation(), value: (first, last) };
    DONE
}

fn nfacct(name: &mut Name, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--nfacct-name" {
        return NOT_MINE;
    }
    *name = args.name()?;
    DONE
}

fn ipvs(test: &mut Ipvs, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--ipvs" => test.is_ipvs = args.switch(),
        "--vproto" => {
            let protocol = args.protocol()?;
            test.protocol = args.test(protocol);
        }
        "--vaddr" => {
            let network = args.network()?;
            test.address = args.test(network);
        }
        "--vport" => {
            let port = args.number()?;
            test.port = args.test(port);
        }
        "--vdir" => test.direction = Some(args.direction()?),
        "--vmethod" => {
            let method = ipvs_method(&args.word()?)?;
            test.method = args.test(method);
        }
        "--vportctl" => {
            let port = args.number()?;
            test.control_port = args.test(port);
        }
        _ => return NOT_MINE,
    }
    DONE
}

fn ipvs_method(word: &str) -> Read<IpvsMethod> {
    match word {
        "GATE" => Ok(IpvsMethod::Gate),
        "IPIP" => Ok(IpvsMethod::Ipip),
        "MASQ" => Ok(IpvsMethod::Masq),
        _ => Err(Bad),
    }
}

fn rpfilter(test: &mut Rpfilter, option: &str) -> Taken {
    match option {
        "--loose" => test.loose = true,
        "--validmark" => test.use_mark = true,
        "--accept-local" => test.accept_local = true,
        "--invert" => test.invert = true,
        _ => return NOT_MINE,
    }
    DONE
}

fn mac(test: &mut Negatable<[u8; 6]>, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--mac-source" {
        return NOT_MINE;
    }
    let mut value = [0; 6];
    let word = args.word()?;
    let mut parts = word.split(':');
    for byte in &mut value {
        *byte = parts.next().and_then(|p| u8::from_str_radix(p, 16).ok()).ok_or(Bad)?;
    }
    *test = Negatable { negated: args.negation(), value };
    if parts.next().is_none() { DONE } else { Err(Bad) }
}

fn packet_type(test: &mut Negatable<PacketType>, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--pkt-type" {
        return NOT_MINE;
    }
    let value = match &*args.word()? {
        "unicast" | "host" => PacketType::Unicast,
        "broadcast" => PacketType::Broadcast,
        "multicast" => PacketType::Multicast,
        _ => return Err(Bad),
    };
    *test = Negatable { negated: args.negation(), value };
    DONE
}

fn tos(test: &mut Negatable<(u8, u8)>, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--tos" {
        return NOT_MINE;
    }
    *test = Negatable { negated: args.negation(), value: masked(&args.word()?, u8::MAX)? };
    DONE
}

fn dscp(test: &mut Dscp, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--dscp" {
        return NOT_MINE;
    }
    let value = number(&args.word()?)?;
    *test = Dscp { negated: args.negation(), value };
    if value < 64 { DONE } else { Err(Bad) }
}

impl Args<'_, '_> {
    fn flags<F: bitflags::Flags>(&mut self) -> Read<Option<Negatable<F>>> {
        let value = flags(&self.word()?)?;
        Ok(self.test(value))
    }

    fn interface(&mut self) -> Read<Option<Negatable<InterfacePattern>>> {
        let pattern = InterfacePattern(self.name()?);
        Ok(self.test(pattern))
    }
}
