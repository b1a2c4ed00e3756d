//! Words for numbers: rejections, ICMP types, rates.

use std::net::IpAddr;

use super::ast::{
    Family, Icmp, Limit, Match, Multiport, Negatable, PortSide, Recent, RecentAction, RejectWith,
    SetChange, SetMatch, SetTarget, Side, Target, TcpFlags, TcpFlagsTest,
};
use crate::Name;

impl Match {
    /// Returns the name of its module, as after `-m`.
    #[must_use]
    pub fn module(&self) -> &'static str {
        match self {
            Match::Comment(_) => "comment",
            Match::Conntrack(_) => "conntrack",
            Match::State(_) => "state",
            Match::AddrType(_) => "addrtype",
            Match::Mark(_) => "mark",
            Match::Connmark(_) => "connmark",
            Match::Statistic(_) => "statistic",
            Match::Recent(_) => "recent",
            Match::Multiport(_) => "multiport",
            Match::Set(_) => "set",
            Match::Physdev(_) => "physdev",
            Match::Limit(_) => "limit",
            Match::Hashlimit(_) => "hashlimit",
            Match::Icmp(_) => "icmp",
            Match::Icmp6(_) => "icmp6",
            Match::Tcp(_) => "tcp",
            Match::Udp(_) => "udp",
            Match::Sctp(_) => "sctp",
            Match::Owner(_) => "owner",
            Match::IpRange(_) => "iprange",
            Match::Length(_) => "length",
            Match::Nfacct(_) => "nfacct",
            Match::Ipvs(_) => "ipvs",
            Match::Rpfilter(_) => "rpfilter",
            Match::Mac(_) => "mac",
            Match::PacketType(_) => "pkttype",
            Match::Tos(_) => "tos",
            Match::Dscp(_) => "dscp",
            Match::Unknown(unknown) => unknown.module.as_str(),
        }
    }
}

impl Target {
    /// Returns its name, as after `-j` or `-g`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Target::Accept => "ACCEPT",
            Target::Drop => "DROP",
            Target::Return => "RETURN",
            Target::Jump(chain) | Target::Goto(chain) => chain.as_str(),
            Target::Reject(_) => "REJECT",
            Target::Mark(_) => "MARK",
            Target::Connmark(_) => "CONNMARK",
            Target::Dnat(_) => "DNAT",
            Target::Snat(_) => "SNAT",
            Target::Masquerade(_) => "MASQUERADE",
            Target::Redirect(_) => "REDIRECT",
            Target::Netmap(_) => "NETMAP",
            Target::Log(_) => "LOG",
            Target::Nflog(_) => "NFLOG",
            Target::NoTrack { ct: false } => "NOTRACK",
            Target::NoTrack { ct: true } | Target::Ct(_) => "CT",
            Target::TcpMss(_) => "TCPMSS",
            Target::Tproxy(_) => "TPROXY",
            Target::Set(_) => "SET",
            Target::Trace => "TRACE",
            Target::Harmless { name, .. } => name.as_str(),
            Target::Unknown(unknown) => unknown.module.as_str(),
        }
    }

    /// Returns the chain that it calls or goes to.
    #[must_use]
    pub fn chain(&self) -> Option<Name> {
        match self {
            Target::Jump(chain) | Target::Goto(chain) => Some(*chain),
            _ => None,
        }
    }
}

impl RejectWith {
    /// Returns what `REJECT` answers if nothing is said.
    #[must_use]
    pub fn default_of(family: Family) -> RejectWith {
        match family {
            Family::Ipv4 => RejectWith::Icmp(3),
            Family::Ipv6 => RejectWith::Icmpv6(4),
        }
    }

    /// Returns whether it is what `REJECT` answers if nothing is said.
    pub(super) fn is_default(self) -> bool {
        matches!(self, RejectWith::Icmp(3) | RejectWith::Icmpv6(4))
    }

    /// Reads the word after `--reject-with`, in its long form or a short one.
    pub(super) fn parse(word: &str, family: Family) -> Option<RejectWith> {
        let names = match family {
            _ if matches!(word, "tcp-reset" | "tcp-rst") => return Some(RejectWith::TcpReset),
            Family::Ipv4 => ICMP_REJECTIONS.iter().zip(ICMP_SHORT),
            Family::Ipv6 => ICMPV6_REJECTIONS.iter().zip(ICMPV6_SHORT),
        };
        let mut names = names;
        let ((code, _), _) = names.find(|((_, name), short)| *name == word || *short == word)?;
        Some(match family {
            Family::Ipv4 => RejectWith::Icmp(*code),
            Family::Ipv6 => RejectWith::Icmpv6(*code),
        })
    }

