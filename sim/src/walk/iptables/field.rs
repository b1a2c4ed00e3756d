//! What a packet's headers say to the tests of rules: yes, no, or that the model cannot tell.

use std::net::IpAddr;

use kps_flow::{Family, Protocol};
use kps_ruleset::Name;
use kps_ruleset::host::RouteKind;
use kps_ruleset::iptables::{
    self as ipt, AddrType, AddressTypes, Header, Icmp, InterfacePattern, IpRange, Match, Multiport,
    Negatable, Owner, PacketType, Physdev, PortRange, PortSide, PortTest, Rpfilter, SctpTest,
    TcpFlags, TcpTest,
};
use kps_ruleset::nftables::AddressType;

use crate::conntrack::CtState;
use crate::host::route::Query;
use crate::host::{LOOPBACK, Network};
use crate::mark::Mark;
use crate::packet::Packet;
use crate::walk::branch::Branch;
use crate::walk::nftables::address_type;

/// Tells whether a rule's header test holds (`ip_packet_match`). Packets are never fragments.
pub(super) fn header_holds(header: &Header, packet: &Packet) -> bool {
    let address = |test: &Option<Negatable<ipt::Network>>, address: IpAddr| {
        test.as_ref().is_none_or(|test| test.holds(|network| network.contains(address)))
    };
    let link = |test: Option<Negatable<InterfacePattern>>, link: Option<Name>| {
        let name = link.map_or("", |name| name.as_str());
        test.is_none_or(|test| test.holds(|pattern| pattern.matches(name)))
    };
    let number = packet.protocol.number();
    address(&header.destination, packet.destination)
        && address(&header.source, packet.source)
        && header.protocol.is_none_or(|test| test.holds(|wanted| wanted.0 == number))
        && link(header.input, packet.input)
        && link(header.output, packet.output)
        && header.fragment != Some(true)
}

/// Where fields are read: a packet on a host.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub branch: &'a Branch,
    pub network: &'a Network,
}

