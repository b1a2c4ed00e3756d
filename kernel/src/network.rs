//! Addresses and routes of a host, as `ip -batch` takes them.

use std::fmt::Write;

use ipnet::IpNet;
use kps_ruleset::host::{Host, Route, RouteKind};

use crate::setup::{Input, Link};

/// Routing table `main`.
const MAIN: u32 = 254;

/// Returns what sets links up and gives the host its addresses and routes of a family.
pub fn input(host: &Host, links: &[Link], v6: bool) -> Input {
    let mut text = String::from("link set lo up\n");
    for link in links.iter().filter(|link| link.up) {
        // INVARIANT: writing to a String cannot fail.
        let _ = writeln!(text, "link set {} up", link.name);
    }
    let of_family = |network: &IpNet| network.addr().is_ipv6() == v6;
    for address in host.addresses.iter().filter(|address| of_family(&address.network)) {
        if !address.network.addr().is_loopback() {
            let nodad = if v6 { " nodad" } else { "" };
            let _ = writeln!(text, "addr add {} dev {}{nodad}", address.network, address.link);
        }
    }
    for route in host.routes.iter().filter(|route| of_family(&route.destination)) {
        if route.table == MAIN && route.kind == RouteKind::Unicast {
            let _ = writeln!(text, "route replace {}", written(route));
        }
    }
    Input::new("ip", &[if v6 { "-6" } else { "-4" }, "-batch", "-"], text)
}

fn written(route: &Route) -> String {
    let mut text = route.destination.to_string();
    for (word, value) in [
        ("via", route.gateway.map(|gateway| gateway.to_string())),
        ("dev", route.link.map(|link| link.to_string())),
        ("src", route.source.map(|source| source.to_string())),
        ("metric", Some(route.metric).filter(|metric| *metric > 0).map(|m| m.to_string())),
    ] {
        if let Some(value) = value {
            // INVARIANT: writing to a String cannot fail.
            let _ = write!(text, " {word} {value}");
        }
    }
    text
}
