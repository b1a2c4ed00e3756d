//! What the fields of a packet hold, as nftables sees them. A field that the packet does not have
//! is `None`: the kernel then breaks off the rule, whatever the comparison (`NFT_BREAK`).

use kps_flow::{Family, Protocol};
use kps_ruleset::Name;
use kps_ruleset::host::RouteKind;
use kps_ruleset::nftables::{
    AddressType, CtDirection, CtKey, FibFlags, FibResult, Hook, Meta, Payload,
};

use crate::conntrack::{CtState, Tuple};
use crate::host::Network;
use crate::host::route::Query;
use crate::mark::Mark;
use crate::walk::branch::Branch;
use crate::walk::datum::Datum;

/// Where fields are read: a packet at a hook of a host.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub branch: &'a Branch,
    pub network: &'a Network,
    pub hook: Hook,
}

impl View<'_> {
    /// Reads a header field.
    pub(crate) fn payload(&self, field: Payload) -> Option<Datum> {
        let packet = &self.branch.packet;
        let family = |wanted| (packet.family() == wanted).then_some(());
        let protocol = |wanted| (packet.protocol == wanted).then_some(());
        Some(match field {
            Payload::IpSaddr => family(Family::V4).map(|()| packet.source.into())?,
            Payload::IpDaddr => family(Family::V4).map(|()| packet.destination.into())?,
            Payload::Ip6Saddr => family(Family::V6).map(|()| packet.source.into())?,
            Payload::Ip6Daddr => family(Family::V6).map(|()| packet.destination.into())?,
            Payload::IpProtocol => family(Family::V4).map(|()| self.protocol())?,
            Payload::Ip6Nexthdr => family(Family::V6).map(|()| self.protocol())?,
            Payload::ThSport => self.source_port(),
            Payload::ThDport => self.destination_port(),
            Payload::TcpSport => protocol(Protocol::Tcp).map(|()| self.source_port())?,
            Payload::TcpDport => protocol(Protocol::Tcp).map(|()| self.destination_port())?,
            Payload::UdpSport => protocol(Protocol::Udp).map(|()| self.source_port())?,
            Payload::UdpDport => protocol(Protocol::Udp).map(|()| self.destination_port())?,
            Payload::SctpSport => protocol(Protocol::Sctp).map(|()| self.source_port())?,
            Payload::SctpDport => protocol(Protocol::Sctp).map(|()| self.destination_port())?,
            Payload::TcpFlags => protocol(Protocol::Tcp).map(|()| self.tcp_flags())?,
            Payload::IcmpType => protocol(Protocol::Icmp).map(|()| self.echo(8, 0))?,
            Payload::Icmpv6Type => protocol(Protocol::Icmpv6).map(|()| self.echo(128, 129))?,
            Payload::IcmpCode => protocol(Protocol::Icmp).map(|()| Datum::Number(0))?,
            Payload::Icmpv6Code => protocol(Protocol::Icmpv6).map(|()| Datum::Number(0))?,
            Payload::Other(name) => self.other_payload(name)?,
        })
    }

    /// Reads a property of the packet.
    pub(crate) fn meta(&self, meta: Meta) -> Option<Datum> {
        let packet = &self.branch.packet;
        let v4 = packet.family() == Family::V4;
        Some(match meta {
            Meta::L4proto => self.protocol(),
            Meta::Nfproto => Datum::Number(if v4 { 2 } else { 10 }),
            Meta::Protocol => Datum::Number(if v4 { 0x0800 } else { 0x86dd }),
            Meta::Mark => packet.mark.into(),
            Meta::Iifname | Meta::Iif => Datum::link(packet.input),
            Meta::Oifname | Meta::Oif => Datum::link(packet.output),
            Meta::Skuid => self.of_socket("meta skuid")?,
            Meta::Skgid => self.of_socket("meta skgid")?,
            Meta::Pkttype => Datum::Number(self.packet_type()),
            Meta::Other(key) => Datum::Unknown(Name::from(format!("meta {key}"))),
        })
    }

    /// Reads a property of the connection. All but the state need one.
    pub(crate) fn ct(&self, key: CtKey, direction: Option<CtDirection>) -> Option<Datum> {
        // net/netfilter/nft_ct.c: a packet that conntrack has not seen counts as invalid.
        let state = self.branch.state.unwrap_or(CtState::Invalid);
        if key == CtKey::State {
            return Some(Datum::Number(state.bit().into()));
        }
        let connection = self.branch.connection.as_ref().filter(|_| state.is_tracked())?;
        let reply = direction == Some(CtDirection::Reply);
        let tuple: Tuple = if reply { connection.reply() } else { connection.original };
        Some(match key {
            CtKey::State => Datum::Number(state.bit().into()),
            CtKey::Status => Datum::Number(connection.status(state).into()),
            CtKey::Mark => connection.mark.into(),
            CtKey::Direction => Datum::Number(u128::from(state == CtState::Reply)),
            CtKey::Saddr => tuple.source.into(),
            CtKey::Daddr => tuple.destination.into(),
            CtKey::ProtoSrc => Datum::port(tuple.source_port),
            CtKey::ProtoDst => Datum::port(tuple.destination_port),
            CtKey::Protocol => Datum::Number(tuple.protocol.number().into()),
            CtKey::Other(key) => Datum::Unknown(Name::from(format!("ct {key}"))),
        })
    }

    /// Asks the routing tables.
    pub(crate) fn fib(&self, result: FibResult, flags: FibFlags) -> Datum {
        let packet = &self.branch.packet;
        let limit = match (flags.iif, flags.oif) {
            (true, _) => packet.input,
            (_, true) => packet.output,
            _ => None,
        };
        let (asked, other) = if flags.saddr {
            (packet.source, packet.destination)
        } else {
            (packet.destination, packet.source)
        };
        if result == FibResult::Type {
            let kind = self.network.address_type(asked, limit);
            return Datum::Number(address_type(kind).into());
        }
        let looped = self.hook == Hook::Prerouting
            && packet.input.is_some_and(|link| link.as_str() == crate::host::LOOPBACK);
        if looped {
            return interface(result, packet.input);
        }
        let mark = if flags.mark { packet.mark } else { Mark::ZERO };
        self.fib_interface(
            result,
            &Query { destination: asked, source: Some(other), mark, input: None },
            limit,
        )
    }

    /// `net/ipv4/netfilter/nft_fib_ipv4.c`: an address of this host gives no interface.
    fn fib_interface(&self, result: FibResult, query: &Query, limit: Option<Name>) -> Datum {
        let Ok(route) = self.network.route(query, |rule| Err(rule.priority)) else {
            return Datum::Unknown(Name::new("fib, by a policy rule that is not modelled"));
        };
        let link = route.filter(|route| route.kind == RouteKind::Unicast).and_then(|r| r.link);
        interface(result, link.filter(|_| limit.is_none() || link == limit))
    }

    fn protocol(&self) -> Datum {
        Datum::Number(self.branch.packet.protocol.number().into())
    }

    /// The first two bytes behind the IP header: for ICMP, type and code.
    fn source_port(&self) -> Datum {
        match self.branch.packet.protocol {
            Protocol::Icmp => self.echo(8 << 8, 0),
            Protocol::Icmpv6 => self.echo(128 << 8, 129 << 8),
            _ => Datum::port(self.branch.packet.source_port),
        }
    }

    /// The next two bytes: for ICMP, the checksum. The kernel reads them all the same.
    fn destination_port(&self) -> Datum {
        match self.branch.packet.protocol {
            Protocol::Icmp | Protocol::Icmpv6 => Datum::Unknown(Name::new("the ICMP checksum")),
            _ => Datum::port(self.branch.packet.destination_port),
        }
    }

    fn echo(&self, request: u16, reply: u16) -> Datum {
        match self.branch.state {
            Some(CtState::Reply) => Datum::Number(reply.into()),
            Some(CtState::Related) => Datum::Unknown(Name::new("the ICMP type")),
            _ => Datum::Number(request.into()),
        }
    }

    /// A packet that opens a connection has SYN and nothing else.
    fn tcp_flags(&self) -> Datum {
        match self.branch.state {
            None | Some(CtState::New | CtState::Untracked) => Datum::Number(2),
            _ => Datum::Unknown(Name::new("tcp flags")),
        }
    }

    /// Only a packet that its process just sent has a socket.
    fn of_socket(&self, what: &str) -> Option<Datum> {
        self.branch.packet.owned.then(|| Datum::Unknown(Name::new(what)))
    }

    fn packet_type(&self) -> u128 {
        match self.network.address_type(self.branch.packet.destination, None) {
            AddressType::Broadcast => 1,
            AddressType::Multicast => 2,
            _ => 0,
        }
    }

    /// A field of a protocol that the packet is not of is absent; any other is unknown.
    fn other_payload(&self, name: Name) -> Option<Datum> {
        let packet = &self.branch.packet;
        let header = name.as_str().split_whitespace().next().unwrap_or_default();
        let absent = match header {
            "ip" => packet.family() != Family::V4,
            "ip6" => packet.family() != Family::V6,
            "tcp" | "udp" | "sctp" | "icmp" | "icmpv6" => packet.protocol.lower() != header,
            "dccp" | "udplite" | "ah" | "esp" | "comp" | "gre" | "igmp" | "arp" => true,
            _ => false,
        };
        (!absent).then_some(Datum::Unknown(name))
    }
}

fn interface(result: FibResult, link: Option<Name>) -> Datum {
    match result {
        FibResult::Present => Datum::Number(link.is_some().into()),
        _ => Datum::link(link),
    }
}

/// Returns the number of an address type (`RTN_*`, include/uapi/linux/rtnetlink.h).
pub(crate) fn address_type(kind: AddressType) -> u8 {
    match kind {
        AddressType::Unspec => 0,
        AddressType::Unicast => 1,
        AddressType::Local => 2,
        AddressType::Broadcast => 3,
        AddressType::Anycast => 4,
        AddressType::Multicast => 5,
        AddressType::Blackhole => 6,
        AddressType::Unreachable => 7,
        AddressType::Prohibit => 8,
    }
}
