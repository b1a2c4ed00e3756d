//! The data types of nftables and the words that stand for their values.
//!
//! A constant in the tree is a number wherever nft itself stores one; which word it is printed as
//! follows from what it is compared with. This module holds both directions. The names are those of
//! nft's symbol tables (`nft describe`) and of `/etc/protocols`.

use super::ast::{
    AddressType, Ct, CtKey, DataType, Expr, FibResult, Meta, Payload, Set, TableFamily,
};
use crate::Name;

/// What a value means, as far as its spelling depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ipv4,
    Ipv6,
    Protocol,
    Service,
    Mark,
    Ifname,
    Ifindex,
    AddressType,
    CtState,
    CtStatus,
    CtDirection,
    TcpFlags,
    IcmpType,
    IcmpCode,
    Icmpv6Type,
    Icmpv6Code,
    NfProto,
    EtherType,
    PacketType,
    Boolean,
    Verdict,
    Integer,
    Other,
}

impl Kind {
    /// Whether a comparison without an operator asks for any of the bits.
    pub(super) fn is_bitmask(self) -> bool {
        matches!(self, Kind::CtState | Kind::CtStatus | Kind::TcpFlags)
    }

    /// Returns the words for values of this kind.
    pub(super) fn symbols(self) -> &'static [(&'static str, u64)] {
        match self {
            Kind::CtState => CT_STATE,
            Kind::CtStatus => CT_STATUS,
            Kind::CtDirection => CT_DIRECTION,
            Kind::TcpFlags => TCP_FLAGS,
            Kind::IcmpType => ICMP_TYPE,
            Kind::IcmpCode => ICMP_CODE,
            Kind::Icmpv6Type => ICMPV6_TYPE,
            Kind::Icmpv6Code => ICMPV6_CODE,
            Kind::NfProto => NF_PROTO,
            Kind::EtherType => ETHER_TYPE,
            Kind::PacketType => PACKET_TYPE,
            Kind::Boolean => BOOLEAN,
            Kind::Protocol => PROTOCOLS,
            _ => &[],
        }
    }

    /// Returns the word for a number.
    pub(super) fn word(self, number: u64) -> Option<&'static str> {
        self.symbols().iter().find(|(_, value)| *value == number).map(|(word, _)| *word)
    }

    /// Returns the number that a word stands for.
    pub(super) fn number(self, word: &str) -> Option<u64> {
        let also = match (self, word) {
            (Kind::Protocol, "icmpv6") => Some(58),
            (Kind::EtherType, "vlan") => Some(0x8100),
            (Kind::PacketType, "unicast") => Some(0),
            _ => None,
        };
        self.symbols().iter().find(|(name, _)| *name == word).map(|(_, n)| *n).or(also)
    }
}

/// Where the kinds of the parts of a key come from.
#[derive(Clone, Copy)]
pub(super) enum KeyKinds<'a> {
    /// The expression that is looked up.
    Expr(&'a Expr),
    /// The definition of a set.
    Types(&'a [DataType]),
}

impl KeyKinds<'_> {
    /// Returns the kind of one part.
    pub(super) fn at(self, part: usize) -> Kind {
        match self {
            KeyKinds::Expr(Expr::Concat(parts)) => parts.get(part).map_or(Kind::Other, kind_of),
            KeyKinds::Expr(expr) => kind_of(expr),
            KeyKinds::Types(types) => types.get(part).map_or(Kind::Other, |t| kind_of_type(*t)),
        }
    }
}

/// Returns the kind of what an expression yields.
pub(super) fn kind_of(expr: &Expr) -> Kind {
    match expr {
        Expr::Payload(payload) => kind_of_payload(*payload),
        Expr::Meta(meta) => kind_of_meta(*meta),
        Expr::Ct(ct) => kind_of_ct(*ct),
        Expr::Fib { result, .. } => match result {
            FibResult::Type => Kind::AddressType,
            FibResult::Oif => Kind::Ifindex,
            FibResult::Oifname => Kind::Ifname,
            FibResult::Present => Kind::Boolean,
        },
        Expr::Numgen { .. } => Kind::Integer,
        Expr::Binary(binary) => kind_of(&binary.left),
        _ => Kind::Other,
    }
}

fn kind_of_payload(payload: Payload) -> Kind {
    match payload {
        Payload::IpSaddr | Payload::IpDaddr => Kind::Ipv4,
        Payload::Ip6Saddr | Payload::Ip6Daddr => Kind::Ipv6,
        Payload::IpProtocol | Payload::Ip6Nexthdr => Kind::Protocol,
        Payload::ThSport
        | Payload::ThDport
        | Payload::TcpSport
        | Payload::TcpDport
        | Payload::UdpSport
        | Payload::UdpDport
        | Payload::SctpSport
        | Payload::SctpDport => Kind::Service,
        Payload::TcpFlags => Kind::TcpFlags,
        Payload::IcmpType => Kind::IcmpType,
        Payload::IcmpCode => Kind::IcmpCode,
        Payload::Icmpv6Type => Kind::Icmpv6Type,
        Payload::Icmpv6Code => Kind::Icmpv6Code,
        Payload::Other(name) => kind_of_other_field(name),
    }
}

