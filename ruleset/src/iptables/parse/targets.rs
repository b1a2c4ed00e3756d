//! Reads targets and their options.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::super::ast::{
    Connmark, Family, Nat, NatPorts, Network, RejectWith, SetChange, SetTarget, Target, TcpMss,
    Tproxy, Unknown, XMark,
};
use super::args::{
    Args, Bad, DONE, MORE, NOT_MINE, Read, Taken, address_range, masked, number, port_range,
};
use crate::Name;
use crate::words::push_quoted;

/// Returns a target before its options, and whether it needs none.
pub(super) fn open(name: &str, family: Family) -> (Target, bool) {
    let needs_options = match name {
        "MARK" => Target::Mark(XMark { value: 0, mask: 0 }),
        "CONNMARK" => Target::Connmark(Connmark::Set(XMark { value: 0, mask: 0 })),
        "DNAT" => Target::Dnat(Box::default()),
        "SNAT" => Target::Snat(Box::default()),
        "NETMAP" => Target::Netmap(Box::default()),
        "TCPMSS" => Target::TcpMss(TcpMss::Clamp),
        "TPROXY" => Target::Tproxy(Box::new(Tproxy::new(family))),
        "SET" => Target::Set(Box::default()),
        "CHECKSUM" | "CLASSIFY" | "DSCP" | "TOS" | "AUDIT" => {
            Target::Harmless { name: Name::new(name), options: Name::new("") }
        }
        _ => return (complete(name, family), true),
    };
    (needs_options, false)
}

/// Returns a target that needs no options.
fn complete(name: &str, family: Family) -> Target {
    match name {
        "ACCEPT" => Target::Accept,
        "DROP" => Target::Drop,
        "RETURN" => Target::Return,
        "REJECT" => Target::Reject(RejectWith::default_of(family)),
        "MASQUERADE" => Target::Masquerade(Box::default()),
        "REDIRECT" => Target::Redirect(Box::default()),
        "LOG" => Target::Log(Name::new("")),
        "NFLOG" => Target::Nflog(Name::new("")),
        "NOTRACK" => Target::NoTrack { ct: false },
        "CT" => Target::Ct(Name::new("")),
        "TRACE" => Target::Trace,
        _ if OTHER_EXTENSIONS.contains(&name) => {
            Target::Unknown(Unknown { module: Name::new(name), options: Name::new(""), line: 0 })
        }
        _ => Target::Jump(Name::new(name)),
    }
}

/// Names of target extensions that the tree does not model. No chain can have such a name.
const OTHER_EXTENSIONS: [&str; 20] = [
    "CLUSTERIP",
    "CONNSECMARK",
    "DNPT",
    "ECN",
    "HL",
    "HMARK",
    "IDLETIMER",
    "LED",
    "NFQUEUE",
    "QUEUE",
    "RATEEST",
    "RAWDNAT",
    "RAWSNAT",
    "SECMARK",
    "SNPT",
    "SYNPROXY",
    "TCPOPTSTRIP",
    "TEE",
    "TTL",
    "ULOG",
];

/// Reads an option of a target.
pub(super) fn option(target: &mut Target, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match target {
        Target::Reject(with) => reject(with, option, args),
        Target::Mark(mark) => set_mark(mark, option, args),
        Target::Connmark(action) => connmark(action, option, args),
        Target::Dnat(nat) => translation(nat, option, args, "--to-destination"),
        Target::Snat(nat) => translation(nat, option, args, "--to-source"),
        Target::Masquerade(nat) | Target::Redirect(nat) => ports_only(nat, option, args),
        Target::Netmap(network) => netmap(network, option, args),
        Target::Log(text) if option.starts_with("--log-") => append(text, option, args),
        Target::Nflog(text) if option.starts_with("--nflog-") => append(text, option, args),
        Target::Ct(_) => ct(target, option, args),
        Target::TcpMss(action) => tcp_mss(action, option, args),
        Target::Tproxy(proxy) => tproxy(proxy, option, args),
        Target::Set(change) => set(change, option, args),
        _ => NOT_MINE,
    }
}

/// Returns the options of a target that are kept as text, after making it an unknown one if it looked
/// like a jump to a chain.
pub(super) fn as_raw(target: &mut Target, line: u32) -> Option<&mut Name> {
    if let Target::Jump(name) = *target {
        *target = Target::Unknown(Unknown { module: name, options: Name::new(""), line });
    }
    match target {
        Target::Unknown(Unknown { options, .. }) | Target::Harmless { options, .. } => {
            Some(options)
        }
        _ => None,
    }
}

fn reject(with: &mut RejectWith, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--reject-with" {
        return NOT_MINE;
    }
    *with = RejectWith::parse(&args.word()?, args.family).ok_or(Bad)?;
    DONE
}

fn set_mark(change: &mut XMark, option: &str, args: &mut Args<'_, '_>) -> Taken {
    *change = match option {
        "--set-xmark" => {
            let (value, mask) = masked(&args.word()?, u32::MAX)?;
            XMark { value, mask }
        }
        "--set-mark" => {
            let (value, mask) = masked(&args.word()?, u32::MAX)?;
            XMark::set(value, mask)
        }
        "--or-mark" => XMark::or(args.number()?),
        "--and-mark" => XMark::and(args.number()?),
        "--xor-mark" => XMark::xor(args.number()?),
        _ => return NOT_MINE,
    };
    DONE
}

