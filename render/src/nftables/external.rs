//! The chains that traffic from outside goes through: `external-…` and `firewall-…`.

use kps_ruleset::Name;
use kps_ruleset::nftables::{Element, Expr, Key, Value};

use super::detector::{if_local, prefix};
use super::matches::{drop, goto, not_equal, saddr, source_is_local};
use super::plan::Fragment;
use super::port::Port;

/// Writes the rules of the external and the firewall chain.
pub(super) fn write(port: &Port<'_>, fragment: &mut Fragment) {
    if let Some(chain) = port.chains.external {
        write_external(port, chain, fragment);
    }
    if let Some(chain) = port.chains.firewall {
        write_firewall(port, chain, fragment);
    }
}

fn write_external(port: &Port<'_>, chain: Name, fragment: &mut Fragment) {
    if port.service.external_local {
        write_short_circuits(port, chain, fragment);
    } else {
        port.layout.write_external_mark(port, chain, fragment);
    }
    if let Some(policy) = port.external_policy_chain() {
        fragment.rule(chain, [goto(policy)]);
    }
}

/// Policy Local is about traffic from outside: pods and processes of this node may use every
/// endpoint. A pod's packets need no masquerading, since replies to it pass this node anyway.
fn write_short_circuits(port: &Port<'_>, chain: Name, fragment: &mut Fragment) {
    let Some(cluster) = port.chains.cluster else { return };
    if let Some(detector) = &port.view.detector {
        let from_pod = if_local(detector, port.view.family);
        fragment.commented_rule(chain, [from_pod, goto(cluster)], "short-circuit pod traffic");
    }
    let mark = port.layout.mark(port.view.mark);
    fragment.commented_rule(chain, [source_is_local(), mark], "masquerade local traffic");
    let short_circuit = [source_is_local(), goto(cluster)];
    fragment.commented_rule(chain, short_circuit, "short-circuit local traffic");
}

/// Everybody outside the ranges is dropped. If the node itself is inside, its processes may also
/// come with the load balancer IP as source.
fn write_firewall(port: &Port<'_>, chain: Name, fragment: &mut Fragment) {
    let service = port.service;
    let ranges = service.source_ranges.iter().map(|range| prefix(*range));
    let mut allowed: Vec<Value> = ranges.collect();
    if service.source_ranges.iter().any(|range| range.contains(&port.view.node_ip)) {
        allowed.extend(service.load_balancer_vips.iter().copied().map(Value::address));
    }
    let allowed = allowed.into_iter().map(|value| Element::new(Key::One(value))).collect();
    let from_elsewhere = not_equal(saddr(port.view.family), Expr::Set(allowed));
    fragment.rule(chain, [from_elsewhere, drop()]);
}
