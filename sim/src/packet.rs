//! The packet that is walked: its headers, and what the kernel keeps beside it.

use std::fmt;
use std::net::IpAddr;

use kps_flow::{Family, Flow, Protocol};
use kps_ruleset::Name;
use kps_ruleset::nftables::Payload;

use crate::conntrack::{Endpoint, Side};
use crate::mark::Mark;
use crate::walk::datum::Datum;

/// A packet on its way through the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Source address.
    pub source: IpAddr,
    /// Source port; `None` if the kernel drew one at random. 0 for ICMP.
    pub source_port: Option<u16>,
    /// Destination address.
    pub destination: IpAddr,
    /// Destination port; `None` if the kernel drew one at random. 0 for ICMP.
    pub destination_port: Option<u16>,
    /// Protocol.
    pub protocol: Protocol,
    /// The mark (`skb->mark`).
    pub mark: Mark,
    /// The interface by which it came in.
    pub input: Option<Name>,
    /// The interface by which it leaves.
    pub output: Option<Name>,
    /// Whether a process of this node owns it: true until it leaves by an interface, lo included.
    pub owned: bool,
    /// Whether IPVS has handled it: its functions then leave it alone (`skb->ipvs_property`).
    pub served: bool,
}

impl Packet {
    /// Returns the packet that opens `flow`, sent from `source`.
    #[must_use]
    pub fn opening(flow: &Flow, source: IpAddr) -> Packet {
        let ports = flow.protocol.has_ports();
        Packet {
            source,
            source_port: Some(if ports { flow.source_port } else { 0 }),
            destination: flow.destination,
            destination_port: Some(if ports { flow.port } else { 0 }),
            protocol: flow.protocol,
            mark: Mark::ZERO,
            input: flow.interface.as_deref().map(Name::new),
            output: None,
            owned: flow.interface.is_none(),
            served: false,
        }
    }

    /// Returns the packet's family.
    #[must_use]
    pub fn family(&self) -> Family {
        Family::of(self.destination)
    }

    /// Returns the address and port of one side.
    #[must_use]
    pub fn endpoint(&self, side: Side) -> Endpoint {
        match side {
            Side::Source => Endpoint { address: self.source, port: self.source_port },
            Side::Destination => {
                Endpoint { address: self.destination, port: self.destination_port }
            }
        }
    }

    /// Replaces the address and port of one side.
    pub fn replace(&mut self, side: Side, by: Endpoint) {
        match side {
            Side::Source => (self.source, self.source_port) = (by.address, by.port),
            Side::Destination => (self.destination, self.destination_port) = (by.address, by.port),
        }
    }

    /// Writes a header field that the packet has; false if that field is not modelled.
    pub(crate) fn write(&mut self, field: Payload, value: Datum) -> bool {
        let (address, port) = (value.as_address(self.destination), value.as_port());
        match (field, address) {
            (Payload::IpSaddr | Payload::Ip6Saddr, Some(to)) => self.source = to,
            (Payload::IpDaddr | Payload::Ip6Daddr, Some(to)) => self.destination = to,
            (Payload::ThSport | Payload::TcpSport | Payload::UdpSport | Payload::SctpSport, _) => {
                self.source_port = port;
            }
            (Payload::ThDport | Payload::TcpDport | Payload::UdpDport | Payload::SctpDport, _) => {
                self.destination_port = port;
            }
            // Such as `ip dscp`: no rule that the model decides can see it.
            (Payload::Other(_), _) => {}
            _ => return false,
        }
        true
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.endpoint(Side::Source), self.endpoint(Side::Destination));
        if self.protocol.has_ports() {
            write!(f, "{} {from} > {to}", self.protocol)?;
        } else {
            write!(f, "{} {} > {}", self.protocol, from.address, to.address)?;
        }
        if let Some(link) = self.input {
            write!(f, ", in by {link}")?;
        }
        if let Some(link) = self.output {
            write!(f, ", out by {link}")?;
        }
        if self.mark != Mark::ZERO {
            write!(f, ", mark {}", self.mark)?;
        }
        Ok(())
    }
}
