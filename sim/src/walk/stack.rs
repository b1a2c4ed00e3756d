//! The packet's way through the kernel: hooks and routing in between.
//!
//! ```text
//! from a wire:    ingress, prerouting, route ─ to this host ─ input
//!                                            └ onward ─ forward, postrouting
//! from a process: route, output ─ onward ─ postrouting
//!                               └ to this host ─ postrouting, lo, prerouting, input
//! ```

use std::net::IpAddr;

use kps_flow::{Delivery, Family, Outcome, RejectKind, SourceNat};
use kps_ruleset::Name;
use kps_ruleset::host::{Route, RouteKind};
use kps_ruleset::nftables::Hook;

use super::Walker;
use super::branch::{Branch, Interrupt};
use super::hooks::{Function, Work};
use super::nftables::Run;
use super::options::Options;
use crate::conntrack::{Binding, Connection, Side};
use crate::host::LOOPBACK;
use crate::host::route::Query;
use crate::trace::{Deed, Way};

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
    pub(super) fn advance(&self, branch: &mut Branch, options: &Options) -> Interrupt {
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
    fn hook(&self, hook: Hook, branch: &mut Branch, options: &Options) -> Result<(), Interrupt> {
        let functions = self.hooks.at(branch.packet.family(), hook);
        while let Some(function) = functions.get(branch.function) {
            if sees_device(function, hook, branch) {
                self.function(function, hook, branch, options)?;
                branch.finish_unit();
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
        options: &Options,
    ) -> Result<(), Interrupt> {
        let run =
            Run { program: &self.nftables, network: &self.network, hook, fresh: options.fresh };
        match function.work {
            Work::Track => track(branch, options),
            Work::Chain(chain) => {
                if run.reroutes(chain) && branch.frames.is_empty() {
                    branch.routed.mark = branch.packet.mark;
                }
                return run.base_chain(chain, branch);
            }
            Work::Nat(chain, side) => {
                if branch.asks_for_translation(side) {
                    return run.base_chain(chain, branch);
                }
            }
            Work::Rewrite(side) => rewrite(branch, side),
            Work::Reroute => return self.reroute(branch),
        }
        Ok(())
    }

    fn leave(&self, hook: Hook, branch: &mut Branch) -> Result<(), Interrupt> {
        match hook {
            Hook::Ingress => branch.reach(Hook::Prerouting),
            Hook::Prerouting => branch.stage = Stage::Routes,
            Hook::Forward | Hook::Output => branch.reach(Hook::Postrouting),
            Hook::Postrouting => match branch.way {
                Some(Way::Local) => loop_back(branch),
                _ => branch.reach(Hook::Egress),
            },
            Hook::Input | Hook::Egress => return Err(Interrupt::End(outcome(branch))),
        }
        Ok(())
    }

    /// Routes a packet from outside. One that came over lo keeps the route that it was sent by.
    fn route_onward(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        let Some(input) = branch.packet.input.filter(|link| link.as_str() != LOOPBACK) else {
            branch.reach(Hook::Input);
            return Ok(());
        };
        if let Some(martian) = self.network.refuses_to_route(&branch.packet, input) {
            return Err(refused(branch, martian.to_string()));
        }
        let route = self.look_up(branch)?;
        let way = self.way_in(route, input, branch)?;
        branch.go(way);
        match way {
            Way::Local => branch.reach(Hook::Input),
            Way::Out { .. } => branch.reach(Hook::Forward),
        }
        Ok(())
    }

    /// What a route means for a packet from outside (net/ipv4/route.c:`ip_error`,
    /// net/ipv6/route.c:`ip6_pkt_drop`).
    fn way_in(
        &self,
        route: Option<&Route>,
        input: Name,
        branch: &mut Branch,
    ) -> Result<Way, Interrupt> {
        let family = branch.packet.family();
        let kind = route.map(|route| route.kind);
        match (kind, route.and_then(|route| route.link)) {
            (Some(k), _) if delivers_here(k) => return Ok(Way::Local),
            (Some(RouteKind::Blackhole), _) => {
                return Err(refused(branch, "the route is a blackhole"));
            }
            _ if !self.network.sysctls().forwards(family, input) => {
                return Err(refused(branch, "forwarding is off"));
            }
            (Some(RouteKind::Unicast), Some(link)) => {
                return Ok(Way::Out { link, gateway: route.and_then(|route| route.gateway) });
            }
            _ => {}
        }
        let reject = unroutable(kind, family);
        branch.note_kernel(|| Deed::Rejects(reject));
        Err(Interrupt::End(Outcome::Reject(reject)))
    }

    /// Routes a packet of this host, and picks its source if it has none.
    fn route_out(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        let Some(route) = self.look_up(branch)? else {
            return Err(refused(branch, "there is no route"));
        };
        let way = match (route.kind, route.link) {
            (kind, _) if delivers_here(kind) && kind != RouteKind::Broadcast => Way::Local,
            (RouteKind::Blackhole | RouteKind::Unreachable | RouteKind::Prohibit, _)
            | (_, None) => {
                return Err(refused(branch, format!("the route is {:?}", route.kind)));
            }
            (_, Some(link)) => Way::Out { link, gateway: route.gateway },
        };
        if branch.packet.source.is_unspecified() {
            let Some(source) = self.network.source_for(branch.packet.destination, route) else {
                return Err(refused(branch, "there is no source address"));
            };
            branch.packet.source = source;
        }
        branch.go(way);
        let (source, output) = (branch.packet.source, branch.packet.output);
        match output.and_then(|link| self.network.refuses_to_send(source, link)) {
            Some(martian) => Err(refused(branch, martian.to_string())),
            None => Ok(()),
        }
    }

    /// net/ipv4/netfilter.c:`ip_route_me_harder`.
    fn reroute(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        let (now, then) = (&branch.packet, &branch.routed);
        if (now.source, now.destination, now.mark) == (then.source, then.destination, then.mark) {
            return Ok(());
        }
        self.route_out(branch)
    }

    fn look_up(&self, branch: &mut Branch) -> Result<Option<&Route>, Interrupt> {
        let packet = branch.packet;
        let query = Query {
            destination: packet.destination,
            source: Some(packet.source).filter(|source| !source.is_unspecified()),
            mark: packet.mark,
            input: packet.input,
        };
        self.network.route(&query, |rule| {
            branch.suppose(Name::from(format!("policy rule {} selects the packet", rule.priority)))
        })
    }
}

impl Branch {
    fn reach(&mut self, hook: Hook) {
        self.stage = Stage::At(hook);
        self.function = 0;
        let packet = self.packet;
        if !matches!(hook, Hook::Ingress | Hook::Egress) {
            self.note_kernel(|| Deed::Reaches(hook, Box::new(packet)));
        }
    }

    fn go(&mut self, way: Way) {
        self.way = Some(way);
        self.packet.output = match way {
            Way::Out { link, .. } => Some(link),
            Way::Local => self.packet.input.is_none().then(|| Name::new(LOOPBACK)),
        };
        self.routed = self.packet;
        self.note_kernel(|| Deed::Routed(way));
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

/// net/netfilter/nf_conntrack_core.c:`nf_conntrack_in`. A packet that came over lo was seen before.
fn track(branch: &mut Branch, options: &Options) {
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

fn refused(branch: &mut Branch, why: impl Into<String>) -> Interrupt {
    let why = why.into();
    branch.note_kernel(|| Deed::Refuses(why));
    Interrupt::End(Outcome::Drop)
}

fn delivers_here(kind: RouteKind) -> bool {
    use RouteKind::{Anycast, Broadcast, Local, Multicast};
    matches!(kind, Local | Broadcast | Anycast | Multicast)
}

fn unroutable(kind: Option<RouteKind>, family: Family) -> RejectKind {
    match (family, kind) {
        (Family::V4, Some(RouteKind::Unreachable)) => RejectKind::Icmp(1),
        (Family::V4, Some(RouteKind::Prohibit)) => RejectKind::Icmp(13),
        (Family::V4, _) => RejectKind::Icmp(0),
        (Family::V6, Some(RouteKind::Prohibit)) => RejectKind::Icmpv6(1),
        (Family::V6, _) => RejectKind::Icmpv6(0),
    }
}

/// What became of a packet that got through.
fn outcome(branch: &mut Branch) -> Outcome {
    confirm(branch);
    let (opening, packet) = (&branch.opening, &branch.packet);
    let source = match opening.endpoint(Side::Source) == packet.endpoint(Side::Source) {
        true => SourceNat::Kept,
        false => SourceNat::Rewritten(Some(packet.source)),
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
