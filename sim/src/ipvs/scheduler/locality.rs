//! `lblc`: a destination keeps its server, for caches behind (`ip_vs_lblc.c`).

use std::time::Duration;

use super::Scheduler;
use super::least::weighted_least;
use super::locality_cache::{Cache, is_overloaded};
use crate::ipvs::connection::Connection;
use crate::ipvs::server::{RealServers, ServerId};

/// The server of each destination.
#[derive(Debug, Clone)]
pub struct Locality {
    cache: Cache<ServerId>,
}

impl Locality {
    /// Returns the state without destinations; they are forgotten some time after `expiration`
    /// without use.
    #[must_use]
    pub fn new(expiration: Duration) -> Locality {
        Locality { cache: Cache::new(expiration) }
    }
}

impl Scheduler for Locality {
    fn schedule(&mut self, servers: &RealServers, connection: &Connection) -> Option<ServerId> {
        let destination = connection.destination.ip();
        let known = self.cache.touch(destination).map(|server| *server);
        known.filter(|server| is_fit(*server, servers)).or_else(|| {
            let server = weighted_least(servers.usable())?;
            if known != Some(server) {
                self.cache.insert(destination, server);
            }
            Some(server)
        })
    }

    fn advance(&mut self, now: Duration) {
        self.cache.advance(now);
    }
}

/// Tells whether a remembered server is taken again. Thresholds do not matter here.
fn is_fit(server: ServerId, servers: &RealServers) -> bool {
    servers.server(server).is_some_and(|server| {
        server.available && server.weight > 0 && !is_overloaded(server, servers)
    })
}
