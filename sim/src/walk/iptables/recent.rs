//! Lists of addresses that were seen (`net/netfilter/xt_recent.c`).
//!
//! No dump shows the lists, so that each is empty at the start of a walk: no client has an affinity
//! yet.

use std::net::IpAddr;

use kps_ruleset::Name;
use kps_ruleset::iptables::{Network, Recent, RecentAction, Side};

use super::Run;
use crate::trace::Deed;
use crate::walk::branch::Branch;
use crate::walk::chains::Chains;

/// What rules of this walk noted about an address in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sighting {
    pub list: Name,
    pub address: IpAddr,
    /// How many times it was seen; 0 if it was removed.
    pub times: u32,
}

impl Run<'_> {
    /// `-m recent`. What a walk notes is as old as the packet itself, so no time has passed.
    pub(super) fn recent(&self, test: &Recent, branch: &mut Branch) -> bool {
        let address = masked(test, branch);
        let times = branch.times_seen(test.name, address);
        let action = test.action.value;
        let enough = times > 0 && test.hit_count.unwrap_or(0) <= times;
        let plain = match action {
            RecentAction::Set => true,
            RecentAction::Remove => times > 0,
            RecentAction::Check | RecentAction::Update => enough,
        };
        let holds = plain != test.action.negated;
        match action {
            RecentAction::Set => self.see(test.name, address, times.saturating_add(1), branch),
            RecentAction::Update if holds && times > 0 => {
                self.see(test.name, address, times.saturating_add(1), branch);
            }
            RecentAction::Remove if times > 0 => branch.sighted(test.name, address, 0),
            _ => {}
        }
        holds
    }

    fn see(&self, list: Name, address: IpAddr, times: u32, branch: &mut Branch) {
        self.note(branch, || Deed::Remembers(list));
        branch.sighted(list, address, times);
    }
}

impl Branch {
    fn times_seen(&self, list: Name, address: IpAddr) -> u32 {
        let mut newest = self.sightings.iter().rev();
        let found = newest.find(|sighting| (sighting.list, sighting.address) == (list, address));
        found.map_or(0, |sighting| sighting.times)
    }

    fn sighted(&mut self, list: Name, address: IpAddr, times: u32) {
        self.sightings.push(Sighting { list, address, times });
    }
}

/// Returns the address that is noted: that of the packet, cut by the mask.
fn masked(test: &Recent, branch: &Branch) -> IpAddr {
    let address = match test.side {
        Side::Source => branch.packet.source,
        Side::Destination => branch.packet.destination,
    };
    match test.mask.and_then(|mask| Network::new(address, mask)) {
        Some(Network::Prefix(net)) => net.addr(),
        Some(Network::Masked(masked)) => masked.0,
        None => address,
    }
}
