//! `mh`: by the client's address, so that few clients move when servers come and go (`ip_vs_mh.c`;
//! Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", 2016).

use kps_ruleset::ipvs::SchedulerFlags;
use num_integer::gcd;

use super::Scheduler;
use crate::ipvs::connection::Connection;
use crate::ipvs::hash::{HsiphashKey, folded, hsiphash};
use crate::ipvs::server::{Change, RealServer, RealServers, ServerId};

/// `CONFIG_IP_VS_MH_TAB_INDEX`, which stands for the prime number [`SIZE`].
const INDEX: u32 = 12;
/// The number of slots.
const SIZE: u32 = 4093;
/// The keys are not secret: all nodes choose alike.
const FIRST_KEY: HsiphashKey = HsiphashKey([2_654_435_761; 2]);
const SECOND_KEY: HsiphashKey = HsiphashKey([2_654_446_892; 2]);

/// Slots that the servers chose in turn, each by its own sequence of preferences.
#[derive(Debug, Clone)]
pub struct Maglev {
    /// `mh-fallback`: looks further if the server is not usable.
    fallback: bool,
    /// `mh-port`: the client's port counts too.
    port: bool,
    slots: Vec<ServerId>,
}

/// A server while slots are given away.
struct Chooser {
    id: ServerId,
    /// The slot that it wants next, and how far it goes on if that is taken.
    wants: u32,
    skip: u32,
    /// How many slots it takes in its turn.
    turns: u32,
}

impl Maglev {
    /// Returns the state without servers.
    #[must_use]
    pub fn new(flags: SchedulerFlags) -> Maglev {
        Maglev { fallback: flags.first, port: flags.second, slots: Vec::new() }
    }

    fn usable(&self, servers: &RealServers, slot: u32) -> Option<ServerId> {
        let id = *self.slots.get(slot as usize)?;
        servers.server(id).is_some_and(RealServer::is_usable).then_some(id)
    }
}

impl Scheduler for Maglev {
    fn schedule(&mut self, servers: &RealServers, connection: &Connection) -> Option<ServerId> {
        let port = if self.port { connection.source.port() } else { 0 };
        let client = folded(connection.source.ip()).wrapping_add(port.into());
        let slot = |offset: u32| hsiphash(client.wrapping_add(offset), FIRST_KEY) % SIZE;
        let first = slot(0);
        self.usable(servers, first).or_else(|| {
            let offsets = (0..SIZE).filter(|_| self.fallback).map(|offset| (offset + first) % SIZE);
            offsets.map(slot).find_map(|slot| self.usable(servers, slot))
        })
    }

    /// More servers than slots leave the table as it is.
    fn changed(&mut self, servers: &RealServers, _: Change) {
        if servers.len() <= SIZE as usize {
            self.slots = populated(choosers(servers));
        }
    }
}

/// Returns the servers that choose (`ip_vs_mh_permutate`); one whose weight has become 0 keeps its
/// slots, so that clients come back to theirs when it recovers.
fn choosers(servers: &RealServers) -> Vec<Chooser> {
    let weights = || servers.iter().map(|(_, server)| server.last_weight);
    let divisor = weights().fold(0, gcd).max(1);
    let bits = u32::BITS - (weights().max().unwrap_or(0) / divisor).leading_zeros();
    let shift = bits.saturating_sub(INDEX / 2);
    let eligible = servers.iter().filter(|(_, server)| server.last_weight > 0);
    eligible.map(|(id, server)| Chooser::new(id, server, divisor, shift)).collect()
}

impl Chooser {
    fn new(id: ServerId, server: &RealServer, divisor: u32, shift: u32) -> Chooser {
        let address = folded(server.address.ip()).wrapping_add(server.address.port().into());
        Chooser {
            id,
            wants: hsiphash(address, FIRST_KEY) % SIZE,
            skip: hsiphash(address, SECOND_KEY) % (SIZE - 1) + 1,
            turns: (server.last_weight / divisor).checked_shr(shift).unwrap_or(0).max(1),
        }
    }

    /// Takes the next free slot of its sequence. There must be one.
    fn choose(&mut self, slots: &mut [Option<ServerId>]) {
        while let Some(Some(_)) = slots.get(self.wants as usize) {
            self.wants = (self.wants + self.skip) % SIZE;
        }
        if let Some(free) = slots.get_mut(self.wants as usize) {
            *free = Some(self.id);
        }
    }
}

/// Lets the servers choose in turn until no slot is left (`ip_vs_mh_populate`).
fn populated(mut choosers: Vec<Chooser>) -> Vec<ServerId> {
    let mut slots = vec![None; SIZE as usize];
    let turns: Vec<usize> = choosers
        .iter()
        .enumerate()
        .flat_map(|(index, chooser)| (0..chooser.turns).map(move |_| index))
        .collect();
    for index in turns.into_iter().cycle().take(SIZE as usize) {
        if let Some(chooser) = choosers.get_mut(index) {
            chooser.choose(&mut slots);
        }
    }
    slots.into_iter().flatten().collect()
}
