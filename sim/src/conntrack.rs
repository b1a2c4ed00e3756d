//! Connection tracking: the state of a packet and the translations that its connection carries.
//!
//! Translation is decided by the first packet of a connection and remembered
//! (`net/netfilter/nf_nat_core.c`). Each of the two manipulations, source and destination, is decided
//! once: by a rule, or as "none" (a null binding) when the rules have been asked and said nothing.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use kps_flow::Protocol;

use crate::mark::Mark;
use crate::packet::Packet;

/// What conntrack says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CtState {
    /// It opens a connection.
    #[default]
    New,
    /// It belongs to a connection that has seen packets both ways, and goes the first one's way.
    Established,
    /// It answers.
    Reply,
    /// It opens a connection that another one announced, or is an ICMP error about one.
    Related,
    /// It fits nothing.
    Invalid,
    /// A rule told conntrack to leave it alone.
    Untracked,
}

impl CtState {
    /// Returns the bit that `ct state` shows (`NF_CT_STATE_BIT`).
    #[must_use]
    pub fn bit(self) -> u32 {
        match self {
            CtState::Invalid => 1,
            CtState::Established | CtState::Reply => 2,
            CtState::Related => 4,
            CtState::New => 8,
            CtState::Untracked => 64,
        }
    }

    /// Tells whether the packet belongs to a connection at all.
    #[must_use]
    pub fn is_tracked(self) -> bool {
        !matches!(self, CtState::Invalid | CtState::Untracked)
    }
}

/// Addresses and ports of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// Source address.
    pub source: IpAddr,
    /// Source port, if known.
    pub source_port: Option<u16>,
    /// Destination address.
    pub destination: IpAddr,
    /// Destination port, if known.
    pub destination_port: Option<u16>,
    /// Protocol.
    pub protocol: Protocol,
}

/// Which side of a packet a translation changes (`enum nf_nat_manip_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The source, in postrouting and input.
    Source,
    /// The destination, in prerouting and output.
    Destination,
}

/// What was decided for one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Nothing yet.
    Open,
    /// To leave it as it is.
    Kept,
    /// To put this in its place.
    To(Endpoint),
}

/// An address with a port that may be unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// The port; `None` if drawn at random.
    pub port: Option<u16>,
}

impl fmt::Display for Endpoint {
    /// Writes address and port as a socket address is written; a random port is `*`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port, self.address) {
            (Some(port), address) => SocketAddr::new(address, port).fmt(f),
            (None, IpAddr::V4(address)) => write!(f, "{address}:*"),
            (None, IpAddr::V6(address)) => write!(f, "[{address}]:*"),
        }
    }
}

/// A tracked connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The first packet as it came.
    pub original: Tuple,
    /// The decision on the source.
    pub source: Binding,
    /// The decision on the destination.
    pub destination: Binding,
    /// The real server that IPVS sends it to: answers come from there, though no translation of the
    /// destination is noted (`ip_vs_update_conntrack`).
    pub server: Option<Endpoint>,
    /// The connection's mark.
    pub mark: Mark,
    /// Whether its first packet has left the node or reached a process.
    pub confirmed: bool,
}

impl Tuple {
    /// Returns the tuple of a packet.
    #[must_use]
    pub fn of(packet: &Packet) -> Tuple {
        Tuple {
            source: packet.source,
            source_port: packet.source_port,
            destination: packet.destination,
            destination_port: packet.destination_port,
            protocol: packet.protocol,
        }
    }
}

impl Connection {
    /// Returns the connection that `packet` opens.
    #[must_use]
    pub fn opened_by(packet: &Packet) -> Connection {
        Connection {
            original: Tuple::of(packet),
            source: Binding::Open,
            destination: Binding::Open,
            server: None,
            mark: Mark::ZERO,
            confirmed: false,
        }
    }

    /// Returns the decision on one side.
    #[must_use]
    pub fn binding(&self, side: Side) -> Binding {
        match side {
            Side::Source => self.source,
            Side::Destination => self.destination,
        }
    }

    /// Decides one side. A translation to what is there already is none
    /// (`nf_nat_setup_info` compares the tuples).
    pub fn bind(&mut self, side: Side, to: Endpoint) {
        let binding = if to == self.untranslated(side) { Binding::Kept } else { Binding::To(to) };
        match side {
            Side::Source => self.source = binding,
            Side::Destination => self.destination = binding,
        }
    }

    /// Decides to leave one side as it is, unless it is decided already.
    pub fn settle(&mut self, side: Side) {
        if self.binding(side) == Binding::Open {
            self.bind(side, self.untranslated(side));
        }
    }

    /// Returns one side of the first packet as it came.
    #[must_use]
    pub fn untranslated(&self, side: Side) -> Endpoint {
        let tuple = &self.original;
        match side {
            Side::Source => Endpoint { address: tuple.source, port: tuple.source_port },
            Side::Destination => {
                Endpoint { address: tuple.destination, port: tuple.destination_port }
            }
        }
    }

    /// Returns one side of the first packet as it leaves.
    #[must_use]
    pub fn translated(&self, side: Side) -> Endpoint {
        match self.binding(side) {
            Binding::To(to) => to,
            Binding::Open | Binding::Kept => self.untranslated(side),
        }
    }

    /// Returns what the kernel expects of an answer: the translated packet turned round.
    #[must_use]
    pub fn reply(&self) -> Tuple {
        let from = self.server.unwrap_or_else(|| self.translated(Side::Destination));
        let to = self.translated(Side::Source);
        Tuple {
            source: from.address,
            source_port: from.port,
            destination: to.address,
            destination_port: to.port,
            protocol: self.original.protocol,
        }
    }

    /// Returns the bits that `ct status` shows (`enum ip_conntrack_status`).
    #[must_use]
    pub fn status(&self, state: CtState) -> u32 {
        let seen_reply = matches!(state, CtState::Established | CtState::Reply);
        let mut bits = 0;
        for (set, bit) in [
            (state == CtState::Related, 1 << 0),
            (seen_reply, 1 << 1),
            (self.confirmed, 1 << 3),
            (matches!(self.source, Binding::To(_)), 1 << 4),
            (matches!(self.destination, Binding::To(_)), 1 << 5),
            (self.source != Binding::Open, 1 << 7),
            (self.destination != Binding::Open, 1 << 8),
        ] {
            bits |= if set { bit } else { 0 };
        }
        bits
    }

    /// Rewrites one side of a packet of this connection, as its translations say
    /// (`nf_nat_packet`): an answer gets the other side's inverse.
    pub fn rewrite(&self, packet: &mut Packet, side: Side, state: CtState) {
        let decided = if state == CtState::Reply { side.other() } else { side };
        if !matches!(self.binding(decided), Binding::To(_)) {
            return;
        }
        let to = match state {
            CtState::Reply => self.untranslated(decided),
            _ => self.translated(decided),
        };
        packet.replace(side, to);
    }
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Source => Side::Destination,
            Side::Destination => Side::Source,
        }
    }
}
