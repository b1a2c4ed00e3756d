//! The matches of a rule (`-m`), as the kernel stores them.
//!
//! Each type names the manual page's options (iptables-extensions(8)) and the kernel's structure.

use std::net::IpAddr;

use bitflags::bitflags;

use super::parts::{InterfacePattern, MaskedMark, Negatable, Network, PortRange, Unknown};
use super::probability::Probability;
use crate::Name;
use crate::protocol::Protocol;

/// A match.
#[derive(Debug, Clone, PartialEq)]
pub enum Match {
    /// `comment`: always holds.
    Comment(Name),
    /// `conntrack`.
    Conntrack(Box<Conntrack>),
    /// `state`, the older form of `conntrack --ctstate`.
    State(Negatable<CtStates>),
    /// `addrtype`.
    AddrType(AddrType),
    /// `mark`.
    Mark(Negatable<MaskedMark>),
    /// `connmark`: the connection's mark.
    Connmark(Negatable<MaskedMark>),
    /// `statistic`.
    Statistic(Statistic),
    /// `recent`.
    Recent(Box<Recent>),
    /// `multiport`.
    Multiport(Multiport),
    /// `set`.
    Set(Box<SetMatch>),
    /// `physdev`.
    Physdev(Box<Physdev>),
    /// `limit`: whether it holds depends on time.
    Limit(Limit),
    /// `hashlimit`: whether it holds depends on time and on other packets.
    Hashlimit(Hashlimit),
    /// `icmp`.
    Icmp(Icmp),
    /// `icmp6`.
    Icmp6(Icmp),
    /// `tcp`.
    Tcp(TcpTest),
    /// `udp`.
    Udp(PortTest),
    /// `sctp`.
    Sctp(SctpTest),
    /// `owner`: the process that sent the packet; holds for no packet from elsewhere.
    Owner(Box<Owner>),
    /// `iprange`.
    IpRange(Box<IpRange>),
    /// `length` of the packet in bytes, from first to last.
    Length(Negatable<(u16, u16)>),
    /// `nfacct`: counts in a named object and always holds.
    Nfacct(Name),
    /// `ipvs`.
    Ipvs(Box<Ipvs>),
    /// `rpfilter`.
    Rpfilter(Rpfilter),
    /// `mac`: the source address of the Ethernet frame.
    Mac(Negatable<[u8; 6]>),
    /// `pkttype`.
    PacketType(Negatable<PacketType>),
    /// `tos`: value and mask.
    Tos(Negatable<(u8, u8)>),
    /// `dscp`.
    Dscp(Dscp),
    /// Another extension.
    Unknown(Unknown),
}

/// `-m conntrack` (`struct xt_conntrack_mtinfo3`): all that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conntrack {
    /// `--ctstate`.
    pub states: Option<Negatable<CtStates>>,
    /// `--ctproto`.
    pub protocol: Option<Negatable<Protocol>>,
    /// `--ctorigsrc`.
    pub original_source: Option<Negatable<Network>>,
    /// `--ctorigdst`.
    pub original_destination: Option<Negatable<Network>>,
    /// `--ctreplsrc`.
    pub reply_source: Option<Negatable<Network>>,
    /// `--ctrepldst`.
    pub reply_destination: Option<Negatable<Network>>,
    /// `--ctorigsrcport`.
    pub original_source_port: Option<Negatable<PortRange>>,
    /// `--ctorigdstport`.
    pub original_destination_port: Option<Negatable<PortRange>>,
    /// `--ctreplsrcport`.
    pub reply_source_port: Option<Negatable<PortRange>>,
    /// `--ctrepldstport`.
    pub reply_destination_port: Option<Negatable<PortRange>>,
    /// `--ctstatus`.
    pub statuses: Option<Negatable<CtStatuses>>,
    /// `--ctexpire`: the time left in seconds, from first to last.
    pub expire: Option<Negatable<(u32, u32)>>,
    /// `--ctdir`.
    pub direction: Option<CtDirection>,
}

