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

    /// Deletes a real server and tells whether it was there. Its connections stay, unless
    /// `expire_nodest_conn` is set; then they are forgotten (`ip_vs_expire_nodest_conn_flush`, one
    /// tick of the clock later in the kernel).
    pub fn remove(&mut self, address: SocketAddr) -> bool {
        let Some(change) = self.servers.remove(address) else { return false };
        self.scheduler.changed(&self.servers, change);
        if self.settings.expire_nodest_conn {
            self.forget_homeless();
        }
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
        let known = self.table.find(Key::Connection(connection));
        let opens = connection.protocol != Protocol::Tcp || segment == Segment::Syn;
        let Some(id) = known.filter(|id| !self.is_given_up(*id, connection.protocol, segment))
        else {
            let decision = if opens { self.open(connection) } else { Decision::Ignored };
            if let Some(given_up) = known {
                self.forget(given_up);
            }
            return decision;
        };
        self.continued(id, connection.protocol, segment)
    }

    /// Takes a packet of a real server (`ip_vs_out_hook`).
    pub fn reply(&mut self, connection: &Connection, segment: Segment) {
        let Some(id) = self.table.find(Key::Connection(*connection)) else { return };
        if self.table.entry(id).is_some_and(|entry| !entry.one_way) {
            self.note(id, connection.protocol, segment, From::Server);
        }
    }

    /// Tells whether a known connection is forgotten and its packet treated as one of a new
    /// connection.
    fn is_given_up(&self, id: EntryId, protocol: Protocol, segment: Segment) -> bool {
        let Some(entry) = self.table.entry(id) else { return true };
        let weightless = self.servers.server(entry.server).is_none_or(|server| server.weight == 0);
        protocol == Protocol::Tcp
            && segment == Segment::Syn
            && (self.settings.expire_nodest_conn && weightless || self.is_reused(entry))
    }

    /// Tells whether a SYN on a known connection is one of a new connection
    /// (`is_new_conn_expected`).
    fn is_reused(&self, entry: &Entry) -> bool {
        let mode = self.settings.conn_reuse_mode;
        let closed = match entry.state {
            State::TimeWait | State::Close => mode != 0,
            State::FinWait => mode & 2 != 0 && entry.one_way,
            _ => false,
        };
        closed && entry.template.is_none()
    }

    fn continued(&mut self, id: EntryId, protocol: Protocol, segment: Segment) -> Decision {
        let Some(entry) = self.table.entry(id) else { return Decision::Dropped };
        let (server, one_way) = (entry.server, entry.one_way);
        if !self.servers.server(server).is_some_and(|server| server.available) {
            return Decision::Dropped;
        }
        self.note(id, protocol, segment, if one_way { From::ClientOnly } else { From::Client });
        Decision::Server(server)
    }

    fn open(&mut self, connection: Connection) -> Decision {
        let opened = match self.persistence {
            Some(persistence) => self.open_persistent(connection, persistence),
            None => {
                self.scheduler.schedule(&self.servers, &connection).map(|server| (server, None))
            }
        };
        let Some((server, template)) = opened else { return Decision::Refused };
        self.remember(connection, server, template);
        Decision::Server(server)
    }

    /// Returns the server of a client that may have been here before, and its template
    /// (`ip_vs_sched_persist`).
    fn open_persistent(
        &mut self,
        connection: Connection,
        persistence: ipvs::Persistence,
    ) -> Option<(ServerId, Option<EntryId>)> {
        let key = Key::Template(masked(connection.source.ip(), persistence.netmask));
        if let Some(template) = self.table.find(key) {
            if let Some(server) = self.returns_to(template) {
                return Some((server, Some(template)));
            }
            self.table.hide(template);
        }
        let server = self.scheduler.schedule(&self.servers, &connection)?;
        let template = self.table.insert(key, server, false);
        self.table.set_timeout(template, Duration::from_secs(persistence.timeout.into()));
        self.servers.server_mut(server)?.note_overload();
        Some((server, Some(template)))
    }

    /// Returns a template's server, if clients still return to it (`ip_vs_check_template`).
    fn returns_to(&self, template: EntryId) -> Option<ServerId> {
        let id = self.table.entry(template)?.server;
        let server = self.servers.server(id)?;
        let quiescent = self.settings.expire_quiescent_template && server.weight == 0;
        (server.available && !quiescent).then_some(id)
    }

    /// Makes the entry of a new connection.
    fn remember(&mut self, connection: Connection, server: ServerId, template: Option<EntryId>) {
        let Some(bound) = self.servers.server_mut(server) else { return };
        bound.bind();
        let one_way = bound.one_way;
        let id = self.table.insert(Key::Connection(connection), server, one_way);
        if let Some((template, control)) =
            template.and_then(|t| Some((t, self.table.entry_mut(t)?)))
        {
            control.controls += 1;
            self.table.restart(template, self.now);
        }
        if let Some(entry) = self.table.entry_mut(id) {
            entry.template = template;
        }
        self.note(id, connection.protocol, Segment::Syn, From::Client);
        if self.one_packet && connection.protocol == Protocol::Udp {
            self.forget(id);
        }
    }

    /// Notes what a packet does to its connection (`set_tcp_state`), and restarts its timer.
    fn note(&mut self, id: EntryId, protocol: Protocol, segment: Segment, from: From) {
        let Some(entry) = self.table.entry_mut(id) else { return };
        let before = entry.state;
        entry.state = match protocol {
            Protocol::Tcp => before.after(segment, from),
            Protocol::Sctp => State::Sctp,
            _ => State::Udp,
        };
        let (after, server) = (entry.state, entry.server);
        if before.is_active() != after.is_active()
            && let Some(server) = self.servers.server_mut(server)
        {
            server.set_active(after.is_active());
        }
        self.table.set_timeout(id, after.timeout(self.settings.timeouts));
        self.table.restart(id, self.now);
    }

    /// Ends an entry whose time is over, unless it is a template in use (`ip_vs_conn_expire`).
    fn expire(&mut self, id: EntryId) {
        if self.table.entry(id).is_some_and(|entry| entry.controls > 0) {
            self.table.set_timeout(id, EXPIRE_LATER);
            self.table.restart(id, self.now);
        } else {
            self.forget(id);
        }
    }

    /// Removes the entries whose servers are deleted: connections first, then what is left of
    /// templates without any. (The kernel walks its table once, so a template may come before its
    /// connections and stay until its time is over.)
    fn forget_homeless(&mut self) {
        let servers = &self.servers;
        let mut homeless = self
            .table
            .select(|entry| !servers.server(entry.server).is_some_and(|server| server.available));
        homeless.sort_by_key(|id| (self.table.entry(*id).is_some_and(Entry::is_template), *id));
        for id in homeless {
            if self.table.entry(id).is_some_and(|entry| entry.controls == 0) {
                self.forget(id);
            }
        }
    }

    /// Removes an entry and what it counted for.
    fn forget(&mut self, id: EntryId) {
        let Some(entry) = self.table.remove(id) else { return };
        if let Some(server) = self.servers.server_mut(entry.server) {
            if entry.is_template() {
                server.note_relief();
            } else {
                server.unbind(entry.state.is_active());
            }
        }
        if let Some(template) = entry.template.and_then(|id| self.table.entry_mut(id)) {
            template.controls = template.controls.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests;
