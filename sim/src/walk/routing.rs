//! Routing within a walk: what the routes of [`crate::host`] make of a packet.

use std::sync::LazyLock;

use kps_flow::{Family, Outcome, RejectKind};
use kps_ruleset::Name;
use kps_ruleset::host::{Route, RouteKind};
use kps_ruleset::nftables::Hook;

use super::Walker;
use super::branch::{Branch, Interrupt};
use crate::conntrack::Side;
use crate::host::LOOPBACK;
use crate::host::route::Query;
use crate::trace::{Deed, Way};

static LO: LazyLock<Name> = LazyLock::new(|| Name::new(LOOPBACK));

impl Walker<'_> {
    /// Routes a packet from outside. One that came over lo keeps the route that it was sent by.
    pub(super) fn route_onward(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        let Some(input) = branch.packet.input.filter(|link| link.as_str() != LOOPBACK) else {
            branch.reach(Hook::Input);
            return Ok(());
        };
        branch.asks_place(&self.network, branch.packet.destination);
        branch.asks_refusal(&self.network, branch.packet.source, input);
        branch.asks_way_back(&self.network, branch.packet.source, input);
        if let Some(martian) = self.network.refuses_to_route(&branch.packet, input) {
            return Err(refused(branch, martian.to_string()));
        }
        let route = self.look_up(branch)?;
        let forwards = self.network.sysctls().forwards(branch.packet.family(), input);
        let way = way_in(route, forwards, branch)?;
        branch.go(way);
        match way {
            Way::Local => branch.reach(Hook::Input),
            Way::Out { .. } => branch.reach(Hook::Forward),
        }
        Ok(())
    }

    /// Routes a packet of this host, and picks its source if it has none.
    pub(super) fn route_out(&self, branch: &mut Branch) -> Result<(), Interrupt> {
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
            branch.asks_choice(&self.network, branch.packet.destination, route.link);
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

    /// `ip_route_me_harder` of `net/ipv4/netfilter.c`.
    pub(super) fn reroute(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        let (now, then) = (&branch.packet, &branch.routed);
        for side in [Side::Source, Side::Destination] {
            branch.asks_whether_kept(side, then.endpoint(side));
        }
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
        self.look_up_for(&query, branch)
    }

    /// Looks up a route, and asks about policy rules that the model cannot decide.
    pub(super) fn look_up_for(
        &self,
        query: &Query,
        branch: &mut Branch,
    ) -> Result<Option<&Route>, Interrupt> {
        branch.asks_place(&self.network, query.destination);
        branch.asks_selectors(&self.network, query.source);
        self.network.route(query, |rule| {
            branch.suppose(Name::from(format!("policy rule {} selects the packet", rule.priority)))
        })
    }
}

impl Branch {
    /// Settles where the packet goes.
    pub(super) fn go(&mut self, way: Way) {
        self.way = Some(way);
        self.packet.output = match way {
            Way::Out { link, .. } => Some(link),
            Way::Local => self.packet.input.is_none().then_some(*LO),
        };
        self.routed = self.packet;
        self.note_kernel(|| Deed::Routed(way));
    }
}

/// What a route means for a packet from outside (`ip_error` of `net/ipv4/route.c`, `ip6_pkt_drop`
/// of `net/ipv6/route.c`).
fn way_in(route: Option<&Route>, forwards: bool, branch: &mut Branch) -> Result<Way, Interrupt> {
    let kind = route.map(|route| route.kind);
    match (kind, route.and_then(|route| route.link)) {
        (Some(kind), _) if delivers_here(kind) => return Ok(Way::Local),
        (Some(RouteKind::Blackhole), _) => return Err(refused(branch, "the route is a blackhole")),
        _ if !forwards => return Err(refused(branch, "forwarding is off")),
        (Some(RouteKind::Unicast), Some(link)) => {
            return Ok(Way::Out { link, gateway: route.and_then(|route| route.gateway) });
        }
        _ => {}
    }
    let reject = unroutable(kind, branch.packet.family());
    branch.note_kernel(|| Deed::Rejects(reject));
    Err(Interrupt::End(Outcome::Reject(reject)))
}

/// Ends a walk because the kernel refuses the packet.
pub(super) fn refused(branch: &mut Branch, why: impl Into<String>) -> Interrupt {
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
