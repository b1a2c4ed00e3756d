//! What iptables rules ask of addresses and ports, for a walk that stands for a class of packets.

use std::net::IpAddr;

use kps_ruleset::iptables::{
    AddrType, Conntrack, Header, IpRange, Match, Multiport, Negatable, Network, PortRange,
    PortSide, PortTest,
};

use super::Run;
use crate::classes::line::Span;
use crate::classes::region::number;
use crate::conntrack::Tuple;
use crate::host::places::span;
use crate::walk::branch::Branch;

impl Branch {
    /// A rule's header is tested.
    pub(super) fn asks_header(&self, header: &Header) {
        self.asks_network(header.destination.as_ref(), self.packet.destination);
        self.asks_network(header.source.as_ref(), self.packet.source);
        if let Some(test) = header.input {
            self.asks_input_whether(|link| test.value.matches(link.as_str()));
        }
    }

    fn asks_network(&self, test: Option<&Negatable<Network>>, address: IpAddr) {
        match test.map(|test| &test.value) {
            Some(Network::Prefix(network)) => self.asks_address(address, span(*network)),
            Some(Network::Masked(_)) => {
                self.loses_address(address, || "a mask that is no prefix".to_owned());
            }
            None => {}
        }
    }

    fn asks_range(&self, test: Option<Negatable<PortRange>>, port: Option<u16>) {
        if let Some(test) = test {
            self.asks_port(port, ports(test.value));
        }
    }

    fn asks_ports(&self, test: &PortTest) {
        self.asks_range(test.source, self.packet.source_port);
        self.asks_range(test.destination, self.packet.destination_port);
    }

    fn asks_multiport(&self, test: &Multiport) {
        let (source, destination) = (self.packet.source_port, self.packet.destination_port);
        for range in &test.ports {
            if test.side != PortSide::Destination {
                self.asks_port(source, ports(*range));
            }
            if test.side != PortSide::Source {
                self.asks_port(destination, ports(*range));
            }
        }
    }

    fn asks_address_range(&self, test: &IpRange) {
        let of = |range: Negatable<(IpAddr, IpAddr)>| {
            let (first, last) = range.value;
            (number(first), number(last))
        };
        if let Some(range) = test.source {
            self.asks_address(self.packet.source, of(range));
        }
        if let Some(range) = test.destination {
            self.asks_address(self.packet.destination, of(range));
        }
    }

    fn asks_connection(&self, test: &Conntrack) {
        let Some(connection) = &self.connection else { return };
        let (original, reply) = (connection.original, connection.reply());
        self.asks_network(test.original_source.as_ref(), original.source);
        self.asks_network(test.original_destination.as_ref(), original.destination);
        self.asks_network(test.reply_source.as_ref(), reply.source);
        self.asks_network(test.reply_destination.as_ref(), reply.destination);
        let ports = |tuple: &Tuple| (tuple.source_port, tuple.destination_port);
        let ((from, to), (reply_from, reply_to)) = (ports(&original), ports(&reply));
        self.asks_range(test.original_source_port, from);
        self.asks_range(test.original_destination_port, to);
        self.asks_range(test.reply_source_port, reply_from);
        self.asks_range(test.reply_destination_port, reply_to);
    }
}

impl Run<'_> {
    /// A match is about to be tested.
    pub(super) fn asks_match(&self, test: &Match, branch: &Branch) {
        if branch.watch().is_none() {
            return;
        }
        match test {
            Match::Tcp(test) => branch.asks_ports(&test.ports),
            Match::Udp(test) => branch.asks_ports(test),
            Match::Sctp(test) => branch.asks_ports(&test.ports),
            Match::Multiport(test) => branch.asks_multiport(test),
            Match::IpRange(test) => branch.asks_address_range(test),
            Match::Conntrack(test) => branch.asks_connection(test),
            Match::AddrType(test) => self.asks_types(test, branch),
            Match::PacketType(_) => branch.asks_place(self.network, branch.packet.destination),
            Match::Rpfilter(_) => {
                branch.asks_place(self.network, branch.packet.source);
                branch.asks_origin(self.network, branch.packet.destination);
            }
            Match::Ipvs(test) => {
                if let (Some(test), Some(known)) = (&test.address, &branch.scheduled) {
                    branch.asks_network(Some(test), known.address.address);
                }
                if let (Some(test), Some(known)) = (test.port, &branch.scheduled) {
                    branch.asks_port(known.address.port, (test.value.into(), test.value.into()));
                }
            }
            _ => {}
        }
    }

    /// Without a limit to an interface the type of an address is that of its origin.
    fn asks_types(&self, test: &AddrType, branch: &Branch) {
        let (source, destination) = (branch.packet.source, branch.packet.destination);
        for (asked, address) in [(test.source, source), (test.destination, destination)] {
            match asked {
                Some(_) if test.limit_input || test.limit_output => {
                    branch.asks_place(self.network, address);
                    branch.asks_input();
                }
                Some(_) => branch.asks_origin(self.network, address),
                None => {}
            }
        }
    }
}

/// Returns a range of ports as a span.
pub(super) fn ports(range: PortRange) -> Span {
    (range.first.into(), range.last.into())
}
