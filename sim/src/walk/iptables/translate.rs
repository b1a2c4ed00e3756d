//! Translating targets: `DNAT`, `SNAT`, `MASQUERADE`, `REDIRECT`, `NETMAP`
//! (`get_unique_tuple` of `net/netfilter/nf_nat_core.c`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use kps_ruleset::iptables::{Nat, NatPorts, PortRange};
use kps_ruleset::nftables::Hook;

use super::Run;
use super::ask::ports;
use crate::conntrack::{Endpoint, Side};
use crate::walk::branch::{Branch, Interrupt};
use crate::walk::chains::{Chains, unknown};
use crate::walk::translation::{Decision, masquerade, redirect};

/// A translating target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Dnat,
    Snat,
    Masquerade,
    Redirect,
}

impl Kind {
    fn side(self) -> Side {
        match self {
            Kind::Dnat | Kind::Redirect => Side::Destination,
            Kind::Snat | Kind::Masquerade => Side::Source,
        }
    }
}

impl Run<'_> {
    /// Decides one side of the connection and ends the chain.
    pub(super) fn translate(
        &self,
        kind: Kind,
        nat: &Nat,
        branch: &mut Branch,
    ) -> Result<(), Interrupt> {
        let side = kind.side();
        let own = branch.packet.endpoint(side);
        asks_ports(nat, own.port, branch);
        let address = match kind {
            Kind::Masquerade => masquerade(self.network, branch),
            Kind::Redirect => redirect(self.network, self.hook, branch),
            Kind::Dnat | Kind::Snat => Some(pick(nat, side, own, branch)?),
        };
        let to = address.map(|address| Endpoint { address, port: port(nat, side, own.port) });
        self.decide(Decision { side, to, masquerade: kind == Kind::Masquerade }, branch)
    }

    /// `NETMAP`: the bits of the network are exchanged, those of the host stay.
    pub(super) fn map_network(&self, network: IpNet, branch: &mut Branch) -> Result<(), Interrupt> {
        let side = match self.hook {
            Hook::Prerouting | Hook::Output => Side::Destination,
            _ => Side::Source,
        };
        let own = branch.packet.endpoint(side);
        branch.loses_address(own.address, || format!("NETMAP to {network}"));
        let to = moved(own.address, network).map(|address| Endpoint { address, ..own });
        self.decide(Decision { side, to, masquerade: false }, branch)
    }

    fn decide(&self, decision: Decision, branch: &mut Branch) -> Result<(), Interrupt> {
        let frame = branch.frame();
        decision.take(branch, || self.place(frame))?;
        self.accept(branch);
        Ok(())
    }
}

/// Returns the new address. Of several the kernel takes one by a hash of the addresses with a secret
/// (`find_best_ips_proto`): each is as likely as another. A source that is one of them already stays.
fn pick(nat: &Nat, side: Side, own: Endpoint, branch: &mut Branch) -> Result<IpAddr, Interrupt> {
    let Some((first, last)) = nat.addresses else { return Ok(own.address) };
    let (low, high) = (bits(first), bits(last));
    branch.asks_address(own.address, (low, high));
    let inside = (low..=high).contains(&bits(own.address)) && port(nat, side, own.port) == own.port;
    if side == Side::Source && inside {
        return Ok(own.address);
    }
    let count = high.saturating_sub(low).saturating_add(1);
    let count = u32::try_from(count).ok().filter(|count| *count <= MOST_ADDRESSES);
    let count = count.ok_or_else(|| unknown(format!("one of many addresses: {first}-{last}")))?;
    Ok(address(low + u128::from(branch.draw(count)?), first))
}

/// A choice among more addresses than this is not written out.
const MOST_ADDRESSES: u32 = 1 << 12;

/// A port that may stay does; one that is shifted is computed of it.
fn asks_ports(nat: &Nat, own: Option<u16>, branch: &Branch) {
    match nat.ports {
        Some(NatPorts { base: Some(_), .. }) => {
            branch.loses_port(own, || "a port is shifted".to_owned());
        }
        Some(NatPorts { range, base: None }) => branch.asks_port(own, ports(range)),
        None => {}
    }
}

/// Returns the new port; `None` if it is drawn at random. The packet's own stays if it may.
fn port(nat: &Nat, side: Side, own: Option<u16>) -> Option<u16> {
    let random = nat.random || nat.random_fully;
    match nat.ports {
        // The port of a destination changes only if ports are named.
        None if random && side == Side::Source => None,
        None => own,
        Some(NatPorts { range: PortRange { first, last }, .. }) if first == last => Some(first),
        Some(NatPorts { range, base: Some(base) }) => own.map(|own| shifted(range, base, own)),
        Some(NatPorts { range, base: None }) => own.filter(|own| !random && range.contains(*own)),
    }
}

/// Returns the port as far from the first as the packet's own is from the base.
fn shifted(range: PortRange, base: u16, own: u16) -> u16 {
    let size = u32::from(range.last.saturating_sub(range.first)) + 1;
    let offset = u32::from(own.wrapping_sub(base)) % size;
    range.first.saturating_add(u16::try_from(offset).unwrap_or(0))
}

fn moved(own: IpAddr, network: IpNet) -> Option<IpAddr> {
    let host = IpNet::new(own, network.prefix_len()).ok()?.hostmask();
    let mapped = bits(network.network()) | (bits(own) & bits(host));
    Some(address(mapped, own))
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => v6.into(),
    }
}

fn address(bits: u128, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from(u32::try_from(bits).unwrap_or(u32::MAX)).into(),
        IpAddr::V6(_) => Ipv6Addr::from(bits).into(),
    }
}
