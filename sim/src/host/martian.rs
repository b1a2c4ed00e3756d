//! Packets that the kernel refuses to route (`ip_route_input_slow` of
//! `net/ipv4/route.c`, `fib_validate_source` of `net/ipv4/fib_frontend.c`, `net/ipv6/ip6_input.c`).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use kps_ruleset::Name;
use kps_ruleset::host::{Route, RouteKind};

use super::Network;
use super::route::Query;
use crate::mark::Mark;
use crate::packet::Packet;

/// Why a packet is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Martian {
    /// Its source can be nobody's: broadcast, multicast, 0.0.0.0/8.
    Source,
    /// 127.0.0.0/8 or `::1` outside of the loopback interface.
    Loopback,
    /// It comes from outside with an address of this host.
    OwnSource,
    /// Answers would leave by another interface, and `rp_filter` forbids that.
    ReversePath,
}

impl Network {
    /// Tells why a packet that came in by `link` is refused before prerouting: IPv6 loopback
    /// addresses never come by a wire.
    #[must_use]
    pub fn refuses_on_arrival(&self, packet: &Packet) -> Option<Martian> {
        let loopback = packet.source.is_loopback() || packet.destination.is_loopback();
        (packet.source.is_ipv6() && loopback).then_some(Martian::Loopback)
    }

    /// Tells why an IPv4 packet that came in by `link` is refused when it is routed.
    #[must_use]
    pub fn refuses_to_route(&self, packet: &Packet, link: Name) -> Option<Martian> {
        let IpAddr::V4(source) = packet.source else { return None };
        if let Some(martian) = self.refuses_source(packet.source, link) {
            return Some(martian);
        }
        if packet.destination.is_loopback() && !self.sysctls.routes_localnet(link) {
            return Some(Martian::Loopback);
        }
        self.fails_reverse_path(source, link).then_some(Martian::ReversePath)
    }

    /// Tells why an IPv4 source is refused, wherever its packet goes.
    pub(super) fn refuses_source(&self, source: IpAddr, link: Name) -> Option<Martian> {
        let IpAddr::V4(v4) = source else { return None };
        if v4.is_multicast() || v4.is_broadcast() || v4.octets()[0] == 0 {
            return Some(Martian::Source);
        }
        if v4.is_loopback() && !self.sysctls.routes_localnet(link) {
            return Some(Martian::Loopback);
        }
        let own = self.is_local(source) && !self.sysctls.accepts_local_source(link);
        own.then_some(Martian::OwnSource)
    }

    /// Tells why an IPv4 packet of this host cannot leave by `link`
    /// (`__mkroute_output` of `net/ipv4/route.c`).
    #[must_use]
    pub fn refuses_to_send(&self, source: IpAddr, link: Name) -> Option<Martian> {
        let inside = link.as_str() == super::LOOPBACK;
        let loopback = source.is_ipv4() && source.is_loopback();
        (loopback && !inside && !self.sysctls.routes_localnet(link)).then_some(Martian::Loopback)
    }

    fn fails_reverse_path(&self, source: Ipv4Addr, link: Name) -> bool {
        let mode = self.sysctls.reverse_path_filter(link);
        if mode == 0 {
            return false;
        }
        let back =
            Query { destination: source.into(), source: None, mark: Mark::ZERO, input: Some(link) };
        let route: Result<Option<&Route>, std::convert::Infallible> =
            self.route(&back, |_| Ok(false));
        match route {
            Ok(Some(route)) if route.kind == RouteKind::Unicast => {
                mode == 1 && route.link != Some(link)
            }
            _ => true,
        }
    }
}

impl fmt::Display for Martian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Martian::Source => "nobody can have this source address",
            Martian::Loopback => "loopback addresses stay on lo (route_localnet is 0)",
            Martian::OwnSource => "it bears an address of this host but comes from outside",
            Martian::ReversePath => "answers would not go back the way it came (rp_filter)",
        })
    }
}
