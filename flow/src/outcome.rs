//! What can happen to a packet.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// What happens to one packet. A walker gives a distribution of these.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// Sent on to another destination than the client dialled.
    Deliver(Delivery),
    /// Answered with an error.
    Reject(RejectKind),
    /// Thrown away without an answer.
    Drop,
    /// Given to the node itself, destination unchanged; whether a socket listens is not said.
    Local,
    /// Forwarded or sent with its destination unchanged.
    Pass(SourceNat),
    /// The model cannot tell; the text says why.
    Unknown(String),
}

/// A packet that got a new destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Delivery {
    /// The endpoint that gets it.
    pub endpoint: SocketAddr,
    /// What happened to its source.
    pub source: SourceNat,
}

/// What happens to the source of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SourceNat {
    /// Address and port stay as sent.
    Kept,
    /// Rewritten, which may change the port alone. The address is `None` where the model is not
    /// sure of it.
    Rewritten(Option<IpAddr>),
}

impl Outcome {
    /// Tells whether what was seen is this outcome: a source address that the model is not sure of
    /// may be any.
    #[must_use]
    pub fn covers(&self, seen: &Outcome) -> bool {
        match (self, seen) {
            (Outcome::Deliver(a), Outcome::Deliver(b)) => {
                a.endpoint == b.endpoint && a.source.covers(b.source)
            }
            (Outcome::Pass(a), Outcome::Pass(b)) => a.covers(*b),
            _ => self == seen,
        }
    }
}

impl SourceNat {
    fn covers(self, seen: SourceNat) -> bool {
        self == seen || (self == SourceNat::Rewritten(None) && seen.is_rewritten())
    }

    /// Tells whether the source (address or port) was rewritten.
    #[must_use]
    pub fn is_rewritten(self) -> bool {
        matches!(self, SourceNat::Rewritten(_))
    }
}

/// How a packet is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RejectKind {
    /// ICMP destination unreachable with this code (RFC 792); 3 is port unreachable.
    Icmp(u8),
    /// `ICMPv6` destination unreachable with this code (RFC 4443); 4 is port unreachable.
    Icmpv6(u8),
    /// A TCP segment with the RST flag.
    TcpReset,
}

impl RejectKind {
    /// The default of `reject` and `-j REJECT` in the IPv4 family.
    pub const PORT_UNREACHABLE_V4: RejectKind = RejectKind::Icmp(3);
    /// The default of `reject` and `-j REJECT` in the IPv6 family.
    pub const PORT_UNREACHABLE_V6: RejectKind = RejectKind::Icmpv6(4);
}

impl fmt::Display for RejectKind {
    /// Writes `icmp TYPE/CODE`, `icmpv6 TYPE/CODE` or `tcp reset`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RejectKind::Icmp(code) => write!(f, "icmp 3/{code}"),
            RejectKind::Icmpv6(code) => write!(f, "icmpv6 1/{code}"),
            RejectKind::TcpReset => f.write_str("tcp reset"),
        }
    }
}

impl fmt::Display for SourceNat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceNat::Kept => f.write_str("source kept"),
            SourceNat::Rewritten(Some(address)) => write!(f, "masqueraded as {address}"),
            SourceNat::Rewritten(None) => f.write_str("masqueraded"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Deliver(Delivery { endpoint, source }) => {
                write!(f, "delivered to {endpoint}, {source}")
            }
            Outcome::Reject(kind) => write!(f, "rejected ({kind})"),
            Outcome::Drop => f.write_str("dropped"),
            Outcome::Local => f.write_str("given to the node itself"),
            Outcome::Pass(SourceNat::Kept) => f.write_str("passed on unchanged"),
            Outcome::Pass(source) => write!(f, "passed on, {source}"),
            Outcome::Unknown(why) => write!(f, "unknown: {why}"),
        }
    }
}
