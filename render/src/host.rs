//! The host that is assumed when only objects are given.
//!
//! Loopback; `eth0` with the Node's addresses (/24, /64); a default route of each family over
//! `eth0`; the pods of the node behind an interface each, named as the local detector expects;
//! everything else over `eth0`. The node forwards, and filters no reverse paths.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Family;
use kps_model::{Detector, NodeView};
use kps_ruleset::Name;
use kps_ruleset::host::{Address, Host, Link, Route, RouteKind, Scope};

/// The interface to everything that is not on the node.
const UPLINK: &str = "eth0";
/// Routing table `main`.
const MAIN: u32 = 254;

/// Returns the host that the views of both families are assumed to be on.
#[must_use]
pub fn host(views: &[NodeView]) -> Host {
    let mut host = Host { nfacct: true, ..Host::default() };
    for name in ["lo", UPLINK] {
        add_link(&mut host, name.into());
    }
    for view in views {
        add_addresses(view, &mut host);
        host.routes.push(default_route(view));
        add_pods(view, &mut host);
    }
    for name in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
        host.sysctls.insert(name.to_owned(), "1".to_owned());
    }
    let liberal = if views.iter().any(|view| view.tcp_be_liberal) { "1" } else { "0" };
    for (name, value) in [
        ("net.ipv4.conf.all.rp_filter", "0"),
        ("net.netfilter.nf_conntrack_tcp_be_liberal", liberal),
    ] {
        host.sysctls.insert(name.to_owned(), value.to_owned());
    }
    host
}

fn add_link(host: &mut Host, name: Name) {
    if !host.links.iter().any(|link| link.name == name) {
        host.links.push(Link { name, up: true, master: None });
    }
}

fn add_addresses(view: &NodeView, host: &mut Host) {
    for address in &view.interface_addresses {
        let (link, scope, length) = match address {
            IpAddr::V4(a) if a.is_loopback() => ("lo", Scope::Host, 8),
            IpAddr::V6(a) if a.is_loopback() => ("lo", Scope::Host, 128),
            IpAddr::V4(_) => (UPLINK, Scope::Global, 24),
            IpAddr::V6(_) => (UPLINK, Scope::Global, 64),
        };
        if let Ok(network) = IpNet::new(*address, length) {
            host.addresses.push(Address { link: link.into(), network, scope });
            if link == UPLINK {
                host.routes.push(route(network.trunc(), UPLINK.into()));
            }
        }
    }
}

/// The next hop is taken to be the first address of the node's network.
fn default_route(view: &NodeView) -> Route {
    let gateway = match view.node_ip {
        IpAddr::V4(ip) if !ip.is_loopback() => {
            Some((u32::from(ip) & !0xff | 1).to_be_bytes().into())
        }
        IpAddr::V6(ip) if !ip.is_loopback() => {
            Some((u128::from(ip) >> 64 << 64 | 1).to_be_bytes().into())
        }
        _ => None,
    };
    Route { gateway, ..route(everything(view.family), UPLINK.into()) }
}

/// Adds a route to each endpoint in the node's pod ranges, and one for other pods there.
fn add_pods(view: &NodeView, host: &mut Host) {
    let ranges: Vec<&IpNet> =
        view.pod_cidrs.iter().filter(|range| Family::of(range.addr()) == view.family).collect();
    for range in &ranges {
        let link = pod_link(view, 0);
        add_link(host, link);
        host.routes.push(route(**range, link));
    }
    let endpoints = view.ports.iter().flat_map(|port| &port.endpoints);
    let pods: BTreeSet<IpAddr> = endpoints
        .map(|endpoint| endpoint.address.ip())
        .filter(|ip| ranges.iter().any(|range| range.contains(ip)))
        .filter(|ip| !view.interface_addresses.contains(ip))
        .collect();
    for pod in pods {
        let link = pod_link(view, host.links.len());
        add_link(host, link);
        host.routes.push(route(IpNet::from(pod), link));
    }
}

/// Returns the interface of the pod with this number, named as the local detector expects.
fn pod_link(view: &NodeView, number: usize) -> Name {
    match &view.detector {
        Some(Detector::Interface(name)) => name.as_str().into(),
        Some(Detector::InterfacePrefix(prefix)) => format!("{prefix}{number}").into(),
        Some(Detector::Cidr(_)) | None => format!("veth{number}").into(),
    }
}

fn route(destination: IpNet, link: Name) -> Route {
    Route {
        table: MAIN,
        kind: RouteKind::Unicast,
        destination,
        gateway: None,
        link: Some(link),
        source: None,
        metric: 0,
    }
}

fn everything(family: Family) -> IpNet {
    match family {
        Family::V4 => IpNet::V4(ipnet::Ipv4Net::default()),
        Family::V6 => IpNet::V6(ipnet::Ipv6Net::default()),
    }
}