fn kind_of_other_field(name: Name) -> Kind {
    match name.as_str() {
        "ether type" => Kind::EtherType,
        "dccp sport" | "dccp dport" | "udplite sport" | "udplite dport" => Kind::Service,
        _ => Kind::Other,
    }
}

fn kind_of_meta(meta: Meta) -> Kind {
    match meta {
        Meta::L4proto => Kind::Protocol,
        Meta::Nfproto => Kind::NfProto,
        Meta::Protocol => Kind::EtherType,
        Meta::Mark => Kind::Mark,
        Meta::Iifname | Meta::Oifname => Kind::Ifname,
        Meta::Iif | Meta::Oif => Kind::Ifindex,
        Meta::Pkttype => Kind::PacketType,
        Meta::Skuid | Meta::Skgid => Kind::Integer,
        Meta::Other(_) => Kind::Other,
    }
}

fn kind_of_ct(ct: Ct) -> Kind {
    match ct.key {
        CtKey::State => Kind::CtState,
        CtKey::Status => Kind::CtStatus,
        CtKey::Mark => Kind::Mark,
        CtKey::Direction => Kind::CtDirection,
        CtKey::Protocol => Kind::Protocol,
        CtKey::ProtoSrc | CtKey::ProtoDst => Kind::Service,
        CtKey::Other(name) if name == "l3proto" => Kind::NfProto,
        CtKey::Saddr | CtKey::Daddr | CtKey::Other(_) => Kind::Other,
    }
}

/// Returns the kind of a declared type.
pub(super) fn kind_of_type(data_type: DataType) -> Kind {
    match data_type {
        DataType::Ipv4Addr => Kind::Ipv4,
        DataType::Ipv6Addr => Kind::Ipv6,
        DataType::InetProto => Kind::Protocol,
        DataType::InetService => Kind::Service,
        DataType::Mark => Kind::Mark,
        DataType::Ifname => Kind::Ifname,
        DataType::Verdict => Kind::Verdict,
        DataType::Other(name) => kind_of_type_name(&name),
    }
}

fn kind_of_type_name(name: &str) -> Kind {
    match name {
        "ct_state" => Kind::CtState,
        "ct_status" => Kind::CtStatus,
        "ct_dir" => Kind::CtDirection,
        "tcp_flag" => Kind::TcpFlags,
        "icmp_type" => Kind::IcmpType,
        "icmp_code" => Kind::IcmpCode,
        "icmpv6_type" => Kind::Icmpv6Type,
        "icmpv6_code" => Kind::Icmpv6Code,
        "nf_proto" => Kind::NfProto,
        "ether_type" => Kind::EtherType,
        "pkt_type" => Kind::PacketType,
        "fib_addrtype" => Kind::AddressType,
        "iface_index" => Kind::Ifindex,
        "boolean" => Kind::Boolean,
        "integer" | "uid" | "gid" => Kind::Integer,
        _ => Kind::Other,
    }
}

/// Returns the declared type of what an expression yields (`typeof`).
pub(super) fn type_of(expr: &Expr) -> Option<DataType> {
    Some(match kind_of(expr) {
        Kind::Ipv4 => DataType::Ipv4Addr,
        Kind::Ipv6 => DataType::Ipv6Addr,
        Kind::Protocol => DataType::InetProto,
        Kind::Service => DataType::InetService,
        Kind::Mark => DataType::Mark,
        Kind::Ifname => DataType::Ifname,
        Kind::Ifindex => DataType::Other("iface_index".into()),
        Kind::CtState => DataType::Other("ct_state".into()),
        Kind::IcmpType => DataType::Other("icmp_type".into()),
        Kind::Icmpv6Type => DataType::Other("icmpv6_type".into()),
        Kind::EtherType => DataType::Other("ether_type".into()),
        Kind::PacketType => DataType::Other("pkt_type".into()),
        Kind::AddressType => DataType::Other("fib_addrtype".into()),
        _ => return None,
    })
}

