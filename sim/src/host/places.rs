//! Where the answers of the host change from one address to the next.
//!
//! The lines are for classes of addresses ([`crate::classes`]): two addresses with the same label get
//! the same answers from everything in [`crate::host`].

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::host::RouteKind;

use super::Network;
use super::route::LOCAL;
use crate::classes::line::{Line, Span};
use crate::classes::region::{address, number};

/// What the kernel knows of an address by its number alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Nature {
    Ordinary,
    Loopback,
    Multicast,
    /// 255.255.255.255.
    Broadcast,
    /// `0.0.0.0/8`, or `::`.
    Unspecified,
    /// `fe80::/10`.
    LinkLocal,
}

/// A route without its preferred source.
type Way = Option<(RouteKind, Option<Name>, Option<IpAddr>)>;

impl Network {
    /// Tells sources apart by whether they are refused from a link.
    pub(crate) fn refusals(&self, family: Family, link: Name) -> Line {
        Line::labelled(self.cuts(family), |number| {
            self.refuses_source(address(number, family), link).is_some()
        })
    }

    /// Tells sources apart by the policy rules that select them.
    pub(crate) fn selections(&self, family: Family) -> Line {
        Line::labelled(self.cuts(family), |number| self.selectors(address(number, family)))
    }

    /// Tells addresses apart by what type they are, and by policy rules.
    pub(crate) fn origins(&self, family: Family) -> Line {
        Line::labelled(self.cuts(family), |number| {
            let at = address(number, family);
            (nature(at), self.is_local(at), self.address_type(at, None), self.selectors(at))
        })
    }

    /// Tells addresses apart by their routes in all tables, by policy rules, and by who bears them.
    pub(crate) fn places(&self, family: Family) -> Line {
        Line::labelled(self.cuts(family), |number| self.place(address(number, family)))
    }

    /// Tells destinations apart by the source that the host picks for them as well; `None` if it has
    /// too many addresses to pick from.
    pub(crate) fn choices(&self, family: Family, link: Option<Name>) -> Option<Line> {
        let rivals = self.rivals(family, link)?;
        let spans = self.cuts(family).into_iter().chain(rivals);
        Some(Line::labelled(spans, |number| {
            let at = address(number, family);
            (self.place(at), self.preferred(at), self.picked(at, link))
        }))
    }

    fn place(&self, at: IpAddr) -> (Nature, Vec<Way>, Option<Name>, Vec<bool>) {
        let ways = self.tables_in_use().map(|table| {
            let route = self.tables.longest(table, at)?;
            Some((route.kind, route.link, route.gateway))
        });
        (nature(at), ways.collect(), self.owner(at), self.selectors(at))
    }

    fn preferred(&self, at: IpAddr) -> Vec<Option<IpAddr>> {
        let source = |table| self.tables.longest(table, at).and_then(|route| route.source);
        self.tables_in_use().map(source).collect()
    }

    fn picked(&self, at: IpAddr, link: Option<Name>) -> (Option<IpAddr>, Option<IpAddr>) {
        match at {
            IpAddr::V4(_) => (link.and_then(|link| self.masquerade(at, link, None)), None),
            IpAddr::V6(_) => {
                let masked = link.and_then(|link| self.masquerade(at, link, None));
                (masked, self.picked_v6(at, link))
            }
        }
    }

