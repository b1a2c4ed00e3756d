//! Transport protocols: the three that a Service port may have, and ICMP for the packets that no
//! Service owns.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A transport protocol. Its IP protocol number is [`Protocol::number`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// Transmission Control Protocol.
    #[serde(rename = "TCP")]
    Tcp,
    /// User Datagram Protocol.
    #[serde(rename = "UDP")]
    Udp,
    /// Stream Control Transmission Protocol.
    #[serde(rename = "SCTP")]
    Sctp,
    /// ICMP for IPv4; an echo request unless something else is said.
    #[serde(rename = "ICMP")]
    Icmp,
    /// `ICMPv6`; an echo request unless something else is said.
    #[serde(rename = "ICMPv6")]
    Icmpv6,
}

impl Protocol {
    /// The protocols that a Service port may have, in the order in which kube-proxy lists them.
    pub const OF_SERVICES: [Protocol; 3] = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];

    /// Returns the IP protocol number (IANA "Assigned Internet Protocol Numbers").
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Protocol::Icmp => 1,
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
            Protocol::Icmpv6 => 58,
            Protocol::Sctp => 132,
        }
    }

    /// Returns the protocol with this IP protocol number, if it is one of those modelled.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Protocol> {
        [Protocol::Tcp, Protocol::Udp, Protocol::Sctp, Protocol::Icmp, Protocol::Icmpv6]
            .into_iter()
            .find(|protocol| protocol.number() == number)
    }

    /// Returns the lower-case name, as rules and chain names spell it.
    #[must_use]
    pub fn lower(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Sctp => "sctp",
            Protocol::Icmp => "icmp",
            Protocol::Icmpv6 => "icmpv6",
        }
    }

    /// Tells whether packets of this protocol carry a destination port.
    #[must_use]
    pub fn has_ports(self) -> bool {
        !matches!(self, Protocol::Icmp | Protocol::Icmpv6)
    }
}

/// A word that names no protocol.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no protocol; expected TCP, UDP, SCTP, ICMP or ICMPv6")]
pub struct ParseProtocolError(pub String);

impl FromStr for Protocol {
    type Err = ParseProtocolError;

    /// Reads a protocol name in any letter case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "tcp" => Ok(Protocol::Tcp),
            "udp" => Ok(Protocol::Udp),
            "sctp" => Ok(Protocol::Sctp),
            "icmp" => Ok(Protocol::Icmp),
            "icmpv6" | "ipv6-icmp" => Ok(Protocol::Icmpv6),
            _ => Err(ParseProtocolError(text.to_owned())),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Tcp => "TCP",
            Protocol::Udp => "UDP",
            Protocol::Sctp => "SCTP",
            Protocol::Icmp => "ICMP",
            Protocol::Icmpv6 => "ICMPv6",
        })
    }
}