impl DataType {
    /// Returns the type of a name such as `ipv4_addr`.
    #[must_use]
    pub fn named(name: &str) -> DataType {
        match name {
            "ipv4_addr" => DataType::Ipv4Addr,
            "ipv6_addr" => DataType::Ipv6Addr,
            "inet_proto" => DataType::InetProto,
            "inet_service" => DataType::InetService,
            "mark" => DataType::Mark,
            "ifname" => DataType::Ifname,
            "verdict" => DataType::Verdict,
            _ => DataType::Other(name.into()),
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            DataType::Ipv4Addr => "ipv4_addr",
            DataType::Ipv6Addr => "ipv6_addr",
            DataType::InetProto => "inet_proto",
            DataType::InetService => "inet_service",
            DataType::Mark => "mark",
            DataType::Ifname => "ifname",
            DataType::Verdict => "verdict",
            DataType::Other(name) => name.as_str(),
        }
    }
}

impl Set {
    /// Whether it is a map.
    #[must_use]
    pub fn is_map(&self) -> bool {
        self.data.is_some()
    }
}

impl TableFamily {
    /// Returns the keyword.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            TableFamily::Ip => "ip",
            TableFamily::Ip6 => "ip6",
            TableFamily::Inet => "inet",
            TableFamily::Arp => "arp",
            TableFamily::Bridge => "bridge",
            TableFamily::Netdev => "netdev",
        }
    }

    /// Returns the family of a keyword.
    #[must_use]
    pub fn named(word: &str) -> Option<TableFamily> {
        Some(match word {
            "ip" => TableFamily::Ip,
            "ip6" => TableFamily::Ip6,
            "inet" => TableFamily::Inet,
            "arp" => TableFamily::Arp,
            "bridge" => TableFamily::Bridge,
            "netdev" => TableFamily::Netdev,
            _ => return None,
        })
    }
}

impl AddressType {
    /// Returns the word that `fib … type` uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        ADDRESS_TYPES.iter().find(|(_, t)| *t == self).map_or("unspec", |(word, _)| *word)
    }

    /// Returns the type of a word.
    #[must_use]
    pub fn named(word: &str) -> Option<AddressType> {
        ADDRESS_TYPES.iter().find(|(name, _)| *name == word).map(|(_, t)| *t)
    }

    /// Returns the type of a number (`RTN_*`).
    #[must_use]
    pub fn numbered(number: u64) -> Option<AddressType> {
        usize::try_from(number).ok().and_then(|n| ADDRESS_TYPES.get(n)).map(|(_, t)| *t)
    }
}

/// Returns the name of an IP protocol, if it has one.
#[must_use]
pub fn protocol_name(number: u8) -> Option<&'static str> {
    Kind::Protocol.word(u64::from(number))
}

/// Returns the port of a service name.
pub(super) fn service_port(name: &str) -> Option<u16> {
    SERVICES.iter().find(|(service, _)| *service == name).map(|(_, port)| *port)
}

/// In the order of their numbers.
const ADDRESS_TYPES: &[(&str, AddressType)] = &[
    ("unspec", AddressType::Unspec),
    ("unicast", AddressType::Unicast),
    ("local", AddressType::Local),
    ("broadcast", AddressType::Broadcast),
    ("anycast", AddressType::Anycast),
    ("multicast", AddressType::Multicast),
    ("blackhole", AddressType::Blackhole),
    ("unreachable", AddressType::Unreachable),
    ("prohibit", AddressType::Prohibit),
];

const CT_STATE: &[(&str, u64)] =
    &[("invalid", 1), ("established", 2), ("related", 4), ("new", 8), ("untracked", 64)];

const CT_STATUS: &[(&str, u64)] = &[
    ("expected", 1),
    ("seen-reply", 2),
    ("assured", 4),
    ("confirmed", 8),
    ("snat", 16),
    ("dnat", 32),
    ("dying", 512),
];

const CT_DIRECTION: &[(&str, u64)] = &[("original", 0), ("reply", 1)];

const TCP_FLAGS: &[(&str, u64)] = &[
    ("fin", 1),
    ("syn", 2),
    ("rst", 4),
    ("psh", 8),
    ("ack", 16),
    ("urg", 32),
    ("ecn", 64),
    ("cwr", 128),
];

const ICMP_TYPE: &[(&str, u64)] = &[
    ("echo-reply", 0),
    ("destination-unreachable", 3),
    ("source-quench", 4),
    ("redirect", 5),
    ("echo-request", 8),
    ("router-advertisement", 9),
    ("router-solicitation", 10),
    ("time-exceeded", 11),
    ("parameter-problem", 12),
    ("timestamp-request", 13),
    ("timestamp-reply", 14),
    ("info-request", 15),
    ("info-reply", 16),
    ("address-mask-request", 17),
    ("address-mask-reply", 18),
];

const ICMP_CODE: &[(&str, u64)] = &[
    ("net-unreachable", 0),
    ("host-unreachable", 1),
    ("prot-unreachable", 2),
    ("port-unreachable", 3),
    ("net-prohibited", 9),
    ("host-prohibited", 10),
    ("admin-prohibited", 13),
    ("frag-needed", 4),
];

