//! A flow: the first packet of a connection, as a question to a dataplane.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{ClientClass, Family, Protocol};

/// The first packet of a connection into fresh state: nothing remembered about the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// Who sends it.
    pub client: ClientClass,
    /// The interface by which it enters the node; `None` for a node process.
    pub interface: Option<String>,
    /// Its source address; `None` for a node process that lets the kernel choose.
    pub source: Option<IpAddr>,
    /// Its source port. Any free port does; it matters only to rules that look at it.
    pub source_port: u16,
    /// Its protocol.
    pub protocol: Protocol,
    /// The address that the client dials.
    pub destination: IpAddr,
    /// The port that the client dials; 0 for ICMP.
    pub port: u16,
}

impl Flow {
    /// A source port in the ephemeral range, used where a question names none.
    pub const DEFAULT_SOURCE_PORT: u16 = 40_000;

    /// Returns the family of the flow, which is that of its destination.
    #[must_use]
    pub fn family(&self) -> Family {
        Family::of(self.destination)
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.client)?;
        if let Some(source) = self.source {
            write!(f, " {source}")?;
        }
        if let Some(interface) = &self.interface {
            write!(f, " by {interface}")?;
        }
        if self.protocol.has_ports() {
            let to = std::net::SocketAddr::new(self.destination, self.port);
            write!(f, " to {to}/{}", self.protocol)
        } else {
            write!(f, " to {}/{}", self.destination, self.protocol)
        }
    }
}
