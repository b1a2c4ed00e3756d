//! What translations of both rule languages have in common: which address the kernel chooses where
//! the rule names none, and how the decision is noted in the connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kps_flow::{Family, Outcome};
use kps_ruleset::nftables::Hook;

use super::branch::{Branch, Interrupt};
use super::chains::unknown;
use crate::conntrack::{Endpoint, Side};
use crate::host::Network;
use crate::trace::{Deed, Place, Way};

/// Returns the source that masquerading gives a packet (`net/netfilter/nf_nat_masquerade.c`).
pub(crate) fn masquerade(network: &Network, branch: &Branch) -> Option<IpAddr> {
    let packet = &branch.packet;
    branch.asks_choice(network, packet.destination, packet.output);
    let gateway = branch.way.and_then(Way::gateway);
    network.masquerade(packet.destination, packet.output?, gateway)
}

/// Returns the destination that redirecting gives a packet (`net/netfilter/nf_nat_redirect.c`): the
/// loopback address for a process of this host, else an address of the incoming interface.
pub(crate) fn redirect(network: &Network, hook: Hook, branch: &Branch) -> Option<IpAddr> {
    let v6 = branch.packet.family() == Family::V6;
    branch.asks_input();
    match (hook, v6) {
        (Hook::Output, false) => Some(Ipv4Addr::LOCALHOST.into()),
        (Hook::Output, true) => Some(Ipv6Addr::LOCALHOST.into()),
        _ => network.first_address(branch.packet.input?, v6),
    }
}

/// A decision on one side of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision {
    pub side: Side,
    /// `None` if the kernel found no address.
    pub to: Option<Endpoint>,
    /// Whether the kernel chose the source.
    pub masquerade: bool,
}

impl Decision {
    /// Notes the decision in the packet's connection. The packet is rewritten when all `nat` chains
    /// of the hook are done.
    pub(crate) fn take(
        self,
        branch: &mut Branch,
        place: impl FnOnce() -> Place,
    ) -> Result<(), Interrupt> {
        let Decision { side, to, masquerade } = self;
        let Some(to) = to else {
            branch.note_kernel(|| Deed::Refuses("there is no address to translate to".to_owned()));
            return Err(Interrupt::End(Outcome::Drop));
        };
        branch.note(place, || match side {
            Side::Destination => Deed::TranslatesDestination(to),
            Side::Source => Deed::TranslatesSource { to, masquerade },
        });
        let Some(connection) = &mut branch.connection else {
            return Err(unknown("a translation outside of a nat chain"));
        };
        connection.bind(side, to);
        Ok(())
    }
}