fn connmark(action: &mut Connmark, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match (option, &mut *action) {
        ("--save-mark", _) => *action = Connmark::Save { packet_mask: u32::MAX, ct_mask: u32::MAX },
        ("--restore-mark", _) => {
            *action = Connmark::Restore { packet_mask: u32::MAX, ct_mask: u32::MAX };
        }
        (
            "--nfmask" | "--ctmask" | "--mask",
            Connmark::Save { packet_mask, ct_mask } | Connmark::Restore { packet_mask, ct_mask },
        ) => {
            let mask = args.number()?;
            *packet_mask = if option == "--ctmask" { *packet_mask } else { mask };
            *ct_mask = if option == "--nfmask" { *ct_mask } else { mask };
        }
        (_, Connmark::Set(mark)) => return set_mark(mark, option, args),
        _ => return NOT_MINE,
    }
    DONE
}

fn translation(nat: &mut Nat, option: &str, args: &mut Args<'_, '_>, to: &str) -> Taken {
    if option != to {
        return nat_flag(nat, option);
    }
    let word = args.word()?;
    let (addresses, ports) = split_ports(&word);
    nat.addresses = match addresses {
        "" => None,
        text => Some(address_range(text, args.family)?),
    };
    nat.ports = ports.map(nat_ports).transpose()?;
    DONE
}

/// Cuts `ADDRESSES:PORTS` or `[ADDRESSES]:PORTS`.
fn split_ports(word: &str) -> (&str, Option<&str>) {
    if let Some((addresses, rest)) = word.strip_prefix('[').and_then(|w| w.split_once(']')) {
        return (addresses, rest.strip_prefix(':'));
    }
    match word.split_once(':') {
        Some((addresses, ports)) if !ports.contains(':') => (addresses, Some(ports)),
        _ => (word, None),
    }
}

/// Reads `FIRST[-LAST[/BASE]]`.
fn nat_ports(word: &str) -> Read<NatPorts> {
    let (range, base) = match word.split_once('/') {
        Some((range, base)) => (range, Some(number(base)?)),
        None => (word, None),
    };
    Ok(NatPorts { range: port_range(range, '-')?, base })
}

fn ports_only(nat: &mut Nat, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--to-ports" {
        return nat_flag(nat, option);
    }
    nat.ports = Some(nat_ports(&args.word()?)?);
    DONE
}

fn nat_flag(nat: &mut Nat, option: &str) -> Taken {
    match option {
        "--random" => nat.random = true,
        "--random-fully" => nat.random_fully = true,
        "--persistent" => nat.persistent = true,
        _ => return NOT_MINE,
    }
    MORE
}

fn netmap(network: &mut IpNet, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if option != "--to" {
        return NOT_MINE;
    }
    let Network::Prefix(prefix) = args.network()? else { return Err(Bad) };
    *network = prefix;
    DONE
}

/// Keeps an option and its values as text.
fn append(text: &mut Name, option: &str, args: &mut Args<'_, '_>) -> Taken {
    let mut all = text.to_string();
    if !all.is_empty() {
        all.push(' ');
    }
    all.push_str(if args.negation() { "! " } else { "" });
    all.push_str(option);
    while let Some(value) = args.optional_word() {
        all.push(' ');
        push_quoted(&mut all, &value);
    }
    *text = Name::from(all);
    DONE
}

fn ct(target: &mut Target, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match (option, target) {
        ("--notrack", target) => *target = Target::NoTrack { ct: true },
        (_, Target::Ct(text)) => return append(text, option, args),
        _ => return NOT_MINE,
    }
    DONE
}

fn tcp_mss(action: &mut TcpMss, option: &str, args: &mut Args<'_, '_>) -> Taken {
    *action = match option {
        "--set-mss" => TcpMss::Set(args.number()?),
        "--clamp-mss-to-pmtu" => TcpMss::Clamp,
        _ => return NOT_MINE,
    };
    DONE
}

fn tproxy(proxy: &mut Tproxy, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--on-port" => {
            proxy.port = args.number()?;
            return DONE;
        }
        "--on-ip" => proxy.address = args.address()?,
        "--tproxy-mark" => {
            let (value, mask) = masked(&args.word()?, u32::MAX)?;
            proxy.mark = XMark { value, mask };
        }
        _ => return NOT_MINE,
    }
    MORE
}

fn set(target: &mut SetTarget, option: &str, args: &mut Args<'_, '_>) -> Taken {
    let change = match option {
        "--add-set" => SetChange::Add,
        "--del-set" => SetChange::Delete,
        "--map-set" => SetChange::Map,
        "--exist" | "--timeout" | "--map-mark" | "--map-prio" | "--map-queue" => {
            let mut text = target.options.unwrap_or_else(|| Name::new(""));
            append(&mut text, option, args)?;
            target.options = Some(text);
            return MORE;
        }
        _ => return NOT_MINE,
    };
    *target = SetTarget { change, set: args.name()?, sides: args.sides()?, options: None };
    DONE
}

impl Tproxy {
    fn new(family: Family) -> Tproxy {
        let address = match family {
            Family::Ipv4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Family::Ipv6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Tproxy { port: 0, address, mark: XMark { value: 0, mask: 0 } }
    }
}
