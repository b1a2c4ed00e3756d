//! The data types of nftables and the words that stand for their values.
//!
//! A constant in the tree is a number wherever nft itself stores one; which word it is printed as
//! follows from what it is compared with. This module finds the type, and the word or number for it
//! in the tables of [`symbols`].

mod symbols;

use super::ast::{
    AddressType, Ct, CtKey, DataType, Expr, FibResult, Meta, Payload, Set, TableFamily,
};
use crate::Name;

pub(super) use symbols::ICMPX_CODE;
use symbols::{
    ADDRESS_TYPES, BOOLEAN, CT_DIRECTION, CT_STATE, CT_STATUS, ETHER_TYPE, ICMP_CODE, ICMP_TYPE,
    ICMPV6_CODE, ICMPV6_TYPE, NF_PROTO, PACKET_TYPE, PROTOCOLS, SERVICES, TCP_FLAGS,
};

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
