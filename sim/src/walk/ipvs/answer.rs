//! Gives an answer of a real server the virtual address back (`handle_response` of
//! `net/netfilter/ipvs/ip_vs_core.c`).

use crate::conntrack::Side;
use crate::trace::Deed;
use crate::walk::branch::Branch;

/// Makes the virtual server the source of an answer to a connection that IPVS sent on.
pub(super) fn give_back(branch: &mut Branch) {
    let Some(scheduled) = branch.scheduled else { return };
    let packet = &mut branch.packet;
    let answers = packet.endpoint(Side::Source) == scheduled.server
        && packet.endpoint(Side::Destination) == scheduled.client;
    if !answers {
        return;
    }
    packet.replace(Side::Source, scheduled.address);
    packet.served = true;
    let to = scheduled.address;
    branch.note_service(scheduled.service, Some(scheduled.number), || Deed::TranslatesSource {
        to,
        masquerade: false,
    });
}
