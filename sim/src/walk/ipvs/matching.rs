//! What `-m ipvs` of iptables asks (`net/netfilter/xt_ipvs.c`).

use kps_ruleset::Protocol;
use kps_ruleset::iptables::{CtDirection, Ipvs, IpvsMethod};

use super::Scheduled;
use crate::conntrack::{CtState, Side};
use crate::packet::Packet;

impl Scheduled {
    /// Tells whether `-m ipvs` holds for a packet; `None` if the model cannot tell. `scheduled` is
    /// what IPVS knows of the packet's connection, `state` what conntrack says.
    ///
    /// Every test but `--ipvs` alone fails for a packet that IPVS has not handled, and for an answer:
    /// the connection is looked up with the packet's ends exchanged (`ip_vs_fill_iph_skb` with
    /// `inverse`), so that only what goes from the client to the real server finds it.
    #[must_use]
    pub fn meets(
        test: &Ipvs,
        packet: &Packet,
        scheduled: Option<&Scheduled>,
        state: Option<CtState>,
    ) -> Option<bool> {
        let alone = Ipvs { is_ipvs: test.is_ipvs, ..Ipvs::default() };
        if *test == alone {
            return Some(packet.served == test.is_ipvs.unwrap_or(true));
        }
        let is_found = |it: &&Scheduled| packet.served && it.is_on_its_way(packet);
        let Some(scheduled) = scheduled.filter(is_found) else { return Some(false) };
        let rest = scheduled.is_server_of(test, packet) && goes(test.direction, state);
        if rest && test.control_port.is_some() { None } else { Some(rest) }
    }

    /// Tells whether a packet goes from the client to the real server.
    fn is_on_its_way(&self, packet: &Packet) -> bool {
        packet.endpoint(Side::Source) == self.client
            && packet.endpoint(Side::Destination) == self.server
    }

    fn is_server_of(&self, test: &Ipvs, packet: &Packet) -> bool {
        let protocol = Protocol(packet.protocol.number());
        test.protocol.is_none_or(|test| test.holds(|wanted| *wanted == protocol))
            && test
                .address
                .as_ref()
                .is_none_or(|test| test.holds(|network| network.contains(self.address.address)))
            && test.port.is_none_or(|test| test.holds(|port| Some(*port) == self.address.port))
            && test.method.is_none_or(|test| test.holds(|method| *method == IpvsMethod::Masq))
    }
}

/// Tells whether a packet goes in a direction of its connection; it needs to have one.
fn goes(direction: Option<CtDirection>, state: Option<CtState>) -> bool {
    let Some(direction) = direction else { return true };
    let answers = state == Some(CtState::Reply);
    state.is_some_and(CtState::is_tracked) && answers == (direction == CtDirection::Reply)
}
