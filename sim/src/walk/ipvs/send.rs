//! Sends a packet to its real server (`ip_vs_nat_xmit` of `net/netfilter/ipvs/ip_vs_xmit.c`).

use kps_flow::{Family, Outcome, RejectKind};
use kps_ruleset::host::{Route, RouteKind};
use kps_ruleset::nftables::Hook;

use super::{After, Scheduled};
use crate::conntrack::{CtState, Side};
use crate::host::route::Query;
use crate::mark::Mark;
use crate::trace::{Deed, Way};
use crate::walk::Walker;
use crate::walk::ask::{LOOPBACK_V4, LOOPBACK_V6};
use crate::walk::branch::{Branch, Interrupt};
use crate::walk::routing::refused;

impl Walker<'_> {
    /// Routes a packet to the real server, makes that its destination and sends it through output.
    /// If the real server is this host, the packet goes on where it is.
    pub(super) fn send(
        &self,
        scheduled: Scheduled,
        branch: &mut Branch,
    ) -> Result<After, Interrupt> {
        branch.asks_address(branch.packet.source, LOOPBACK_V4);
        branch.asks_address(branch.packet.source, LOOPBACK_V6);
        let way = self.way_to(&scheduled, branch)?;
        if crosses(way, &scheduled, branch) {
            return Err(refused(branch, "the loopback address stays on this host"));
        }
        branch.packet.replace(Side::Destination, scheduled.server);
        branch.packet.served = true;
        branch.scheduled = Some(scheduled);
        self.tell_conntrack(&scheduled, branch);
        branch.routed = branch.packet;
        if way == Way::Local {
            return Ok(After::Stays);
        }
        branch.packet.input = None;
        branch.go(way);
        branch.reach(Hook::Output);
        Ok(After::Leaves)
    }

    /// `__ip_vs_get_out_rt`: neither the packet's source nor its mark count.
    fn way_to(&self, scheduled: &Scheduled, branch: &mut Branch) -> Result<Way, Interrupt> {
        let destination = scheduled.server.address;
        let query = Query { destination, source: None, mark: Mark::ZERO, input: None };
        match self.look_up_for(&query, branch)? {
            Some(Route { kind: RouteKind::Local, .. }) => Ok(Way::Local),
            Some(Route { kind: RouteKind::Unicast, link: Some(link), gateway, .. }) => {
                Ok(Way::Out { link: *link, gateway: *gateway })
            }
            _ => Err(unreachable(branch)),
        }
    }

    /// `ip_vs_update_conntrack`: the answer is expected from the real server, though no
    /// translation is noted. Without `vs.conntrack`, conntrack is told to leave the packet alone.
    fn tell_conntrack(&self, scheduled: &Scheduled, branch: &mut Branch) {
        if !self.network.sysctls().ipvs_keeps_conntrack() {
            branch.state = Some(CtState::Untracked);
            branch.connection = None;
            branch.note_kernel(|| Deed::Untracks);
        } else if let Some(connection) = &mut branch.connection {
            connection.server = Some(scheduled.server);
        }
    }
}

/// `crosses_local_route_boundary`: a loopback address does not leave the host, and a packet from
/// outside does not get to one.
fn crosses(way: Way, scheduled: &Scheduled, branch: &Branch) -> bool {
    match way {
        Way::Local => scheduled.server.address.is_loopback() && branch.packet.input.is_some(),
        Way::Out { .. } => branch.packet.source.is_loopback(),
    }
}

/// `dst_link_failure`: the client is told that the host is unreachable.
fn unreachable(branch: &mut Branch) -> Interrupt {
    let kind = match branch.packet.family() {
        Family::V4 => RejectKind::Icmp(1),
        Family::V6 => RejectKind::Icmpv6(3),
    };
    branch.note_kernel(|| Deed::Refuses("there is no route to the real server".to_owned()));
    branch.note_kernel(|| Deed::Rejects(kind));
    Interrupt::End(Outcome::Reject(kind))
}
