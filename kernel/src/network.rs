//! Addresses, routes and policy rules of a host, as `ip -batch` takes them: the same text serves a
//! kernel that we ask, and people who read it.

use std::fmt::{self, Write};

use ipnet::IpNet;
use kps_ruleset::host::{Address, Host, PolicyRule, Route, RouteKind};

use crate::setup::{Input, Link};

/// Routing table `main`.
const MAIN: u32 = 254;
/// Routing table `local`, which the kernel keeps by itself.
const LOCAL: u32 = 255;
/// The policy rules that every namespace has, by priority and table.
const OWN_RULES: [(u32, u32); 3] = [(0, LOCAL), (32_766, MAIN), (32_767, 253)];

/// Returns what sets links up and gives the host its addresses and routes of a family.
pub fn input(host: &Host, links: &[Link], v6: bool) -> Input {
    let mut text = String::from("link set lo up\n");
    // INVARIANT: writing to a String cannot fail.
    let _ = Batch { host, links, v6 }.write(&mut text);
    Input::new("ip", &[if v6 { "-6" } else { "-4" }, "-batch", "-"], text)
}

struct Batch<'a> {
    host: &'a Host,
    links: &'a [Link],
    v6: bool,
}

impl Batch<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        for link in self.links.iter().filter(|link| link.up) {
            writeln!(out, "link set {} up", link.name)?;
        }
        for address in self.host.addresses.iter().filter(|it| self.has(&it.network)) {
            if !address.network.addr().is_loopback() {
                write_address(out, address)?;
            }
        }
        let routes = || self.host.routes.iter().filter(|it| self.has(&it.destination));
        // A next hop must be reachable before there is a route through it.
        let (near, far) =
            (routes().filter(|route| is_near(route)), routes().filter(|route| !is_near(route)));
        for route in near.chain(far).filter(|route| route.table != LOCAL) {
            write_route(out, route)?;
        }
        let rules = self.host.rules.iter().filter(|rule| rule.ipv6 == self.v6);
        for rule in rules.filter(|rule| !OWN_RULES.contains(&(rule.priority, rule.table))) {
            write_rule(out, rule)?;
        }
        Ok(())
    }

    fn has(&self, network: &IpNet) -> bool {
        network.addr().is_ipv6() == self.v6
    }
}

fn is_near(route: &Route) -> bool {
    route.gateway.is_none()
}

fn write_address(out: &mut String, address: &Address) -> fmt::Result {
    let Address { link, network, scope } = address;
    write!(out, "addr add {network} dev {link}")?;
    match network {
        IpNet::V4(_) => writeln!(out, " scope {}", scope.as_str()),
        // Nobody else has it, and it is there at once.
        IpNet::V6(_) => out.write_str(" nodad\n"),
    }
}

fn write_route(out: &mut String, route: &Route) -> fmt::Result {
    let Route { table, kind, destination, gateway, link, source, metric } = route;
    write!(out, "route replace {}{destination}", kind_word(*kind))?;
    write_option(out, "via", *gateway)?;
    write_option(out, "dev", *link)?;
    write_option(out, "src", *source)?;
    write_option(out, "metric", Some(metric).filter(|metric| **metric > 0))?;
    write_option(out, "table", Some(table).filter(|table| **table != MAIN))?;
    out.write_str("\n")
}

fn kind_word(kind: RouteKind) -> &'static str {
    match kind {
        RouteKind::Unicast => "",
        RouteKind::Local => "local ",
        RouteKind::Broadcast => "broadcast ",
        RouteKind::Multicast => "multicast ",
        RouteKind::Anycast => "anycast ",
        RouteKind::Blackhole => "blackhole ",
        RouteKind::Unreachable => "unreachable ",
        RouteKind::Prohibit => "prohibit ",
        RouteKind::Throw => "throw ",
    }
}

/// What the tree does not model of a rule is given as it was printed: the tool refuses what it does
/// not take.
fn write_rule(out: &mut String, rule: &PolicyRule) -> fmt::Result {
    let PolicyRule { priority, from, to, mark, input, table, rest, .. } = rule;
    write!(out, "rule add priority {priority}")?;
    write_option(out, "from", *from)?;
    write_option(out, "to", *to)?;
    write_option(out, "fwmark", mark.map(|(value, mask)| format!("{value:#x}/{mask:#x}")))?;
    write_option(out, "iif", *input)?;
    write!(out, " table {table}")?;
    writeln!(
        out,
        "{}{}",
        if rest.is_some() { " " } else { "" },
        rest.as_deref().unwrap_or_default()
    )
}

fn write_option(out: &mut String, word: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(out, " {word} {value}"))
}
