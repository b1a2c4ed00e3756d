//! The schedulers: which real server a new connection gets.
//!
//! One file per scheduler, or per family that differs by a formula only. Each is what the kernel
//! keeps in `sched_data` (`include/net/ip_vs.h`, `struct ip_vs_scheduler`), and the same three
//! operations.

pub mod destination_hash;
pub mod failover;
pub mod least;
pub mod locality;
pub mod locality_cache;
pub mod locality_replication;
pub mod maglev;
pub mod round_robin;
pub mod source_hash;
pub mod weighted_round_robin;

use std::fmt;
use std::time::Duration;

use kps_ruleset::Name;
use kps_ruleset::ipvs::{Scheduler as Kind, SchedulerFlags};
use thiserror::Error;

use super::connection::Connection;
use super::server::{Change, RealServers, ServerId};
use super::settings::Settings;

/// The state of a scheduler for one virtual service.
pub trait Scheduler: fmt::Debug + Send + Sync {
    /// Chooses the server of a new connection; `None` if there is none to be had.
    fn schedule(&mut self, servers: &RealServers, connection: &Connection) -> Option<ServerId>;

    /// Takes note that the servers are others now.
    fn changed(&mut self, servers: &RealServers, change: Change) {
        let _ = (servers, change);
    }

    /// Takes note of the time, counted from the making of the service.
    fn advance(&mut self, now: Duration) {
        let _ = now;
    }
}

/// A scheduler whose choices cannot be foretold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnsupportedScheduler {
    /// It draws random numbers.
    #[error("the scheduler `twos` draws random numbers")]
    Random,
    /// The kernel has none of this name.
    #[error("there is no scheduler `{0}`")]
    Unknown(Name),
}

/// Returns the state of a scheduler before there is any server.
pub(super) fn new(
    kind: Kind,
    flags: SchedulerFlags,
    settings: &Settings,
) -> Result<Box<dyn Scheduler>, UnsupportedScheduler> {
    Ok(match kind {
        Kind::RoundRobin => Box::new(round_robin::RoundRobin::default()),
        Kind::WeightedRoundRobin => Box::new(weighted_round_robin::WeightedRoundRobin::default()),
        Kind::LeastConnections => Box::new(least::Least::Connections),
        Kind::WeightedLeastConnections => Box::new(least::Least::WeightedConnections),
        Kind::ShortestExpectedDelay => Box::new(least::Least::ExpectedDelay),
        Kind::NeverQueue => Box::new(least::Least::NeverQueue),
        Kind::LocalityLeastConnections => {
            Box::new(locality::Locality::new(settings.lblc_expiration))
        }
        Kind::LocalityReplication => {
            Box::new(locality_replication::LocalityReplication::new(settings.lblcr_expiration))
        }
        Kind::DestinationHashing => Box::new(destination_hash::DestinationHash::default()),
        Kind::SourceHashing => Box::new(source_hash::SourceHash::new(flags)),
        Kind::Maglev => Box::new(maglev::Maglev::new(flags)),
        Kind::FailOver => Box::new(failover::Failover::Weight),
        Kind::Overflow => Box::new(failover::Failover::Overflow),
        Kind::PowerOfTwo => return Err(UnsupportedScheduler::Random),
        Kind::Other(name) => return Err(UnsupportedScheduler::Unknown(name)),
    })
}

#[cfg(test)]
mod tests;
