//! `fo` and `ovf`: the heaviest server gets everything, until it cannot take more.

use super::Scheduler;
use crate::ipvs::connection::Connection;
use crate::ipvs::server::{RealServer, RealServers, ServerId};

/// One of the two; none has any state of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failover {
    /// `fo`: the heaviest usable server (`ip_vs_fo.c`).
    Weight,
    /// `ovf`: the heaviest usable server without more active connections than its weight
    /// (`ip_vs_ovf.c`).
    Overflow,
}

impl Scheduler for Failover {
    /// The first in the list of equals wins.
    fn schedule(&mut self, servers: &RealServers, _: &Connection) -> Option<ServerId> {
        let mut eligible = servers.usable().filter(|(_, server)| self.has_room(server));
        let first = eligible.next()?;
        let heaviest = eligible.fold(first, |heaviest, server| {
            if server.1.weight > heaviest.1.weight { server } else { heaviest }
        });
        Some(heaviest.0)
    }
}

impl Failover {
    fn has_room(self, server: &RealServer) -> bool {
        self == Failover::Weight || server.active <= server.weight
    }
}