const ICMPV6_TYPE: &[(&str, u64)] = &[
    ("destination-unreachable", 1),
    ("packet-too-big", 2),
    ("time-exceeded", 3),
    ("parameter-problem", 4),
    ("echo-request", 128),
    ("echo-reply", 129),
    ("mld-listener-query", 130),
    ("mld-listener-report", 131),
    ("mld-listener-done", 132),
    ("mld-listener-reduction", 132),
    ("nd-router-solicit", 133),
    ("nd-router-advert", 134),
    ("nd-neighbor-solicit", 135),
    ("nd-neighbor-advert", 136),
    ("nd-redirect", 137),
    ("router-renumbering", 138),
    ("ind-neighbor-solicit", 141),
    ("ind-neighbor-advert", 142),
    ("mld2-listener-report", 143),
];

const ICMPV6_CODE: &[(&str, u64)] = &[
    ("no-route", 0),
    ("admin-prohibited", 1),
    ("addr-unreachable", 3),
    ("port-unreachable", 4),
    ("policy-fail", 5),
    ("reject-route", 6),
];

/// The codes of `reject with icmpx`, which are nft's own.
pub(super) const ICMPX_CODE: &[(&str, u64)] =
    &[("no-route", 0), ("port-unreachable", 1), ("host-unreachable", 2), ("admin-prohibited", 3)];

const NF_PROTO: &[(&str, u64)] = &[("ipv4", 2), ("ipv6", 10)];

const ETHER_TYPE: &[(&str, u64)] =
    &[("ip", 0x800), ("arp", 0x806), ("ip6", 0x86dd), ("8021q", 0x8100), ("8021ad", 0x88a8)];

const PACKET_TYPE: &[(&str, u64)] =
    &[("host", 0), ("broadcast", 1), ("multicast", 2), ("other", 3)];

const BOOLEAN: &[(&str, u64)] = &[("exists", 1), ("missing", 0)];

const PROTOCOLS: &[(&str, u64)] = &[
    ("tcp", 6),
    ("udp", 17),
    ("sctp", 132),
    ("icmp", 1),
    ("ipv6-icmp", 58),
    ("igmp", 2),
    ("ggp", 3),
    ("ipencap", 4),
    ("st", 5),
    ("egp", 8),
    ("igp", 9),
    ("pup", 12),
    ("hmp", 20),
    ("xns-idp", 22),
    ("rdp", 27),
    ("iso-tp4", 29),
    ("dccp", 33),
    ("xtp", 36),
    ("ddp", 37),
    ("idpr-cmtp", 38),
    ("ipv6", 41),
    ("ipv6-route", 43),
    ("ipv6-frag", 44),
    ("idrp", 45),
    ("rsvp", 46),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("skip", 57),
    ("ipv6-nonxt", 59),
    ("ipv6-opts", 60),
    ("rspf", 73),
    ("vmtp", 81),
    ("eigrp", 88),
    ("ospf", 89),
    ("ax.25", 93),
    ("ipip", 94),
    ("etherip", 97),
    ("encap", 98),
    ("pim", 103),
    ("ipcomp", 108),
    ("vrrp", 112),
    ("l2tp", 115),
    ("isis", 124),
    ("fc", 133),
    ("mobility-header", 135),
    ("udplite", 136),
    ("mpls-in-ip", 137),
    ("hip", 139),
    ("shim6", 140),
    ("wesp", 141),
    ("rohc", 142),
];

/// Services whose names appear in hand-written rules; nft prints names only with `-S`.
const SERVICES: &[(&str, u16)] = &[
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("bootps", 67),
    ("bootpc", 68),
    ("tftp", 69),
    ("http", 80),
    ("kerberos", 88),
    ("pop3", 110),
    ("sunrpc", 111),
    ("ntp", 123),
    ("netbios-ns", 137),
    ("netbios-dgm", 138),
    ("netbios-ssn", 139),
    ("imap2", 143),
    ("snmp", 161),
    ("snmp-trap", 162),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("microsoft-ds", 445),
    ("isakmp", 500),
    ("syslog", 514),
    ("submission", 587),
    ("ipp", 631),
    ("ldaps", 636),
    ("domain-s", 853),
    ("imaps", 993),
    ("pop3s", 995),
    ("openvpn", 1194),
    ("nfs", 2049),
    ("dhcpv6-client", 546),
    ("dhcpv6-server", 547),
    ("mysql", 3306),
    ("ms-wbt-server", 3389),
    ("ipsec-nat-t", 4500),
    ("sip", 5060),
    ("mdns", 5353),
    ("postgresql", 5432),
    ("redis", 6379),
    ("http-alt", 8080),
];
