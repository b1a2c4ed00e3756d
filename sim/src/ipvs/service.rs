//! A virtual service at work: packets in, decisions out (`ip_vs_core.c`, `ip_vs_conn.c`).

use std::net::SocketAddr;
use std::time::Duration;

use kps_flow::Protocol;
use kps_ruleset::ipvs;

use super::connection::{Connection, masked};
use super::scheduler::{self, Scheduler, UnsupportedScheduler};
use super::server::{RealServers, ServerId};
use super::settings::Settings;
use super::state::{From, Segment, State};
use super::table::{Entry, EntryId, Key, Table};

/// A virtual service with all that the kernel remembers of it.
#[derive(Debug)]
pub struct VirtualService {
    scheduler: Box<dyn Scheduler>,
    settings: Settings,
    persistence: Option<ipvs::Persistence>,
    one_packet: bool,
    servers: RealServers,
    table: Table,
    now: Duration,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It goes to this server.
    Server(ServerId),
    /// No server may have it: answered with an ICMP "port unreachable".
    Refused,
    /// Its server is gone: dropped.
    Dropped,
    /// It belongs to no connection and opens none: IPVS lets it pass.
    Ignored,
}

/// How long a template that is due but has connections is kept at a time.
const EXPIRE_LATER: Duration = Duration::from_secs(60);

impl VirtualService {
    /// Makes a virtual service and adds its real servers in the order in which they stand there,
    /// so that the kernel's list has the last one first. Their counted connections are not taken
    /// over.
    pub fn new(
        definition: &ipvs::VirtualServer,
        settings: Settings,
    ) -> Result<VirtualService, UnsupportedScheduler> {
        let scheduler = scheduler::new(definition.scheduler, definition.flags, &settings)?;
        let mut service = VirtualService {
            scheduler,
            settings,
            persistence: definition.persistence,
            one_packet: definition.one_packet,
            servers: RealServers::default(),
            table: Table::default(),
            now: Duration::ZERO,
        };
        definition.real_servers.iter().for_each(|server| service.add(server));
        Ok(service)
    }

    /// Returns the real servers.
    #[must_use]
    pub fn servers(&self) -> &RealServers {
        &self.servers
    }

    /// Returns what is remembered of a connection.
    #[must_use]
    pub fn connection(&self, connection: &Connection) -> Option<&Entry> {
        self.table.entry(self.table.find(Key::Connection(*connection))?)
    }

    /// Returns how many clients, or groups of them, would return to their server.
    #[must_use]
    pub fn templates(&self) -> usize {
        self.table.templates()
    }

    /// Adds a real server, or changes it if there is one with this address and port.
    pub fn add(&mut self, server: &ipvs::RealServer) {
        let change = self.servers.set(server);
        self.scheduler.changed(&self.servers, change);
    }

    /// Deletes a real server and tells whether it was there. Its connections stay.
    pub fn remove(&mut self, address: SocketAddr) -> bool {
        let Some(change) = self.servers.remove(address) else { return false };
        self.scheduler.changed(&self.servers, change);
        true
    }

    /// Moves the clock to `now`, counted from the making of the service, and ends what is due. The
    /// clock does not go back.
    pub fn advance(&mut self, now: Duration) {
        while let Some((due, id)) = self.table.due(now) {
            self.now = self.now.max(due);
            self.expire(id);
        }
        self.now = self.now.max(now);
        self.scheduler.advance(self.now);
    }

    /// Opens a connection, or sends another datagram or SYN of one, and returns where it went.
    pub fn connect(&mut self, connection: Connection) -> Option<ServerId> {
        match self.packet(connection, Segment::Syn) {
            Decision::Server(server) => Some(server),
            _ => None,
        }
    }

    /// Takes a packet of the client (`ip_vs_in_hook`). The segment is of interest for TCP only.
    pub fn packet(&mut self, connection: Connection, segment: Segment) -> Decision {
        let opens = connection.protocol != Protocol::Tcp || segment == Segment::Syn;
        let known = self.table.find(Key::Connection(connection));
        let renewed = known.filter(|id| opens && self.is_rescheduled(*id));
        if known.is_some() && renewed.is_none() {
            return self.continued(connection, segment, known);
        }
        let decision = if opens { self.open(connection, segment) } else { Decision::Ignored };
        renewed.into_iter().for_each(|old| self.forget(old));
        decision
    }

    /// Takes a packet of a real server (`ip_vs_out_hook`).
    pub fn reply(&mut self, connection: &Connection, segment: Segment) {
        let Some(id) = self.table.find(Key::Connection(*connection)) else { return };
        if self.table.entry(id).is_some_and(|entry| !entry.one_way) {
            self.note(id, connection.protocol, segment, From::Server);
            self.table.restart(id, self.now);
        }
    }

    /// Tells whether a known connection is given up for a new decision.
    fn is_rescheduled(&self, id: EntryId) -> bool {
        false
    }
}
