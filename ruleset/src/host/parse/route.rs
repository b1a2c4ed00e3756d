//! `ip route show table all`, both families.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{each_line, table_number, word_after};
use crate::Parsed;
use crate::host::{Route, RouteKind};

/// Reads `ip route show table all` and `ip -6 route show table all`, one after the other or alone.
///
/// A route with several next hops becomes one route for each of them.
#[must_use]
pub fn parse_routes(text: &str) -> Parsed<Vec<Route>> {
    let mut head: Option<Route> = None;
    let mut parsed = each_line(text, |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"nexthop") {
            let head = head.as_ref().ok_or("a route before its next hops")?;
            return with_next_hop(head, &words).map(Some);
        }
        let route = route(&words)?;
        head = Some(route.clone());
        Ok(Some(route))
    });
    parsed.value = without_heads(parsed.value);
    parsed
}

/// The line above next hops has neither gateway nor link; it only carries what they share.
fn without_heads(routes: Vec<Route>) -> Vec<Route> {
    let sends = |route: &Route| route.link.is_some() || route.gateway.is_some();
    let is_head =
        |route: &Route, next: &Route| !sends(route) && sends(next) && same_target(route, next);
    let heads: Vec<bool> = routes
        .iter()
        .enumerate()
        .map(|(at, route)| routes.get(at + 1).is_some_and(|next| is_head(route, next)))
        .collect();
    routes.into_iter().zip(heads).filter(|(_, head)| !head).map(|(route, _)| route).collect()
}

fn same_target(a: &Route, b: &Route) -> bool {
    (a.table, a.kind, a.destination, a.metric) == (b.table, b.kind, b.destination, b.metric)
}

fn with_next_hop(head: &Route, words: &[&str]) -> Result<Route, &'static str> {
    Ok(Route {
        gateway: gateway(words)?,
        link: word_after(words, "dev").map(Into::into),
        ..head.clone()
    })
}

fn route(words: &[&str]) -> Result<Route, &'static str> {
    let (kind, words) = match words.split_first() {
        Some((word, rest)) if route_kind(word).is_some() => {
            (route_kind(word).unwrap_or(RouteKind::Unicast), rest)
        }
        _ => (RouteKind::Unicast, words),
    };
    let (target, words) = words.split_first().ok_or("a destination")?;
    let gateway = gateway(words)?;
    let table = word_after(words, "table").map_or(Some(254), table_number);
    let metric = word_after(words, "metric").map_or(Ok(0), str::parse);
    Ok(Route {
        table: table.ok_or("the number of a table")?,
        kind,
        destination: destination(target, gateway, words).ok_or("a destination")?,
        gateway,
        link: word_after(words, "dev").map(Into::into),
        source: word_after(words, "src").and_then(|source| source.parse().ok()),
        metric: metric.map_err(|_| "a metric")?,
    })
}

fn gateway(words: &[&str]) -> Result<Option<IpAddr>, &'static str> {
    match word_after(words, "via") {
        None => Ok(None),
        Some("inet" | "inet6") => {
            let family = words.iter().position(|word| *word == "via").unwrap_or_default();
            let address = words.get(family + 2).and_then(|address| address.parse().ok());
            address.map(Some).ok_or("a gateway")
        }
        Some(address) => address.parse().map(Some).map_err(|_| "a gateway"),
    }
}

/// Reads a prefix, an address, or `default`, whose family the rest of the line tells: only IPv6
/// routes have a preference (`pref medium`).
fn destination(target: &str, gateway: Option<IpAddr>, words: &[&str]) -> Option<IpNet> {
    if target == "default" {
        let by_gateway =
            gateway.is_some_and(|gateway| gateway.is_ipv6()) && !words.contains(&"inet6");
        let ipv6 = by_gateway || words.contains(&"pref") || word_after(words, "error").is_some();
        return Some(default_route(ipv6));
    }
    if let Ok(net) = target.parse::<IpNet>() {
        return Some(net.trunc());
    }
    target.parse::<IpAddr>().ok().map(IpNet::from)
}

fn default_route(ipv6: bool) -> IpNet {
    if ipv6 {
        Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0).into()
    } else {
        Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0).into()
    }
}

fn route_kind(word: &str) -> Option<RouteKind> {
    Some(match word {
        "unicast" => RouteKind::Unicast,
        "local" => RouteKind::Local,
        "broadcast" => RouteKind::Broadcast,
        "multicast" => RouteKind::Multicast,
        "anycast" => RouteKind::Anycast,
        "blackhole" => RouteKind::Blackhole,
        "unreachable" => RouteKind::Unreachable,
        "prohibit" => RouteKind::Prohibit,
        "throw" => RouteKind::Throw,
        _ => return None,
    })
}
