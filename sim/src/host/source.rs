//! Which of its addresses the host puts into a packet as source.

use std::net::{IpAddr, Ipv6Addr};

use kps_ruleset::Name;
use kps_ruleset::host::{Address, Route, RouteKind, Scope};

use super::Network;

impl Network {
    /// Returns the source that the kernel picks for a process' packet to `destination` by `route`:
    /// the route's preferred source, else for IPv4 an address of the outgoing link
    /// (`fib_result_prefsrc`), for IPv6 the best by RFC 6724.
    #[must_use]
    pub fn source_for(&self, destination: IpAddr, route: &Route) -> Option<IpAddr> {
        let IpAddr::V6(v6) = destination else {
            let local = (route.kind == RouteKind::Local).then_some(destination);
            return route.source.or(local).or_else(|| {
                let scope = if route.gateway.is_some() { Scope::Global } else { Scope::Link };
                self.address_of(route.link?, route.gateway, scope)
            });
        };
        match route.source {
            Some(source) if route.kind != RouteKind::Local => Some(source),
            _ => self.best_v6(v6, route.link).map(IpAddr::V6),
        }
    }

    /// Returns the address that masquerading puts in for a packet to `destination` that leaves by
    /// `link` through `gateway`: IPv4 by `inet_select_addr`, IPv6 by RFC 6724
    /// (`net/netfilter/nf_nat_masquerade.c`).
    #[must_use]
    pub fn masquerade(
        &self,
        destination: IpAddr,
        link: Name,
        gateway: Option<IpAddr>,
    ) -> Option<IpAddr> {
        match destination {
            IpAddr::V4(_) => {
                self.address_of(link, Some(gateway.unwrap_or(destination)), Scope::Global)
            }
            IpAddr::V6(v6) => self.best_v6(v6, Some(link)).map(IpAddr::V6),
        }
    }

    /// Tells whether the source that was put into a packet leaving by `link` is sure. An IPv6
    /// address of another link is not where several other links could lend one: the kernel's order
    /// among them, which decides between equals, stands in no dump.
    #[must_use]
    pub fn is_sure_source(&self, source: IpAddr, link: Name) -> bool {
        let is_own = || self.addresses.of_link(link).any(|a| a.network.addr() == source);
        if source.is_ipv4() || is_own() {
            return true;
        }
        let lent =
            |a: &&Address| a.network.addr().is_ipv6() && a.scope == Scope::Global && a.link != link;
        let mut lenders = self.addresses.all().iter().filter(lent).map(|a| a.link);
        let first = lenders.next();
        lenders.all(|other| Some(other) == first)
    }

    /// Returns the first address of a link, of the family asked for.
    #[must_use]
    pub fn first_address(&self, link: Name, v6: bool) -> Option<IpAddr> {
        let mut addresses = self.addresses.of_link(link).map(|a| a.network.addr());
        addresses.find(|address| address.is_ipv6() == v6)
    }

    /// `inet_select_addr` of `net/ipv4/devinet.c`: a primary address of the link whose network holds
    /// the next hop, else the first, else the first of any other link.
    fn address_of(&self, link: Name, next_hop: Option<IpAddr>, scope: Scope) -> Option<IpAddr> {
        let usable = |a: &&Address| {
            let wide = reach(a.scope) <= reach(scope);
            a.network.addr().is_ipv4() && wide && self.addresses.is_primary(a)
        };
        let mut own = self.addresses.of_link(link).filter(usable);
        let near = next_hop.and_then(|hop| own.clone().find(|a| a.network.contains(&hop)));
        let others = self.addresses.all().iter().filter(usable);
        let elsewhere = || others.clone().find(|a| a.scope != Scope::Link);
        near.or_else(|| own.next()).or_else(elsewhere).map(|a| a.network.addr())
    }

    /// Returns the source for an IPv6 destination by a link that no route names one for.
    pub(super) fn picked_v6(&self, destination: IpAddr, link: Option<Name>) -> Option<IpAddr> {
        let IpAddr::V6(v6) = destination else { return None };
        self.best_v6(v6, link).map(IpAddr::V6)
    }

    /// `ipv6_dev_get_saddr` of `net/ipv6/addrconf.c`, as far as addresses alone decide.
    fn best_v6(&self, destination: Ipv6Addr, link: Option<Name>) -> Option<Ipv6Addr> {
        let narrow = destination.is_unicast_link_local() || destination.is_multicast();
        let mut best: Option<(Ipv6Addr, [u32; 5])> = None;
        for address in self.addresses.all() {
            let IpAddr::V6(candidate) = address.network.addr() else { continue };
            let on_link = Some(address.link) == link;
            if narrow && !on_link {
                continue;
            }
            let score = score(candidate, address.network.prefix_len(), on_link, destination);
            if best.is_none_or(|(_, other)| score > other) {
                best = Some((candidate, score));
            }
        }
        best.map(|(address, _)| address)
    }
}

/// The kernel's number for a scope: the larger, the nearer.
fn reach(scope: Scope) -> u8 {
    match scope {
        Scope::Global => 0,
        Scope::Site => 200,
        Scope::Link => 253,
        Scope::Host => 254,
    }
}

/// The rules of RFC 6724 section 5 in order; the greater, the better.
fn score(candidate: Ipv6Addr, prefix: u8, on_link: bool, destination: Ipv6Addr) -> [u32; 5] {
    let (have, want) = (scope_v6(candidate), scope_v6(destination));
    // Rule 2: the smallest scope that is wide enough, else the widest.
    let scope = if have >= want { 256 - u32::from(have) } else { u32::from(have) };
    let common = (u128::from(candidate) ^ u128::from(destination)).leading_zeros();
    [
        u32::from(candidate == destination),
        scope,
        u32::from(on_link),
        u32::from(label(candidate) == label(destination)),
        common.min(u32::from(prefix)),
    ]
}

/// Scopes as RFC 4007 numbers them.
fn scope_v6(address: Ipv6Addr) -> u8 {
    if address.is_loopback() || address.is_unicast_link_local() {
        return 2;
    }
    if address.is_multicast() { address.octets()[1] & 0xf } else { 14 }
}

/// The default policy table of RFC 6724 as the kernel has it (`net/ipv6/addrlabel.c`).
fn label(address: Ipv6Addr) -> u8 {
    let bits = u128::from(address);
    let within =
        |network: Ipv6Addr, length: u32| (bits ^ u128::from(network)).leading_zeros() >= length;
    let table = [
        (Ipv6Addr::LOCALHOST, 128, 0),
        (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, 4),
        (Ipv6Addr::UNSPECIFIED, 96, 3),
        (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, 6),
        (Ipv6Addr::new(0x2001, 0x10, 0, 0, 0, 0, 0, 0), 28, 7),
        (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, 2),
        (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, 5),
    ];
    table.into_iter().find(|(network, length, _)| within(*network, *length)).map_or(1, |row| row.2)
}
