//! The choice among endpoints, and the way to each.

use std::net::SocketAddr;

use kps_model::PortView;
use kps_ruleset::Name;
use kps_ruleset::nftables::{DataType, Element, Key, Set, SetFlags, Value};

use super::base::HAIRPIN;
use super::chains::EndpointNames;
use super::layout::Layout;
use super::matches::{dnat, goto, in_set, protocol, protocol_value, remember_client, saddr};
use super::port::Port;
use super::writer::Writer;

/// An endpoint that rules send to.
pub(super) struct Target {
    pub address: SocketAddr,
    pub is_local: bool,
    /// Its chain and affinity set, if the layout has them.
    pub names: Option<EndpointNames>,
}

/// Returns the endpoints of a `ServicePort` in the places of the view's; those that no rule may
/// send to are none.
pub(super) fn targets(port: &PortView, base: &str, layout: Layout) -> Vec<Option<Target>> {
    let has_chains = layout.has_endpoint_chains(port.port.affinity.is_some());
    let mut targets: Vec<Option<Target>> = port.endpoints.iter().map(|_| None).collect();
    for index in &port.reachable {
        let endpoint = &port.endpoints[*index];
        targets[*index] = Some(Target {
            address: endpoint.address,
            is_local: endpoint.is_local,
            names: has_chains.then(|| EndpointNames::of(base, endpoint.address)),
        });
    }
    targets
}

/// Makes sure that the chains of the endpoints are there, and their connections to themselves known.
pub(super) fn ensure(context: &Port<'_>, writer: &mut Writer) {
    for target in context.targets.iter().flatten() {
        if let Some(names) = target.names {
            writer.ensure_chain(names.chain);
        }
        if target.is_local && context.layout.has_hairpin_set() {
            writer.add_element(HAIRPIN, Element::new(hairpin_key(context, target.address)));
        }
    }
}

fn hairpin_key(context: &Port<'_>, endpoint: SocketAddr) -> Key {
    let address = Value::address(endpoint.ip());
    let protocol = protocol_value(context.port.port.key.protocol);
    Key::Many([address, address, protocol, Value::Port(endpoint.port())].into())
}

/// Writes the affinity sets, the policy chains, then the endpoints' chains.
pub(super) fn write(context: &Port<'_>, writer: &mut Writer) {
    write_affinity_sets(context, writer);
    if context.uses_cluster_chain() {
        write_policy_chain(context, context.chains.cluster, &context.port.cluster, writer);
    }
    if context.uses_local_chain() {
        write_policy_chain(context, context.chains.local, &context.port.local, writer);
    }
    for target in context.targets.iter().flatten() {
        write_endpoint_chain(context, target, writer);
    }
}

fn write_affinity_sets(context: &Port<'_>, writer: &mut Writer) {
    let Some(seconds) = context.port.port.affinity else { return };
    for names in context.targets.iter().flatten().filter_map(|target| target.names) {
        let address = match context.view.family {
            kps_flow::Family::V4 => DataType::Ipv4Addr,
            kps_flow::Family::V6 => DataType::Ipv6Addr,
        };
        let set = Set {
            key: vec![address],
            flags: SetFlags { dynamic: true, timeout: true, ..SetFlags::default() },
            timeout: Some(u64::from(seconds) * 1000),
            ..Set::default()
        };
        writer.add_set_as(names.affinity, set);
    }
}

/// A client with affinity to an endpoint goes there, the others are spread.
fn write_policy_chain(context: &Port<'_>, chain: Name, indices: &[usize], writer: &mut Writer) {
    let targets: Vec<&Target> = context.targets_at(indices).collect();
    if context.port.port.affinity.is_some() {
        for names in targets.iter().filter_map(|target| target.names) {
            let known = in_set(saddr(context.view.family), names.affinity);
            writer.rule(chain, [known, goto(names.chain)]);
        }
    }
    context.layout.write_choice(context, chain, &targets, writer);
}

fn write_endpoint_chain(context: &Port<'_>, target: &Target, writer: &mut Writer) {
    let Some(names) = target.names else { return };
    context.layout.write_hairpin_mark(context, names, target.address.ip(), writer);
    if context.port.port.affinity.is_some() {
        let remember = remember_client(names.affinity, context.view.family);
        writer.rule(names.chain, [remember]);
    }
    let protocol = protocol(context.port.port.key.protocol);
    writer.rule(names.chain, [protocol, dnat(target.address)]);
}
