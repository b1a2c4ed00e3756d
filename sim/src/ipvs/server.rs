//! Real servers: what the kernel knows of each, and the order in which it looks at them.

use std::collections::VecDeque;
use std::net::SocketAddr;

use indexmap::IndexMap;

use kps_ruleset::ipvs;

/// A real server of one virtual service. It stays the same when the server is deleted and comes
/// back, as in the kernel, where connections keep a deleted server alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(usize);

/// What schedulers look at (`include/net/ip_vs.h`, `struct ip_vs_dest`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealServer {
    /// Its address and port.
    pub address: SocketAddr,
    /// Its weight; 0 takes no new connections.
    pub weight: u32,
    /// Its last weight that was not 0, or the first one.
    pub last_weight: u32,
    /// Its connections that are established or about to be.
    pub active: u32,
    /// Its other connections.
    pub inactive: u32,
    /// Whether it is one of the virtual service's; a deleted one is not.
    pub available: bool,
    /// Whether it has reached its upper threshold and is not yet below the lower one.
    pub overloaded: bool,
    /// Whether only the client's packets pass here (all methods but masquerading).
    pub one_way: bool,
    upper_threshold: u32,
    lower_threshold: u32,
}

/// The real servers of a virtual service.
#[derive(Debug, Clone, Default)]
pub struct RealServers {
    /// All that there ever were.
    known: IndexMap<SocketAddr, RealServer>,
    /// Those that are there, the last added first.
    list: VecDeque<ServerId>,
}

/// What happened to the list of real servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A server was added, at the head.
    Added,
    /// A server has other parameters.
    Updated,
    /// The server that was at this position was removed.
    Removed(usize),
}

impl RealServer {
    /// Tells whether new connections may go to it.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.weight > 0 && !self.overloaded
    }

    /// Returns how much its connections weigh, an active one far more than an inactive one
    /// (`include/net/ip_vs.h`, `ip_vs_dest_conn_overhead`).
    #[must_use]
    pub fn overhead(&self) -> u64 {
        u64::from(self.active) * 256 + u64::from(self.inactive)
    }

    fn connections(&self) -> u64 {
        u64::from(self.active) + u64::from(self.inactive)
    }

    /// Takes over what an administrator sets (`ip_vs_ctl.c`, `__ip_vs_update_dest`).
    fn configure(&mut self, parameters: &ipvs::RealServer) {
        self.weight = parameters.weight;
        if self.weight > 0 {
            self.last_weight = self.weight;
        }
        self.one_way = parameters.method != ipvs::Forwarding::Masquerade;
        self.available = true;
        let upper = parameters.upper_threshold;
        if upper == 0 || upper > self.upper_threshold {
            self.overloaded = false;
        }
        self.upper_threshold = upper;
        self.lower_threshold = parameters.lower_threshold;
    }

    /// Counts a new connection, inactive at first (`ip_vs_conn.c`, `ip_vs_bind_dest`).
    pub(super) fn bind(&mut self) {
        self.inactive = self.inactive.saturating_add(1);
        self.note_overload();
    }

    /// Forgets a connection (`ip_vs_conn.c`, `ip_vs_unbind_dest`).
    pub(super) fn unbind(&mut self, active: bool) {
        let count = if active { &mut self.active } else { &mut self.inactive };
        *count = count.saturating_sub(1);
        self.note_relief();
    }

    /// Moves a connection between active and inactive.
    pub(super) fn set_active(&mut self, active: bool) {
        let (to, from) = if active {
            (&mut self.active, &mut self.inactive)
        } else {
            (&mut self.inactive, &mut self.active)
        };
        *to = to.saturating_add(1);
        *from = from.saturating_sub(1);
    }

    pub(super) fn note_overload(&mut self) {
        if self.upper_threshold != 0 && self.connections() >= self.upper_threshold.into() {
            self.overloaded = true;
        }
    }

    /// Without a lower threshold the server is fine again below three quarters of the upper one.
    pub(super) fn note_relief(&mut self) {
        let (lower, upper) = (u64::from(self.lower_threshold), u64::from(self.upper_threshold));
        let relieved = match (lower, upper) {
            (0, 0) => true,
            (0, upper) => self.connections() * 4 < upper * 3,
            (lower, _) => self.connections() < lower,
        };
        self.overloaded &= !relieved;
    }
}

impl RealServers {
    /// Returns the servers as the kernel lists them: the last added first.
    pub fn iter(&self) -> impl Iterator<Item = (ServerId, &RealServer)> + Clone {
        self.list.iter().filter_map(|id| Some((*id, self.server(*id)?)))
    }

    /// Returns those of them that take new connections.
    pub fn usable(&self) -> impl Iterator<Item = (ServerId, &RealServer)> + Clone {
        self.iter().filter(|(_, server)| server.is_usable())
    }

    /// Returns a server, also a deleted one.
    #[must_use]
    pub fn server(&self, id: ServerId) -> Option<&RealServer> {
        self.known.get_index(id.0).map(|(_, server)| server)
    }

    /// Returns the server at a position of the list.
    #[must_use]
    pub fn at(&self, position: usize) -> Option<(ServerId, &RealServer)> {
        let id = *self.list.get(position)?;
        Some((id, self.server(id)?))
    }

    /// Returns the number of servers in the list.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Tells whether there is no server.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the server with this address, also a deleted one.
    #[must_use]
    pub fn find(&self, address: SocketAddr) -> Option<ServerId> {
        self.known.get_index_of(&address).map(ServerId)
    }

    pub(super) fn server_mut(&mut self, id: ServerId) -> Option<&mut RealServer> {
        self.known.get_index_mut(id.0).map(|(_, server)| server)
    }

    /// Adds a server at the head, or changes it if it is there already.
    pub(super) fn set(&mut self, parameters: &ipvs::RealServer) -> Change {
        let address = SocketAddr::new(parameters.address, parameters.port);
        let id = self.find(address).unwrap_or_else(|| self.introduce(address));
        let Some(server) = self.server_mut(id) else { return Change::Updated };
        let added = !server.available;
        if added {
            server.last_weight = parameters.weight;
        }
        server.configure(parameters);
        if !added {
            return Change::Updated;
        }
        self.list.push_front(id);
        Change::Added
    }

    /// Removes a server; its connections stay.
    pub(super) fn remove(&mut self, address: SocketAddr) -> Option<Change> {
        let id = self.find(address)?;
        let position = self.list.iter().position(|listed| *listed == id)?;
        self.list.remove(position);
        self.server_mut(id)?.available = false;
        Some(Change::Removed(position))
    }

    fn introduce(&mut self, address: SocketAddr) -> ServerId {
        let unconfigured = RealServer {
            address,
            weight: 0,
            last_weight: 0,
            active: 0,
            inactive: 0,
            available: false,
            overloaded: false,
            one_way: false,
            upper_threshold: 0,
            lower_threshold: 0,
        };
        ServerId(self.known.insert_full(address, unconfigured).0)
    }
}
