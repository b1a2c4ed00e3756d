//! The tree of a node's IPVS table.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use indexmap::IndexMap;

use crate::Name;
use crate::protocol::Protocol;

/// All virtual servers of a node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The virtual servers by what they answer to, in the order in which they were read.
    pub services: IndexMap<ServiceId, VirtualServer>,
    /// The timeouts of connections, if they were read.
    pub timeouts: Option<Timeouts>,
}

/// What a virtual server answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceId {
    /// An address and a port of a protocol.
    Address {
        /// TCP, UDP or SCTP.
        protocol: Protocol,
        /// The address.
        address: IpAddr,
        /// The port; 0 is any port, for persistent services.
        port: u16,
    },
    /// Packets with a mark.
    Mark {
        /// The mark, not 0.
        mark: u32,
        /// Whether it is for IPv6.
        ipv6: bool,
    },
}

/// A virtual server: `struct ip_vs_service`.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualServer {
    /// How a real server is chosen.
    pub scheduler: Scheduler,
    /// The scheduler's switches.
    pub flags: SchedulerFlags,
    /// Clients return to the same real server, if it is persistent.
    pub persistence: Option<Persistence>,
    /// Each packet is scheduled on its own (UDP).
    pub one_packet: bool,
    /// The real servers, in the order in which they were read. The kernel's own order is not
    /// visible in sorted output.
    pub real_servers: Vec<RealServer>,
}

/// A scheduler of the kernel (`net/netfilter/ipvs/ip_vs_*.c`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheduler {
    /// `rr`: round robin.
    RoundRobin,
    /// `wrr`: weighted round robin.
    WeightedRoundRobin,
    /// `lc`: least connections.
    LeastConnections,
    /// `wlc`: weighted least connections, the tool's default.
    #[default]
    WeightedLeastConnections,
    /// `lblc`: locality-based least connections.
    LocalityLeastConnections,
    /// `lblcr`: the same with replication.
    LocalityReplication,
    /// `dh`: destination hashing.
    DestinationHashing,
    /// `sh`: source hashing.
    SourceHashing,
    /// `sed`: shortest expected delay.
    ShortestExpectedDelay,
    /// `nq`: never queue.
    NeverQueue,
    /// `fo`: weighted fail-over.
    FailOver,
    /// `ovf`: weighted overflow.
    Overflow,
    /// `mh`: Maglev hashing.
    Maglev,
    /// `twos`: the better of two random choices.
    PowerOfTwo,
    /// Any other.
    Other(Name),
}

/// The switches of a scheduler (`IP_VS_SVC_F_SCHED1` to `3`); what they mean is the scheduler's
/// business.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchedulerFlags {
    /// `flag-1`; `sh-fallback`, `mh-fallback`.
    pub first: bool,
    /// `flag-2`; `sh-port`, `mh-port`.
    pub second: bool,
    /// `flag-3`.
    pub third: bool,
}

/// The persistence of a virtual server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Persistence {
    /// How long a client is remembered, in seconds.
    pub timeout: u32,
    /// Clients that are equal in these leading bits count as one: 32, or 128 for IPv6, if nothing
    /// is said.
    pub netmask: Netmask,
    /// The persistence engine (`sip`).
    pub engine: Option<Name>,
}

/// The grouping of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Netmask {
    /// Of IPv4 clients.
    V4(Ipv4Addr),
    /// Of IPv6 clients: the length of the prefix.
    V6(u8),
}

/// A real server: `struct ip_vs_dest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealServer {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// How packets get there.
    pub method: Forwarding,
    /// Its weight; 0 takes no new connections.
    pub weight: u32,
    /// It is overloaded at so many connections; 0 is never.
    pub upper_threshold: u32,
    /// It is fine again below so many; 0 is three quarters of the upper one.
    pub lower_threshold: u32,
    /// Options of a tunnel, as the tool prints them.
    pub tunnel: Option<Name>,
    /// Its connections, where they were read.
    pub connections: Connections,
}

/// How packets get to a real server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Forwarding {
    /// `-m`: with the destination rewritten.
    Masquerade,
    /// `-g`: over the link, unchanged.
    DirectRoute,
    /// `-i`: in a tunnel.
    Tunnel,
    /// To this host itself; shown as `Local`, never set.
    Local,
    /// `BYPASS`: to the packet's own destination; shown, never set.
    Bypass,
}

/// The connections of a real server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connections {
    /// Established ones.
    pub active: u32,
    /// All others.
    pub inactive: u32,
}

/// The timeouts of connections, in seconds (`ipvsadm -L --timeout`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Of established TCP connections.
    pub tcp: u32,
    /// Of TCP connections after a FIN.
    pub tcp_fin: u32,
    /// Of UDP.
    pub udp: u32,
}

impl ServiceId {
    /// Returns whether it is for IPv6.
    #[must_use]
    pub fn is_ipv6(&self) -> bool {
        match self {
            ServiceId::Address { address, .. } => address.is_ipv6(),
            ServiceId::Mark { ipv6, .. } => *ipv6,
        }
    }
}

impl VirtualServer {
    /// Returns a virtual server without real servers, flags and persistence.
    #[must_use]
    pub fn new(scheduler: Scheduler) -> VirtualServer {
        VirtualServer {
            scheduler,
            flags: SchedulerFlags::default(),
            persistence: None,
            one_packet: false,
            real_servers: Vec::new(),
        }
    }
}

impl RealServer {
    /// Returns a real server of weight 1, without thresholds and connections.
    #[must_use]
    pub fn new(address: IpAddr, port: u16, method: Forwarding) -> RealServer {
        RealServer {
            address,
            port,
            method,
            weight: 1,
            upper_threshold: 0,
            lower_threshold: 0,
            tunnel: None,
            connections: Connections::default(),
        }
    }
}

impl Netmask {
    /// Returns the mask that keeps every bit.
    #[must_use]
    pub fn full(ipv6: bool) -> Netmask {
        if ipv6 { Netmask::V6(128) } else { Netmask::V4(Ipv4Addr::BROADCAST) }
    }
}

impl Scheduler {
    /// Reads the kernel's name.
    #[must_use]
    pub fn parse(name: &str) -> Scheduler {
        let known = SCHEDULERS.iter().find(|(_, known)| *known == name);
        known.map_or_else(|| Scheduler::Other(Name::new(name)), |(scheduler, _)| *scheduler)
    }

    /// Returns the kernel's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        if let Scheduler::Other(name) = self {
            return name.as_str();
        }
        let known = SCHEDULERS.iter().find(|(scheduler, _)| *scheduler == self);
        known.map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// All known schedulers with the kernel's names.
const SCHEDULERS: [(Scheduler, &str); 14] = [
    (Scheduler::RoundRobin, "rr"),
    (Scheduler::WeightedRoundRobin, "wrr"),
    (Scheduler::LeastConnections, "lc"),
    (Scheduler::WeightedLeastConnections, "wlc"),
    (Scheduler::LocalityLeastConnections, "lblc"),
    (Scheduler::LocalityReplication, "lblcr"),
    (Scheduler::DestinationHashing, "dh"),
    (Scheduler::SourceHashing, "sh"),
    (Scheduler::ShortestExpectedDelay, "sed"),
    (Scheduler::NeverQueue, "nq"),
    (Scheduler::FailOver, "fo"),
    (Scheduler::Overflow, "ovf"),
    (Scheduler::Maglev, "mh"),
    (Scheduler::PowerOfTwo, "twos"),
];
