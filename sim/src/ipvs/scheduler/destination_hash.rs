//! `dh`: by the address that the client asked for (`ip_vs_dh.c`).

use super::Scheduler;
use crate::ipvs::connection::Connection;
use crate::ipvs::hash::{folded, hash_32};
use crate::ipvs::server::{Change, RealServer, RealServers, ServerId};

/// The number of buckets is 2 to this (`CONFIG_IP_VS_DH_TAB_BITS`).
const BITS: u32 = 8;

/// Servers in turn, whatever their weights.
#[derive(Debug, Clone, Default)]
pub struct DestinationHash {
    buckets: Vec<ServerId>,
}

impl Scheduler for DestinationHash {
    fn schedule(&mut self, servers: &RealServers, connection: &Connection) -> Option<ServerId> {
        let bucket = hash_32(folded(connection.destination.ip()), BITS);
        let id = *self.buckets.get(bucket as usize)?;
        servers.server(id).is_some_and(RealServer::is_usable).then_some(id)
    }

    fn changed(&mut self, servers: &RealServers, change: Change) {
        if change != Change::Updated {
            let turns = (0..servers.len()).cycle().take(1 << BITS);
            self.buckets = turns.filter_map(|turn| Some(servers.at(turn)?.0)).collect();
        }
    }
}
