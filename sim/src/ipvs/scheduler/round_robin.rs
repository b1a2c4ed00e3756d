//! `rr`: one after the other (`ip_vs_rr.c`).

use super::Scheduler;
use crate::ipvs::connection::Connection;
use crate::ipvs::server::{Change, RealServers, ServerId};

/// The place in the list where the last connection went; `None` is before its head.
#[derive(Debug, Clone, Default)]
pub struct RoundRobin {
    last: Option<usize>,
}

impl Scheduler for RoundRobin {
    /// Takes the next usable server after the last one, which comes last itself.
    fn schedule(&mut self, servers: &RealServers, _: &Connection) -> Option<ServerId> {
        let next = self.last.map_or(0, |last| last + 1);
        let usable =
            |position: &usize| servers.at(*position).is_some_and(|(_, server)| server.is_usable());
        let position = (next..servers.len()).chain(0..next).find(usable)?;
        self.last = Some(position);
        servers.at(position).map(|(id, _)| id)
    }

    /// A server that goes away leaves the cursor at the one before it (`ip_vs_rr_del_dest`).
    fn changed(&mut self, _: &RealServers, change: Change) {
        let Some(last) = self.last else { return };
        self.last = match change {
            Change::Added => Some(last + 1),
            Change::Removed(position) if position <= last => last.checked_sub(1),
            Change::Removed(_) | Change::Updated => Some(last),
        };
    }
}