    /// Returns the word after `--reject-with`; empty for a code that has none.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let (names, code) = match self {
            RejectWith::Icmp(code) => (&ICMP_REJECTIONS, code),
            RejectWith::Icmpv6(code) => (&ICMPV6_REJECTIONS, code),
            RejectWith::TcpReset => return "tcp-reset",
        };
        names.iter().find(|(known, _)| *known == code).map_or("", |(_, name)| name)
    }
}

const ICMP_REJECTIONS: [(u8, &str); 7] = [
    (0, "icmp-net-unreachable"),
    (1, "icmp-host-unreachable"),
    (2, "icmp-proto-unreachable"),
    (3, "icmp-port-unreachable"),
    (9, "icmp-net-prohibited"),
    (10, "icmp-host-prohibited"),
    (13, "icmp-admin-prohibited"),
];
const ICMP_SHORT: [&str; 7] = [
    "net-unreach",
    "host-unreach",
    "proto-unreach",
    "port-unreach",
    "net-prohib",
    "host-prohib",
    "admin-prohib",
];
const ICMPV6_REJECTIONS: [(u8, &str); 7] = [
    (0, "icmp6-no-route"),
    (1, "icmp6-adm-prohibited"),
    (3, "icmp6-addr-unreachable"),
    (4, "icmp6-port-unreachable"),
    (5, "icmp6-policy-fail"),
    (6, "icmp6-reject-route"),
    (u8::MAX, ""),
];
const ICMPV6_SHORT: [&str; 7] = [
    "no-route",
    "adm-prohibited",
    "addr-unreach",
    "port-unreach",
    "policy-fail",
    "reject-route",
    "",
];

impl Icmp {
    /// Any type.
    pub const ANY: Icmp = Icmp { negated: false, kind: None, first_code: 0, last_code: u8::MAX };

    /// Reads `TYPE[/CODE]` or the name of a type.
    pub(super) fn parse(word: &str, v6: bool) -> Option<Icmp> {
        let named = if v6 { ICMPV6_TYPES } else { ICMP_TYPES };
        if word.eq_ignore_ascii_case("any") {
            return Some(Icmp::ANY);
        }
        if let Some((_, kind, code)) = named.iter().find(|(name, ..)| *name == word) {
            return Some(Icmp::new(*kind, *code));
        }
        match word.split_once('/') {
            Some((kind, code)) => Some(Icmp::new(kind.parse().ok()?, Some(code.parse().ok()?))),
            None => Some(Icmp::new(word.parse().ok()?, None)),
        }
    }

    fn new(kind: u8, code: Option<u8>) -> Icmp {
        let (first_code, last_code) = code.map_or((0, u8::MAX), |code| (code, code));
        let kind = (kind != u8::MAX).then_some(kind);
        Icmp { negated: false, kind, first_code, last_code }
    }
}

/// Names of ICMP types, with a code for those that name one.
const ICMP_TYPES: &[(&str, u8, Option<u8>)] = &[
    ("echo-reply", 0, None),
    ("pong", 0, None),
    ("destination-unreachable", 3, None),
    ("network-unreachable", 3, Some(0)),
    ("host-unreachable", 3, Some(1)),
    ("protocol-unreachable", 3, Some(2)),
    ("port-unreachable", 3, Some(3)),
    ("fragmentation-needed", 3, Some(4)),
    ("source-route-failed", 3, Some(5)),
    ("network-unknown", 3, Some(6)),
    ("host-unknown", 3, Some(7)),
    ("network-prohibited", 3, Some(9)),
    ("host-prohibited", 3, Some(10)),
    ("TOS-network-unreachable", 3, Some(11)),
    ("TOS-host-unreachable", 3, Some(12)),
    ("communication-prohibited", 3, Some(13)),
    ("source-quench", 4, None),
    ("redirect", 5, None),
    ("echo-request", 8, None),
    ("ping", 8, None),
    ("router-advertisement", 9, None),
    ("router-solicitation", 10, None),
    ("time-exceeded", 11, None),
    ("ttl-exceeded", 11, None),
    ("ttl-zero-during-transit", 11, Some(0)),
    ("ttl-zero-during-reassembly", 11, Some(1)),
    ("parameter-problem", 12, None),
    ("timestamp-request", 13, None),
    ("timestamp-reply", 14, None),
    ("address-mask-request", 17, None),
    ("address-mask-reply", 18, None),
];

