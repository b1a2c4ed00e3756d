//! What kind of address an address is, as `fib … type` and `-m addrtype` ask.

use std::net::IpAddr;

use kps_ruleset::Name;
use kps_ruleset::host::{Route, RouteKind};
use kps_ruleset::nftables::AddressType;

use super::Network;
use super::route::{LOCAL, Query};
use crate::mark::Mark;

impl Network {
    /// Tells whether a packet to `address` is for this host.
    #[must_use]
    pub fn is_local(&self, address: IpAddr) -> bool {
        self.local_kind(address).is_some_and(|route| route.kind == RouteKind::Local)
    }

    /// Returns the interface that bears `address`.
    #[must_use]
    pub fn owner(&self, address: IpAddr) -> Option<Name> {
        self.addresses.owner(address)
    }

    /// Returns the type of an address, limited to one interface if `link` is given.
    ///
    /// IPv4 asks the local table only and says `unicast` for all else
    /// (`inet_dev_addr_type`, `net/ipv4/fib_frontend.c`); IPv6 asks all tables
    /// (`net/ipv6/netfilter/nft_fib_ipv6.c`).
    #[must_use]
    pub fn address_type(&self, address: IpAddr, link: Option<Name>) -> AddressType {
        match address {
            IpAddr::V4(v4) if v4.octets()[0] == 0 || v4.is_broadcast() => AddressType::Broadcast,
            IpAddr::V4(v4) if v4.is_multicast() => AddressType::Multicast,
            IpAddr::V4(_) => match self.local_kind(address) {
                Some(route) if link.is_none() || route.link == link => type_of(route.kind),
                _ => AddressType::Unicast,
            },
            IpAddr::V6(v6) if v6.is_multicast() => AddressType::Multicast,
            IpAddr::V6(_) => self.address_type_v6(address, link),
        }
    }

    fn address_type_v6(&self, address: IpAddr, link: Option<Name>) -> AddressType {
        let bears = |link| self.addresses.of_link(link).any(|a| a.network.addr() == address);
        if link.is_some_and(bears) {
            return AddressType::Local;
        }
        let query = Query { destination: address, source: None, mark: Mark::ZERO, input: None };
        let undecided: Result<_, std::convert::Infallible> = self.route(&query, |_| Ok(false));
        match undecided {
            Ok(Some(route)) if route.kind == RouteKind::Local && link.is_some() => {
                AddressType::Unicast
            }
            Ok(Some(route)) => type_of(route.kind),
            _ => AddressType::Unreachable,
        }
    }

    fn local_kind(&self, address: IpAddr) -> Option<&Route> {
        self.tables.longest(LOCAL, address)
    }
}

fn type_of(kind: RouteKind) -> AddressType {
    match kind {
        RouteKind::Unicast | RouteKind::Throw => AddressType::Unicast,
        RouteKind::Local => AddressType::Local,
        RouteKind::Broadcast => AddressType::Broadcast,
        RouteKind::Multicast => AddressType::Multicast,
        RouteKind::Anycast => AddressType::Anycast,
        RouteKind::Blackhole => AddressType::Blackhole,
        RouteKind::Unreachable => AddressType::Unreachable,
        RouteKind::Prohibit => AddressType::Prohibit,
    }
}
