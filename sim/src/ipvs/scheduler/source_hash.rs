//! `sh`: by the client's address (`ip_vs_sh.c`).

use kps_ruleset::ipvs::SchedulerFlags;

use super::Scheduler;
use crate::ipvs::connection::Connection;
use crate::ipvs::hash::{folded, hash_32};
use crate::ipvs::server::{Change, RealServer, RealServers, ServerId};

/// The number of buckets is 2 to this (`CONFIG_IP_VS_SH_TAB_BITS`).
const BITS: u32 = 8;
const SIZE: u32 = 1 << BITS;

/// Servers in turn, each in as many buckets as it has weight, but at least in one.
#[derive(Debug, Clone)]
pub struct SourceHash {
    /// `sh-fallback`: looks further if the server is not usable.
    fallback: bool,
    /// `sh-port`: the client's port counts too.
    port: bool,
    buckets: Vec<ServerId>,
}

impl SourceHash {
    /// Returns the state without servers.
    #[must_use]
    pub fn new(flags: SchedulerFlags) -> SourceHash {
        SourceHash { fallback: flags.first, port: flags.second, buckets: Vec::new() }
    }

    fn hash(&self, connection: &Connection) -> u32 {
        let port = if self.port { connection.source.port() } else { 0 };
        hash_32(folded(connection.source.ip()).wrapping_add(port.into()), BITS)
    }

    fn usable(&self, servers: &RealServers, bucket: u32) -> Option<ServerId> {
        let id = *self.buckets.get((bucket % SIZE) as usize)?;
        servers.server(id).is_some_and(RealServer::is_usable).then_some(id)
    }
}

impl Scheduler for SourceHash {
    fn schedule(&mut self, servers: &RealServers, connection: &Connection) -> Option<ServerId> {
        let hash = self.hash(connection);
        self.usable(servers, hash).or_else(|| {
            // The search begins at an offset that is the hash itself, so at twice the hash.
            let offsets = (0..SIZE).filter(|_| self.fallback);
            offsets.map(|offset| 2 * hash + offset).find_map(|bucket| self.usable(servers, bucket))
        })
    }

    fn changed(&mut self, servers: &RealServers, _: Change) {
        let turn = servers
            .iter()
            .flat_map(|(id, server)| (0..server.weight.clamp(1, SIZE)).map(move |_| id));
        let turn: Vec<ServerId> = turn.take(SIZE as usize).collect();
        self.buckets = turn.iter().copied().cycle().take(SIZE as usize).collect();
    }
}
