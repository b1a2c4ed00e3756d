//! Which endpoints a packet may go to: traffic policies, topology and the fall-back to endpoints
//! that terminate (`pkg/proxy/topology.go`, `CategorizeEndpoints`; KEP-1669, KEP-2433, KEP-3015).

use crate::{Endpoint, ServicePort};

/// The endpoints of a ServicePort by use, as indices into its ordered list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Categories {
    /// For traffic with policy Cluster.
    pub cluster: Vec<usize>,
    /// For traffic with policy Local.
    pub local: Vec<usize>,
    /// All that may be reached, ascending.
    pub reachable: Vec<usize>,
    /// Whether any endpoint is usable at all.
    pub has_any: bool,
}

/// Where the node is, for topology.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Its zone, if it has the label.
    pub zone: Option<&'a str>,
    /// Whether hints for nodes count.
    pub node_hints: bool,
}

/// How hints narrow the choice.
#[derive(Clone, Copy)]
enum Topology<'a> {
    None,
    SameNode(&'a str),
    SameZone(&'a str),
}

/// Sorts the endpoints of a ServicePort by use.
#[must_use]
pub fn categorize(endpoints: &[Endpoint], port: &ServicePort, place: Place<'_>) -> Categories {
    let mut categories = Categories::default();
    if endpoints.is_empty() {
        return categories;
    }
    let topology = topology(endpoints, place);
    if port.uses_cluster_endpoints() {
        categories.cluster = cluster(endpoints, topology);
        categories.has_any = !categories.cluster.is_empty();
    }
    if !port.uses_local_endpoints() {
        categories.reachable.clone_from(&categories.cluster);
        return categories;
    }
    categories.has_any |= endpoints.iter().any(is_usable);
    categories.local = local(endpoints);
    categories.reachable = union(&categories.cluster, &categories.local);
    categories
}

fn is_usable(endpoint: &Endpoint) -> bool {
    endpoint.ready || is_draining(endpoint)
}

fn is_draining(endpoint: &Endpoint) -> bool {
    endpoint.serving && endpoint.terminating
}

/// Hints count only if every ready endpoint has one and this node is meant by at least one.
fn topology<'a>(endpoints: &[Endpoint], place: Place<'a>) -> Topology<'a> {
    let ready = || endpoints.iter().filter(|e| e.ready);
    let hinted = |hints: fn(&Endpoint) -> &[String], me: &str| {
        ready().all(|e| !hints(e).is_empty()) && ready().any(|e| hints(e).iter().any(|h| h == me))
    };
    if place.node_hints && hinted(|e| &e.node_hints, place.node) {
        return Topology::SameNode(place.node);
    }
    match place.zone {
        Some(zone) if hinted(|e| &e.zone_hints, zone) => Topology::SameZone(zone),
        _ => Topology::None,
    }
}

fn cluster(endpoints: &[Endpoint], topology: Topology<'_>) -> Vec<usize> {
    let near = |e: &Endpoint| match topology {
        Topology::None => true,
        Topology::SameNode(node) => e.node_hints.iter().any(|hint| hint == node),
        Topology::SameZone(zone) => e.zone_hints.iter().any(|hint| hint == zone),
    };
    or_else(select(endpoints, |e| e.ready && near(e)), || select(endpoints, is_draining))
}

fn local(endpoints: &[Endpoint]) -> Vec<usize> {
    or_else(select(endpoints, |e| e.is_local && e.ready), || {
        select(endpoints, |e| e.is_local && is_draining(e))
    })
}

fn select(endpoints: &[Endpoint], wanted: impl Fn(&Endpoint) -> bool) -> Vec<usize> {
    (0..endpoints.len()).filter(|index| wanted(&endpoints[*index])).collect()
}

fn or_else(first: Vec<usize>, second: impl FnOnce() -> Vec<usize>) -> Vec<usize> {
    if first.is_empty() { second() } else { first }
}

fn union(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut union: Vec<usize> = a.iter().chain(b).copied().collect();
    union.sort_unstable();
    union.dedup();
    union
}