impl View<'_> {
    /// Tells whether a match on the packet's headers holds; `None` if the model cannot tell.
    pub(super) fn headers(&self, test: &Match) -> Option<bool> {
        match test {
            Match::AddrType(test) => Some(self.address_types(test)),
            Match::Multiport(test) => self.multiport(test),
            Match::Tcp(test) => self.tcp(test),
            Match::Udp(test) => self.ports(test),
            Match::Sctp(test) => self.sctp(test),
            Match::Icmp(test) => self.icmp(*test, Protocol::Icmp),
            Match::Icmp6(test) => self.icmp(*test, Protocol::Icmpv6),
            Match::IpRange(test) => Some(self.ranges(test)),
            Match::Mark(test) => {
                let plain = self.branch.packet.mark.matches(test.value.value, test.value.mask);
                plain.map(|holds| holds != test.negated)
            }
            Match::Owner(test) => self.owner(test),
            Match::Physdev(test) => Some(not_bridged(test)),
            Match::Rpfilter(test) => self.rpfilter(*test),
            Match::PacketType(test) => Some(test.holds(|kind| *kind == self.packet_type())),
            Match::Mac(_) => self.no_frame().then_some(false),
            _ => None,
        }
    }

    /// `net/netfilter/xt_addrtype.c`.
    fn address_types(&self, test: &AddrType) -> bool {
        let packet = &self.branch.packet;
        let link = match test {
            AddrType { limit_input: true, .. } => packet.input,
            AddrType { limit_output: true, .. } => packet.output,
            _ => None,
        };
        let is = |test: Option<Negatable<AddressTypes>>, address| {
            let kind = 1_u16 << address_type(self.network.address_type(address, link));
            test.is_none_or(|test| test.holds(|types| types.bits() & kind != 0))
        };
        is(test.source, packet.source) && is(test.destination, packet.destination)
    }

    /// `net/netfilter/xt_multiport.c`.
    fn multiport(&self, test: &Multiport) -> Option<bool> {
        let packet = &self.branch.packet;
        let is_in = |port: Option<u16>| any(test.ports.iter().map(|range| contains(*range, port)));
        let plain = match test.side {
            PortSide::Source => is_in(packet.source_port),
            PortSide::Destination => is_in(packet.destination_port),
            PortSide::Either => any([is_in(packet.source_port), is_in(packet.destination_port)]),
        };
        plain.map(|holds| holds != test.negated)
    }

    fn ports(&self, test: &PortTest) -> Option<bool> {
        let packet = &self.branch.packet;
        let one = |test: Option<Negatable<PortRange>>, port| match test {
            None => Some(true),
            Some(test) => contains(test.value, port).map(|holds| holds != test.negated),
        };
        all([one(test.source, packet.source_port), one(test.destination, packet.destination_port)])
    }

    /// `net/netfilter/xt_tcpudp.c`.
    fn tcp(&self, test: &TcpTest) -> Option<bool> {
        let flags = test.flags.map_or(Some(true), |test| {
            let plain = if test.value.mask.is_empty() {
                Some(test.value.set.is_empty())
            } else {
                self.tcp_flags().map(|flags| flags & test.value.mask == test.value.set)
            };
            plain.map(|holds| holds != test.negated)
        });
        all([self.ports(&test.ports), flags, test.option.map_or(Some(true), |_| None)])
    }

    /// A packet that opens a connection has SYN and nothing else.
    fn tcp_flags(&self) -> Option<TcpFlags> {
        match self.branch.state {
            None | Some(CtState::New | CtState::Untracked) => Some(TcpFlags::SYN),
            _ => None,
        }
    }

    fn sctp(&self, test: &SctpTest) -> Option<bool> {
        all([self.ports(&test.ports), test.chunks.map_or(Some(true), |_| None)])
    }

    /// Packets are echo requests and their replies; an error of which only that much is known can be
    /// of many types.
    fn icmp(&self, test: Icmp, protocol: Protocol) -> Option<bool> {
        if self.branch.packet.protocol != protocol {
            return Some(false);
        }
        let Some(kind) = test.kind else { return Some(!test.negated) };
        let (sent, code) = self.icmp_type()?;
        let plain = kind == sent && (test.first_code..=test.last_code).contains(&code);
        Some(plain != test.negated)
    }

    /// Returns type and code of an ICMP packet.
    pub(super) fn icmp_type(&self) -> Option<(u8, u8)> {
        let v4 = self.branch.packet.family() == Family::V4;
        match self.branch.state {
            Some(CtState::Related) => None,
            Some(CtState::Reply) => Some((if v4 { 0 } else { 129 }, 0)),
            _ => Some((if v4 { 8 } else { 128 }, 0)),
        }
    }

    fn ranges(&self, test: &IpRange) -> bool {
        let packet = &self.branch.packet;
        let one = |test: Option<Negatable<(IpAddr, IpAddr)>>, address: IpAddr| {
            test.is_none_or(|test| test.holds(|(first, last)| (*first..=*last).contains(&address)))
        };
        one(test.source, packet.source) && one(test.destination, packet.destination)
    }

    /// `net/netfilter/xt_owner.c`: only a packet that its process just sent has a socket; for any
    /// other, all that is asked must be asked with `!`.
    fn owner(&self, test: &Owner) -> Option<bool> {
        let negated = |test: Option<Negatable<(u32, u32)>>| test.is_none_or(|test| test.negated);
        if !self.branch.packet.owned {
            let rest = negated(test.uid) && negated(test.gid);
            return Some(rest && test.socket != Some(true));
        }
        match test {
            Owner { socket: Some(false), .. } => Some(false),
            Owner { uid: None, gid: None, .. } => Some(true),
            _ => None,
        }
    }

    /// `net/ipv4/netfilter/ipt_rpfilter.c`.
    fn rpfilter(&self, test: Rpfilter) -> Option<bool> {
        let packet = &self.branch.packet;
        if packet.input.is_some_and(|link| link.as_str() == LOOPBACK) {
            return Some(!test.invert);
        }
        let mark = if test.use_mark { packet.mark } else { Mark::ZERO };
        let source = Some(packet.destination);
        let query = Query { destination: packet.source, source, mark, input: None };
        let route = self.network.route(&query, |_| Err(())).ok()?;
        let passes = route.is_some_and(|route| {
            let fits = match route.kind {
                RouteKind::Unicast => true,
                RouteKind::Local => test.accept_local,
                _ => false,
            };
            fits && (test.loose || route.link == packet.input)
        });
        Some(passes != test.invert)
    }

    fn packet_type(&self) -> PacketType {
        match self.network.address_type(self.branch.packet.destination, None) {
            AddressType::Broadcast => PacketType::Broadcast,
            AddressType::Multicast => PacketType::Multicast,
            _ => PacketType::Unicast,
        }
    }

    /// Tells whether the packet has surely not come in an Ethernet frame.
    pub(super) fn no_frame(&self) -> bool {
        self.branch.packet.input.is_none_or(|link| link.as_str() == LOOPBACK)
    }
}

/// `net/netfilter/xt_physdev.c`: a packet that is not bridged passes what is asked with `!` only.
fn not_bridged(test: &Physdev) -> bool {
    let negated = |test: &Option<Negatable<_>>| test.as_ref().is_none_or(|test| test.negated);
    negated(&test.input)
        && negated(&test.output)
        && [test.is_in, test.is_out, test.is_bridged].iter().all(|is| *is != Some(true))
}

fn contains(range: PortRange, port: Option<u16>) -> Option<bool> {
    match port {
        Some(port) => Some(range.contains(port)),
        None => (range == PortRange { first: 0, last: u16::MAX }).then_some(true),
    }
}

/// Tells whether all of several tests hold: one that fails decides.
pub(super) fn all(tests: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut answer = Some(true);
    for test in tests {
        match test {
            Some(true) => {}
            Some(false) => return Some(false),
            None => answer = None,
        }
    }
    answer
}

fn any(tests: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    all(tests.into_iter().map(|test| test.map(|holds| !holds))).map(|none| !none)
}