bitflags! {
    /// States of a connection, of which the packet's must be one.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct CtStates: u8 {
        /// `INVALID`.
        const INVALID = 1;
        /// `NEW`.
        const NEW = 2;
        /// `RELATED`.
        const RELATED = 4;
        /// `ESTABLISHED`: also the reply to the first packet.
        const ESTABLISHED = 8;
        /// `UNTRACKED`.
        const UNTRACKED = 16;
        /// `SNAT`: the connection's source was translated.
        const SNAT = 32;
        /// `DNAT`: the connection's destination was translated.
        const DNAT = 64;
    }

    /// Statuses of a connection, of which it must have one; none at all is `NONE`.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct CtStatuses: u8 {
        /// `EXPECTED`.
        const EXPECTED = 1;
        /// `SEEN_REPLY`.
        const SEEN_REPLY = 2;
        /// `ASSURED`.
        const ASSURED = 4;
        /// `CONFIRMED`.
        const CONFIRMED = 8;
    }

    /// Types of an address (`RTN_*`), of which it must be one.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct AddressTypes: u16 {
        /// `UNSPEC`.
        const UNSPEC = 1;
        /// `UNICAST`.
        const UNICAST = 1 << 1;
        /// `LOCAL`.
        const LOCAL = 1 << 2;
        /// `BROADCAST`.
        const BROADCAST = 1 << 3;
        /// `ANYCAST`.
        const ANYCAST = 1 << 4;
        /// `MULTICAST`.
        const MULTICAST = 1 << 5;
        /// `BLACKHOLE`.
        const BLACKHOLE = 1 << 6;
        /// `UNREACHABLE`.
        const UNREACHABLE = 1 << 7;
        /// `PROHIBIT`.
        const PROHIBIT = 1 << 8;
        /// `THROW`.
        const THROW = 1 << 9;
        /// `NAT`.
        const NAT = 1 << 10;
        /// `XRESOLVE`.
        const XRESOLVE = 1 << 11;
    }

    /// TCP flags, as in byte 13 of the header.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct TcpFlags: u8 {
        /// `FIN`.
        const FIN = 1;
        /// `SYN`.
        const SYN = 2;
        /// `RST`.
        const RST = 4;
        /// `PSH`.
        const PSH = 8;
        /// `ACK`.
        const ACK = 16;
        /// `URG`.
        const URG = 32;
    }
}

/// A direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CtDirection {
    /// As the first packet.
    Original,
    /// The other way.
    Reply,
}

/// `-m addrtype` (`struct xt_addrtype_info_v1`): the types that routing gives to the addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddrType {
    /// `--src-type`.
    pub source: Option<Negatable<AddressTypes>>,
    /// `--dst-type`.
    pub destination: Option<Negatable<AddressTypes>>,
    /// `--limit-iface-in`: only addresses of the interface that the packet came in by.
    pub limit_input: bool,
    /// `--limit-iface-out`: only addresses of the interface that the packet leaves by.
    pub limit_output: bool,
}

/// `-m statistic` (`struct xt_statistic_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// `--mode random`: a fresh draw each time the rule is evaluated.
    Random {
        /// Whether there is a `!`.
        negated: bool,
        /// The probability that the plain test holds.
        probability: Probability,
    },
    /// `--mode nth`: one packet of so many.
    Nth {
        /// Whether there is a `!`.
        negated: bool,
        /// One of how many.
        every: u32,
        /// Where the counter starts.
        packet: u32,
    },
}

/// `-m recent` (`struct xt_recent_mtinfo_v1`): a list of addresses with the times of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// What is done with the address.
    pub action: Negatable<RecentAction>,
    /// `--seconds`: only if it was seen so many seconds ago or less.
    pub seconds: Option<u32>,
    /// `--reap`: forget an address that is older than that.
    pub reap: bool,
    /// `--hitcount`: only if it was seen so many times.
    pub hit_count: Option<u32>,
    /// `--rttl`: only if the time to live is that of the packet that made the entry.
    pub ttl: bool,
    /// `--name`: the list. All rules that name it share it.
    pub name: Name,
    /// `--mask`, if it is not a full one.
    pub mask: Option<IpAddr>,
    /// `--rsource` or `--rdest`: which address.
    pub side: Side,
}

/// What `-m recent` does with the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecentAction {
    /// `--set`: put it on the list, or refresh it; always holds.
    Set,
    /// `--rcheck`: is it on the list?
    Check,
    /// `--update`: is it on the list? If so, refresh it.
    Update,
    /// `--remove`: is it on the list? If so, remove it.
    Remove,
}

/// One end of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The source.
    Source,
    /// The destination.
    Destination,
}

/// `-m multiport` (`struct xt_multiport_v1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multiport {
    /// Whether there is a `!`.
    pub negated: bool,
    /// Which port must be one of them.
    pub side: PortSide,
    /// The ports, at most fifteen (a range counts twice).
    pub ports: Box<[PortRange]>,
}

/// Which port `-m multiport` looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortSide {
    /// `--sports`.
    Source,
    /// `--dports`.
    Destination,
    /// `--ports`: either of them.
    Either,
}

/// `-m set` (`struct xt_set_info_match_v4`): a look-up in an ipset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetMatch {
    /// Whether there is a `!`.
    pub negated: bool,
    /// The set.
    pub set: Name,
    /// From which end of the packet each part of the element is taken, at most six.
    pub sides: Box<[Side]>,
    /// `--return-nomatch`: an element flagged `nomatch` is found, and only such.
    pub return_nomatch: bool,
    /// The options on the element's counters, as the tool prints them.
    pub counters: Option<Name>,
}

