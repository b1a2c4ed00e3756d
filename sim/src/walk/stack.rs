//! The packet's way through the kernel: hooks and routing in between.
//!
//! ```text
//! from a wire:    ingress, prerouting, route ─ to this host ─ input
//!                                            └ onward ─ forward, postrouting
//! from a process: route, output ─ onward ─ postrouting
//!                               └ to this host ─ postrouting, lo, prerouting, input
//! by IPVS:        input or output, output from its start, postrouting
//! ```

use std::net::IpAddr;

use kps_flow::{Delivery, Outcome, SourceNat};
use kps_ruleset::nftables::Hook;

use super::ask::LOOPBACK_V6;
use super::branch::{Branch, Interrupt};
use super::chains::Chains;
use super::hooks::{Base, Function, Work};
use super::ipvs::After;
use super::options::Options;
use super::routing::refused;
use super::{Walker, iptables, nftables};
use crate::conntrack::{Binding, Connection, Side};
use crate::host::Network;
use crate::trace::{Deed, Language, Way};

/// Where a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It came in by an interface.
    Arrives,
    /// A process sends it.
    Starts,
    /// It is in the functions of a hook.
    At(Hook),
    /// It was let through prerouting and is to be routed.
    Routes,
}

impl Walker<'_> {
    /// Moves a branch on until it ends or asks.
    pub(super) fn advance(&self, branch: &mut Branch, options: Options) -> Interrupt {
        loop {
            let done = match branch.stage {
                Stage::Arrives => self.arrive(branch),
                Stage::Starts => self.start(branch),
                Stage::At(hook) => self.hook(hook, branch, options),
                Stage::Routes => self.route_onward(branch),
            };
            match done {
                Ok(()) => branch.finish_unit(),
                Err(interrupt) => return interrupt,
            }
        }
    }

    fn arrive(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        branch.asks_address(branch.packet.source, LOOPBACK_V6);
        branch.asks_address(branch.packet.destination, LOOPBACK_V6);
        if let Some(martian) = self.network.refuses_on_arrival(&branch.packet) {
            return Err(refused(branch, martian.to_string()));
        }
        branch.opening = branch.packet;
        branch.reach(Hook::Ingress);
        Ok(())
    }

    fn start(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        self.route_out(branch)?;
        branch.opening = branch.packet;
        branch.reach(Hook::Output);
        Ok(())
    }

    /// Runs what is left of a hook's functions, then leaves it.
    fn hook(&self, hook: Hook, branch: &mut Branch, options: Options) -> Result<(), Interrupt> {
        let functions = self.hooks.at(branch.packet.family(), hook);
        while let Some(function) = functions.get(branch.function) {
            if sees_device(function, hook, branch) {
                let after = self.function(function, hook, branch, options)?;
                branch.finish_unit();
                if after == After::Leaves {
                    return Ok(());
                }
            }
            branch.function += 1;
        }
        self.leave(hook, branch)
    }

    fn function(
        &self,
        function: &Function,
        hook: Hook,
        branch: &mut Branch,
        options: Options,
    ) -> Result<After, Interrupt> {
        match function.work {
            Work::Track => track(branch, options),
            Work::Chain(base) => self.base_chain(base, hook, branch, options)?,
            Work::Nat(base, side) => {
                if branch.asks_for_translation(side) {
                    self.base_chain(base, hook, branch, options)?;
                }
            }
            Work::Rewrite(side) => rewrite(branch, side),
            Work::Reroute => self.reroute(branch)?,
            Work::RerouteTranslated => {
                let side = Side::Destination;
                branch.asks_whether_kept(side, branch.routed.endpoint(side));
                if branch.packet.destination != branch.routed.destination {
                    self.reroute(branch)?;
                }
            }
            Work::Ipvs(duty) => return self.ipvs(duty, branch, options),
        }
        Ok(After::Stays)
    }

    fn base_chain(
        &self,
        (language, chain): Base,
        hook: Hook,
        branch: &mut Branch,
        options: Options,
    ) -> Result<(), Interrupt> {
        let network = &self.network;
        let nftables =
            nftables::Run { program: &self.nftables, network, hook, fresh: options.fresh };
        let iptables = iptables::Run { program: &self.iptables, network, hook };
        let of_iptables = language == Language::Iptables;
        let reroutes =
            if of_iptables { iptables.reroutes(chain) } else { nftables.reroutes(chain) };
        if reroutes && branch.frames.is_empty() {
            branch.routed.mark = branch.packet.mark;
        }
        if of_iptables {
            iptables.base_chain(chain, branch)
        } else {
            nftables.base_chain(chain, branch)
        }
    }

    /// Goes where a packet goes that all functions of a hook let through.
    fn leave(&self, hook: Hook, branch: &mut Branch) -> Result<(), Interrupt> {
        match hook {
            Hook::Ingress => branch.reach(Hook::Prerouting),
            Hook::Prerouting => branch.stage = Stage::Routes,
            Hook::Forward | Hook::Output => branch.reach(Hook::Postrouting),
            Hook::Postrouting => match branch.way {
                Some(Way::Local) => loop_back(branch),
                _ => branch.reach(Hook::Egress),
            },
            Hook::Input | Hook::Egress => {
                return Err(Interrupt::End(outcome(branch, &self.network)));
            }
        }
        Ok(())
    }
}

