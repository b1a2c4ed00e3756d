//! `lc`, `wlc`, `sed` and `nq`: where the least is going on.
//!
//! They differ in what a server costs; the first in the list of equals wins.

use super::Scheduler;
use crate::ipvs::connection::Connection;
use crate::ipvs::server::{RealServer, RealServers, ServerId};

/// One of the four; none has any state of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Least {
    /// `lc`: the fewest connections, whatever the weights (`ip_vs_lc.c`).
    Connections,
    /// `wlc`: the fewest connections for their weight (`ip_vs_wlc.c`).
    WeightedConnections,
    /// `sed`: the fewest active connections for their weight, the new one included
    /// (`ip_vs_sed.c`).
    ExpectedDelay,
    /// `nq`: the first idle one, else as `sed` (`ip_vs_nq.c`).
    NeverQueue,
}

impl Scheduler for Least {
    fn schedule(&mut self, servers: &RealServers, _: &Connection) -> Option<ServerId> {
        self.choose(servers.usable())
    }
}

impl Least {
    fn choose<'a>(
        self,
        mut usable: impl Iterator<Item = (ServerId, &'a RealServer)> + Clone,
    ) -> Option<ServerId> {
        if self == Least::NeverQueue
            && let Some((idle, _)) = usable.clone().find(|(_, server)| server.active == 0)
        {
            return Some(idle);
        }
        let first = usable.next()?;
        let least =
            usable.fold(
                first,
                |least, server| {
                    if self.is_cheaper(server.1, least.1) { server } else { least }
                },
            );
        Some(least.0)
    }

    /// Compares cost for weight, without dividing.
    fn is_cheaper(self, server: &RealServer, than: &RealServer) -> bool {
        let scaled = |cost: u64, weight: u64| u128::from(cost) * u128::from(weight);
        scaled(self.cost(than), self.weight(server)) > scaled(self.cost(server), self.weight(than))
    }

    fn cost(self, server: &RealServer) -> u64 {
        match self {
            Least::Connections | Least::WeightedConnections => server.overhead(),
            Least::ExpectedDelay | Least::NeverQueue => u64::from(server.active) + 1,
        }
    }

    fn weight(self, server: &RealServer) -> u64 {
        if self == Least::Connections { 1 } else { server.weight.into() }
    }
}

/// Returns the server with the fewest connections for its weight: the choice that `lblc` and
/// `lblcr` remember.
pub(super) fn weighted_least<'a>(
    usable: impl Iterator<Item = (ServerId, &'a RealServer)> + Clone,
) -> Option<ServerId> {
    Least::WeightedConnections.choose(usable)
}

/// Returns the server with the most connections for its weight.
pub(super) fn weighted_most<'a>(
    mut weighty: impl Iterator<Item = (ServerId, &'a RealServer)>,
) -> Option<ServerId> {
    let first = weighty.next()?;
    let most = weighty.fold(first, |most, server| {
        if Least::WeightedConnections.is_cheaper(most.1, server.1) { server } else { most }
    });
    Some(most.0)
}
