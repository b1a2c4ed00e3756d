//! The chains that traffic from outside goes through: `external-…` and `firewall-…`.

use kps_ruleset::nftables::{Element, Expr, Key, Value};

use super::detector::{if_local, prefix};
use super::matches::{drop, goto, not_equal, saddr, source_is_local};
use super::port::Port;
use super::writer::Writer;

/// Writes the rules of the external and the firewall chain.
pub(super) fn write(context: &Port<'_>, writer: &mut Writer) {
    if context.uses_external_chain() {
        write_external(context, writer);
    }
    if context.uses_firewall_chain() {
        write_firewall(context, writer);
    }
}

fn write_external(context: &Port<'_>, writer: &mut Writer) {
    let chain = context.chains.external;
    if context.port.port.external_local {
        write_short_circuits(context, writer);
    } else {
        context.layout.write_external_mark(context, writer);
    }
    if context.port.has_external() {
        writer.rule(chain, [goto(context.external_policy_chain())]);
    }
}

/// Policy Local is about traffic from outside: pods and processes of this node may use every
/// endpoint. A pod's packets need no masquerading, since replies to it pass this node anyway.
fn write_short_circuits(context: &Port<'_>, writer: &mut Writer) {
    let chain = context.chains.external;
    let to_cluster = || goto(context.chains.cluster);
    if let Some(detector) = &context.view.detector {
        let from_pod = if_local(detector, context.view.family);
        writer.commented_rule(chain, [from_pod, to_cluster()], "short-circuit pod traffic");
    }
    let mark = context.layout.mark(context.view.mark);
    writer.commented_rule(chain, [source_is_local(), mark], "masquerade local traffic");
    let short_circuit = [source_is_local(), to_cluster()];
    writer.commented_rule(chain, short_circuit, "short-circuit local traffic");
}

/// Everybody outside the ranges is dropped. If the node itself is inside, its processes may also
/// come with the load balancer IP as source.
fn write_firewall(context: &Port<'_>, writer: &mut Writer) {
    let port = &context.port.port;
    let ranges = port.source_ranges.iter().map(|range| prefix(*range));
    let mut allowed: Vec<Value> = ranges.collect();
    if port.source_ranges.iter().any(|range| range.contains(&context.view.node_ip)) {
        allowed.extend(port.load_balancer_vips.iter().copied().map(Value::address));
    }
    let allowed = allowed.into_iter().map(|value| Element::new(Key::One(value))).collect();
    let from_elsewhere = not_equal(saddr(context.view.family), Expr::Set(allowed));
    writer.rule(context.chains.firewall, [from_elsewhere, drop()]);
}
