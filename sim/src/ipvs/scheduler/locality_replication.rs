//! `lblcr`: a destination keeps a set of servers, which grows under load and shrinks with time
//! (`ip_vs_lblcr.c`).

use std::time::Duration;

use super::Scheduler;
use super::least::{weighted_least, weighted_most};
use super::locality_cache::{Cache, is_overloaded};
use crate::ipvs::connection::Connection;
use crate::ipvs::server::{RealServer, RealServers, ServerId};

/// The servers of each destination.
#[derive(Debug, Clone)]
pub struct LocalityReplication {
    cache: Cache<ServerSet>,
    expiration: Duration,
}

/// The servers of a destination, the last added first.
#[derive(Debug, Clone, Default)]
struct ServerSet {
    servers: Vec<ServerId>,
    modified: Duration,
}

impl LocalityReplication {
    /// Returns the state without destinations. They are forgotten some time after `expiration`
    /// without use; their sets shrink `expiration` after the last change.
    #[must_use]
    pub fn new(expiration: Duration) -> LocalityReplication {
        LocalityReplication { cache: Cache::new(expiration), expiration }
    }
}

impl Scheduler for LocalityReplication {
    fn schedule(&mut self, servers: &RealServers, connection: &Connection) -> Option<ServerId> {
        let (now, destination) = (self.cache.now, connection.destination.ip());
        let Some(set) = self.cache.touch(destination) else {
            let server = weighted_least(servers.usable())?;
            self.cache.insert(destination, ServerSet { servers: vec![server], modified: now });
            return Some(server);
        };
        let least = set.least(servers);
        if now > set.modified.saturating_add(self.expiration) {
            set.shrink(servers, now);
        }
        let fit = |id: &ServerId| servers.server(*id).is_some_and(|s| !is_overloaded(s, servers));
        least.filter(fit).or_else(|| {
            let server = weighted_least(servers.usable())?;
            set.insert(server, now);
            Some(server)
        })
    }

    fn advance(&mut self, now: Duration) {
        self.cache.advance(now);
    }
}

impl ServerSet {
    fn iter<'a>(
        &self,
        servers: &'a RealServers,
    ) -> impl Iterator<Item = (ServerId, &'a RealServer)> + Clone {
        self.servers.iter().filter_map(|id| Some((*id, servers.server(*id)?)))
    }

    fn least(&self, servers: &RealServers) -> Option<ServerId> {
        weighted_least(self.iter(servers).filter(|(_, s)| s.available && s.is_usable()))
    }

    fn insert(&mut self, server: ServerId, now: Duration) {
        if !self.servers.contains(&server) {
            self.servers.insert(0, server);
            self.modified = now;
        }
    }

    /// Drops the busiest of several servers, be it available or not.
    fn shrink(&mut self, servers: &RealServers, now: Duration) {
        if self.servers.len() < 2 {
            return;
        }
        let busiest = weighted_most(self.iter(servers).filter(|(_, server)| server.weight > 0));
        if let Some(busiest) = busiest {
            self.servers.retain(|server| *server != busiest);
            self.modified = now;
        }
    }
}