    fn tables_in_use(&self) -> impl Iterator<Item = u32> + '_ {
        [LOCAL].into_iter().chain(self.rules.iter().map(|rule| rule.table))
    }

    fn selectors(&self, at: IpAddr) -> Vec<bool> {
        let networks = self.rules.iter().flat_map(|rule| [&rule.from, &rule.to]);
        networks.flatten().map(|network| network.contains(&at)).collect()
    }

    /// Returns the networks at whose ends answers may change.
    fn cuts(&self, family: Family) -> Vec<Span> {
        let routes = self.tables.all().iter().map(|route| route.destination);
        let own = self.addresses.all().iter().map(|own| IpNet::from(own.network.addr()));
        let selectors = self.rules.iter().flat_map(|rule| [rule.from, rule.to]).flatten();
        let special = SPECIAL.iter().filter_map(|text| text.parse().ok());
        let networks = routes.chain(own).chain(selectors).chain(special);
        networks.filter(|network| Family::of(network.addr()) == family).map(span).collect()
    }

    /// Returns the networks at whose ends the choice of a source may change.
    fn rivals(&self, family: Family, link: Option<Name>) -> Option<Vec<Span>> {
        let of_family = |network: &IpNet| Family::of(network.addr()) == family;
        if family == Family::V4 {
            let networks = self.addresses.all().iter().map(|own| own.network.trunc());
            return Some(networks.filter(of_family).map(span).collect());
        }
        let is_wide = |at: IpAddr| nature(at) == Nature::Ordinary;
        let own = |on_link: bool| {
            let all =
                self.addresses.all().iter().filter(move |own| !on_link || Some(own.link) == link);
            all.map(|own| own.network).filter(of_family)
        };
        // An address of the link beats those of others, if it is wide enough.
        let on_link = own(true).any(|network| is_wide(network.addr()));
        let mut spans: Vec<Span> = Vec::new();
        for network in own(on_link) {
            let lengths = 0..=network.prefix_len();
            spans.extend(lengths.filter_map(|l| IpNet::new(network.addr(), l).ok()).map(span));
            if spans.len() > MOST_CUTS {
                return None;
            }
        }
        let scopes = (0..=255_u16)
            .map(|low| IpNet::new(Ipv6Addr::new(0xff00 | low, 0, 0, 0, 0, 0, 0, 0).into(), 16));
        spans.extend(scopes.filter_map(Result::ok).map(span));
        Some(spans)
    }
}

/// More ends of networks than this are not looked at.
const MOST_CUTS: usize = 1 << 14;

/// Networks that the kernel or RFC 6724 treats apart.
const SPECIAL: [&str; 14] = [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "::/96",
    "::ffff:0:0/96",
    "2001::/32",
    "2001:10::/28",
    "2002::/16",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
];

fn nature(at: IpAddr) -> Nature {
    match at {
        _ if at.is_loopback() => Nature::Loopback,
        _ if at.is_multicast() => Nature::Multicast,
        IpAddr::V4(v4) if v4.is_broadcast() => Nature::Broadcast,
        IpAddr::V4(v4) if v4.octets()[0] == 0 => Nature::Unspecified,
        IpAddr::V6(v6) if v6.is_unspecified() => Nature::Unspecified,
        IpAddr::V6(v6) if v6.is_unicast_link_local() => Nature::LinkLocal,
        _ => Nature::Ordinary,
    }
}

/// Returns the addresses of a network as a span.
pub(crate) fn span(network: IpNet) -> Span {
    (number(network.network()), number(network.broadcast()))
}

#[cfg(test)]
mod tests {
    use kps_ruleset::host::{Address, Host, Scope};

    use super::*;

    fn network() -> Network {
        let address = |link: &str, network: &str| Address {
            link: Name::new(link),
            network: network.parse().unwrap(),
            scope: Scope::Global,
        };
        let addresses = vec![address("eth0", "192.0.2.10/24"), address("dummy", "10.96.0.1/32")];
        Network::new(&Host { addresses, ..Host::default() })
    }

    #[test]
    fn own_addresses_are_one_origin_and_other_places() {
        let (network, at) = (network(), |text: &str| number(text.parse().unwrap()));
        let origins = network.origins(Family::V4);
        assert_eq!(origins.label(at("192.0.2.10")), origins.label(at("10.96.0.1")));
        assert_ne!(origins.label(at("192.0.2.10")), origins.label(at("192.0.2.11")));
        let places = network.places(Family::V4);
        assert_ne!(places.label(at("192.0.2.10")), places.label(at("10.96.0.1")));
        assert_eq!(places.label(at("198.51.100.1")), places.label(at("203.0.113.1")));
        assert_ne!(places.label(at("192.0.2.77")), places.label(at("203.0.113.1")));
    }
}