/// Names of `ICMPv6` types, with a code for those that name one.
const ICMPV6_TYPES: &[(&str, u8, Option<u8>)] = &[
    ("destination-unreachable", 1, None),
    ("no-route", 1, Some(0)),
    ("communication-prohibited", 1, Some(1)),
    ("beyond-scope", 1, Some(2)),
    ("address-unreachable", 1, Some(3)),
    ("port-unreachable", 1, Some(4)),
    ("failed-policy", 1, Some(5)),
    ("reject-route", 1, Some(6)),
    ("packet-too-big", 2, None),
    ("time-exceeded", 3, None),
    ("ttl-exceeded", 3, None),
    ("ttl-zero-during-transit", 3, Some(0)),
    ("ttl-zero-during-reassembly", 3, Some(1)),
    ("parameter-problem", 4, None),
    ("bad-header", 4, Some(0)),
    ("unknown-header-type", 4, Some(1)),
    ("unknown-option", 4, Some(2)),
    ("echo-request", 128, None),
    ("ping", 128, None),
    ("echo-reply", 129, None),
    ("pong", 129, None),
    ("mld-listener-query", 130, None),
    ("mld-listener-report", 131, None),
    ("mld-listener-done", 132, None),
    ("mld-listener-reduction", 132, None),
    ("router-solicitation", 133, None),
    ("router-advertisement", 134, None),
    ("neighbour-solicitation", 135, None),
    ("neighbor-solicitation", 135, None),
    ("neighbour-advertisement", 136, None),
    ("neighbor-advertisement", 136, None),
    ("redirect", 137, None),
];

/// The units of a rate: name and length of the unit in 0.1 ms, the longest first.
const RATE_UNITS: [(&str, u32); 4] =
    [("day", 864_000_000), ("hour", 36_000_000), ("min", 600_000), ("sec", 10_000)];

impl Limit {
    /// Reads `COUNT/UNIT`, where a unit is a start of `second`, `minute`, `hour` or `day`.
    pub(super) fn parse_interval(word: &str) -> Option<u32> {
        let (count, unit) = word.split_once('/').unwrap_or((word, "second"));
        let names = ["day", "hour", "minute", "second"];
        let unit = unit.to_ascii_lowercase();
        let at = names.iter().position(|name| !unit.is_empty() && name.starts_with(&unit))?;
        let interval = RATE_UNITS[at].1.checked_div(count.parse().ok()?)?;
        (interval > 0).then_some(interval)
    }

    /// Returns the rate as `(count, unit)`, in the longest unit that loses nothing worth telling
    /// (`print_rate` of `libxt_limit`).
    pub(super) fn rate(self) -> (u32, &'static str) {
        let interval = self.interval.max(1);
        let loses = |unit: u32| interval > unit || unit / interval < unit % interval;
        let shorter = RATE_UNITS.iter().skip(1).take_while(|(_, unit)| !loses(*unit)).count();
        let (name, unit) = RATE_UNITS[shorter];
        (unit / interval, name)
    }
}

impl TcpFlagsTest {
    /// `--syn`: the first packet of a connection.
    pub const SYN: TcpFlagsTest = TcpFlagsTest {
        mask: TcpFlags::FIN.union(TcpFlags::SYN).union(TcpFlags::RST).union(TcpFlags::ACK),
        set: TcpFlags::SYN,
    };
}

impl Family {
    /// Returns whether a mask keeps every bit of an address.
    pub(super) fn is_full_mask(self, mask: IpAddr) -> bool {
        match mask {
            IpAddr::V4(mask) => self == Family::Ipv4 && mask.is_broadcast(),
            IpAddr::V6(mask) => self == Family::Ipv6 && u128::from(mask) == u128::MAX,
        }
    }

    /// Returns the mask that keeps every bit, as the tools print it.
    pub(super) fn full_mask(self) -> &'static str {
        match self {
            Family::Ipv4 => "255.255.255.255",
            Family::Ipv6 => "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        }
    }
}

impl Default for Recent {
    fn default() -> Self {
        Recent {
            action: Negatable::is(RecentAction::Check),
            seconds: None,
            reap: false,
            hit_count: None,
            ttl: false,
            name: Name::new("DEFAULT"),
            mask: None,
            side: Side::Source,
        }
    }
}

impl Default for Multiport {
    fn default() -> Self {
        Multiport { negated: false, side: PortSide::Either, ports: Box::default() }
    }
}

impl Default for SetMatch {
    fn default() -> Self {
        SetMatch {
            negated: false,
            set: Name::new(""),
            sides: Box::default(),
            return_nomatch: false,
            counters: None,
        }
    }
}

impl Default for SetTarget {
    fn default() -> Self {
        SetTarget {
            change: SetChange::Add,
            set: Name::new(""),
            sides: Box::default(),
            options: None,
        }
    }
}

impl Default for Limit {
    fn default() -> Self {
        Limit { interval: RATE_UNITS[1].1 / 3, burst: 5 }
    }
}