/// `-m physdev` (`struct xt_physdev_info`): the bridge ports of a bridged packet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Physdev {
    /// `--physdev-in`.
    pub input: Option<Negatable<InterfacePattern>>,
    /// `--physdev-is-in`; `Some(false)` with `!`.
    pub is_in: Option<bool>,
    /// `--physdev-out`.
    pub output: Option<Negatable<InterfacePattern>>,
    /// `--physdev-is-out`; `Some(false)` with `!`.
    pub is_out: Option<bool>,
    /// `--physdev-is-bridged`; `Some(false)` with `!`.
    pub is_bridged: Option<bool>,
}

/// `-m limit` (`struct xt_rateinfo`): a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The time that one token takes, in units of 0.1 ms, as the kernel stores it.
    pub interval: u32,
    /// `--limit-burst`: the size of the bucket, 5 if nothing is said.
    pub burst: u32,
}

/// `-m hashlimit`: a token bucket for each group of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashlimit {
    /// Its options, as the tool prints them.
    pub options: Name,
}

/// `-m icmp`, `-m icmp6` (`struct ipt_icmp`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icmp {
    /// Whether there is a `!`.
    pub negated: bool,
    /// The type; `None` is any.
    pub kind: Option<u8>,
    /// The lowest code.
    pub first_code: u8,
    /// The highest code.
    pub last_code: u8,
}

/// `-m tcp` (`struct xt_tcp`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpTest {
    /// `--sport` and `--dport`.
    pub ports: PortTest,
    /// `--tcp-option`: the packet has an option of this number.
    pub option: Option<Negatable<u8>>,
    /// `--tcp-flags`, `--syn`.
    pub flags: Option<Negatable<TcpFlagsTest>>,
}

/// `--tcp-flags MASK SET`: of the flags in the mask, exactly these are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpFlagsTest {
    /// The flags that are looked at.
    pub mask: TcpFlags,
    /// Those that must be set.
    pub set: TcpFlags,
}

/// `--sport` and `--dport` (`struct xt_udp`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortTest {
    /// `--sport`.
    pub source: Option<Negatable<PortRange>>,
    /// `--dport`.
    pub destination: Option<Negatable<PortRange>>,
}

/// `-m sctp` (`struct xt_sctp_info`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SctpTest {
    /// `--sport` and `--dport`.
    pub ports: PortTest,
    /// `--chunk-types`, as the tool prints it, with its `!`. Not modelled.
    pub chunks: Option<Name>,
}

/// `-m owner` (`struct xt_owner_match_info`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// `--uid-owner`, from first to last.
    pub uid: Option<Negatable<(u32, u32)>>,
    /// `--gid-owner`, from first to last.
    pub gid: Option<Negatable<(u32, u32)>>,
    /// `--socket-exists`; `Some(false)` with `!`.
    pub socket: Option<bool>,
    /// `--suppl-groups`: supplementary groups count for `gid`, too.
    pub supplementary: bool,
}

/// `-m iprange` (`struct xt_iprange_mtinfo`), from first to last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IpRange {
    /// `--src-range`.
    pub source: Option<Negatable<(IpAddr, IpAddr)>>,
    /// `--dst-range`.
    pub destination: Option<Negatable<(IpAddr, IpAddr)>>,
}

/// `-m ipvs` (`struct xt_ipvs_mtinfo`): the virtual server of the packet's connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ipvs {
    /// `--ipvs`: it belongs to IPVS at all; `Some(false)` with `!`.
    pub is_ipvs: Option<bool>,
    /// `--vproto`.
    pub protocol: Option<Negatable<Protocol>>,
    /// `--vaddr`.
    pub address: Option<Negatable<Network>>,
    /// `--vport`.
    pub port: Option<Negatable<u16>>,
    /// `--vdir`.
    pub direction: Option<CtDirection>,
    /// `--vmethod`.
    pub method: Option<Negatable<IpvsMethod>>,
    /// `--vportctl`: the port of the controlling connection.
    pub control_port: Option<Negatable<u16>>,
}

/// The forwarding method that `-m ipvs` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IpvsMethod {
    /// `GATE`: routed directly.
    Gate,
    /// `IPIP`: tunnelled.
    Ipip,
    /// `MASQ`: masqueraded.
    Masq,
}

/// `-m rpfilter`: the route back to the source is by the interface that the packet came in by.
#[expect(clippy::struct_excessive_bools, reason = "four independent switches of the extension")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rpfilter {
    /// `--loose`: any interface will do.
    pub loose: bool,
    /// `--validmark`: the look-up uses the packet's mark.
    pub use_mark: bool,
    /// `--accept-local`: a source address of this host is fine.
    pub accept_local: bool,
    /// `--invert`: holds for packets that fail.
    pub invert: bool,
}

/// The type of a frame (`-m pkttype`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PacketType {
    /// `unicast`: to this host.
    Unicast,
    /// `broadcast`.
    Broadcast,
    /// `multicast`.
    Multicast,
}

/// `-m dscp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dscp {
    /// Whether there is a `!`.
    pub negated: bool,
    /// The value, 0 to 63.
    pub value: u8,
}