impl Branch {
    /// Goes to the first function of a hook.
    pub(super) fn reach(&mut self, hook: Hook) {
        self.stage = Stage::At(hook);
        self.function = 0;
        let packet = self.packet;
        if !matches!(hook, Hook::Ingress | Hook::Egress) {
            self.note_kernel(|| Deed::Reaches(hook, Box::new(packet)));
        }
    }

    /// Rules are asked by the first packet of a connection, once for each side. A related ICMP
    /// error is translated with the connection that it is about.
    fn asks_for_translation(&self, side: Side) -> bool {
        use crate::conntrack::CtState::{New, Related};
        let opens = match self.state {
            Some(New) => true,
            Some(Related) => self.packet.protocol.has_ports(),
            _ => false,
        };
        let open = |c: &Connection| c.binding(side) == Binding::Open;
        opens && (!self.frames.is_empty() || self.connection.as_ref().is_some_and(open))
    }
}

/// `nf_conntrack_in` of `net/netfilter/nf_conntrack_core.c`. A packet that came over lo was seen before.
fn track(branch: &mut Branch, options: Options) {
    if branch.state.is_some() {
        return;
    }
    branch.state = Some(options.state);
    if options.state.is_tracked() && branch.connection.is_none() {
        branch.connection = Some(Connection::opened_by(&branch.packet));
    }
}

fn rewrite(branch: &mut Branch, side: Side) {
    let (Some(connection), Some(state)) = (&mut branch.connection, branch.state) else { return };
    if !state.is_tracked() {
        return;
    }
    connection.settle(side);
    connection.rewrite(&mut branch.packet, side, state);
}

/// The packet comes in again over lo, with its connection. No process owns it any more.
fn loop_back(branch: &mut Branch) {
    confirm(branch);
    branch.packet.input = branch.packet.output.take();
    branch.packet.owned = false;
    branch.reach(Hook::Prerouting);
}

fn confirm(branch: &mut Branch) {
    if let Some(connection) = &mut branch.connection {
        connection.confirmed = true;
    }
}

fn sees_device(function: &Function, hook: Hook, branch: &Branch) -> bool {
    let device = match hook {
        Hook::Ingress => branch.packet.input,
        Hook::Egress => branch.packet.output,
        _ => return true,
    };
    device.is_some_and(|device| function.devices.contains(&device))
}

/// What became of a packet that got through.
fn outcome(branch: &mut Branch, network: &Network) -> Outcome {
    confirm(branch);
    let (opening, packet) = (&branch.opening, &branch.packet);
    for side in [Side::Source, Side::Destination] {
        branch.asks_whether_kept(side, opening.endpoint(side));
    }
    let source = if opening.endpoint(Side::Source) == packet.endpoint(Side::Source) {
        SourceNat::Kept
    } else {
        let sure = packet.output.is_none_or(|link| network.is_sure_source(packet.source, link));
        SourceNat::Rewritten(sure.then_some(packet.source))
    };
    if opening.endpoint(Side::Destination) != packet.endpoint(Side::Destination) {
        return deliver(packet.destination, packet.destination_port, source);
    }
    match branch.stage {
        Stage::At(Hook::Input) => Outcome::Local,
        _ => Outcome::Pass(source),
    }
}

fn deliver(address: IpAddr, port: Option<u16>, source: SourceNat) -> Outcome {
    match port {
        Some(port) => Outcome::Deliver(Delivery { endpoint: (address, port).into(), source }),
        None => Outcome::Unknown(format!("sent to {address}, to a port drawn at random")),
    }
}
