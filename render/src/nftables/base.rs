//! The common part: everything that does not depend on the `ServicePort`s.

use kps_flow::Family;
use kps_model::NodeView;
use kps_ruleset::Name;
use kps_ruleset::nftables::{ChainKind, Command, Element, Expr, Hook, Key, Set, Statement, Value};

use super::containers::{Container, address_type};
use super::detector::prefix;
use super::layout::Layout;
use super::localhost;
use super::matches::{
    daddr, destination, destination_is_local, drop, equal, in_set, jump, not_equal,
    protocol_and_port, reject, state_new, verdict_map,
};
use super::writer::Writer;

/// The set of addresses that serve node ports.
const NODE_PORT_IPS: &str = "nodeport-ips";

/// The base chains: name, type, hook, priority. Chains of type filter that run before DNAT see the
/// addresses that clients dial, those at priority 0 see endpoints.
const BASE_CHAINS: [(&str, ChainKind, Hook, i32); 8] = [
    ("filter-prerouting-pre-dnat", ChainKind::Filter, Hook::Prerouting, -110),
    ("filter-output-pre-dnat", ChainKind::Filter, Hook::Output, -110),
    ("filter-input", ChainKind::Filter, Hook::Input, 0),
    ("filter-forward", ChainKind::Filter, Hook::Forward, 0),
    ("filter-output", ChainKind::Filter, Hook::Output, 0),
    ("nat-prerouting", ChainKind::Nat, Hook::Prerouting, -100),
    ("nat-output", ChainKind::Nat, Hook::Output, -100),
    ("nat-postrouting", ChainKind::Nat, Hook::Postrouting, 100),
];

/// The jumps from base chains: chain, whether only for new connections, from where.
const JUMPS: [(&str, bool, &[&str]); 6] = [
    ("nodeport-endpoints-check", true, &["filter-input"]),
    ("service-endpoints-check", true, &["filter-input", "filter-forward", "filter-output"]),
    ("firewall-check", true, &["filter-prerouting-pre-dnat", "filter-output-pre-dnat"]),
    ("services", false, &["nat-output", "nat-prerouting"]),
    ("masquerading", false, &["nat-postrouting"]),
    ("cluster-ips-check", true, &["filter-forward", "filter-output"]),
];

/// Returns the commands of the common part.
pub(super) fn commands(view: &NodeView, layout: Layout) -> Vec<Command> {
    let mut writer = Writer::new(view.family);
    write_chains(&mut writer);
    layout.write_masquerading(view, &mut writer);
    write_cluster_ips(view, &mut writer);
    write_node_port_ips(view, &mut writer);
    write_endpoints_checks(view, &mut writer);
    if layout.has_localhost_node_ports() {
        localhost::write(view, &mut writer);
    }
    write_firewall_check(view.family, &mut writer);
    write_services(view, layout, &mut writer);
    writer.finish()
}

/// A base chain that an older release left with another hook would stay as it is, so each is
/// deleted first.
fn write_chains(writer: &mut Writer) {
    writer.add_table("rules for kube-proxy");
    for (name, ..) in BASE_CHAINS {
        writer.add_chain(name.into());
        writer.delete_chain(name.into());
    }
    for (name, kind, hook, priority) in BASE_CHAINS {
        writer.add_base_chain(name.into(), kind, hook, priority);
        writer.flush_chain(name.into());
    }
    for (to, only_new, from) in JUMPS {
        writer.ensure_chain(to.into());
        for from in from {
            if only_new {
                writer.rule(*from, [state_new(), jump(to)]);
            } else {
                writer.rule(*from, [jump(to)]);
            }
        }
    }
}

fn write_cluster_ips(view: &NodeView, writer: &mut Writer) {
    let daddr = || daddr(view.family);
    writer.add_container(Container::ClusterIps);
    let to_cluster_ip = in_set(daddr(), Container::ClusterIps.name());
    let comment = "Reject traffic to invalid ports of ClusterIPs";
    writer.commented_rule("cluster-ips-check", [to_cluster_ip, reject()], comment);
    if !view.service_cidrs.is_empty() {
        let cidrs = view.service_cidrs.iter().map(|cidr| Element::new(Key::One(prefix(*cidr))));
        let unallocated = equal(daddr(), Expr::Set(cidrs.collect()));
        let comment = "Drop traffic to unallocated ClusterIPs";
        writer.commented_rule("cluster-ips-check", [unallocated, drop()], comment);
    }
}

/// The addresses that serve node ports are listed, unless every local address does.
fn write_node_port_ips(view: &NodeView, writer: &mut Writer) {
    let name = Name::new(NODE_PORT_IPS);
    let comment = Some("IPs that accept NodePort traffic".into());
    writer.add_set(name, Set { key: vec![address_type(view.family)], comment, ..Set::default() });
    if view.node_ports.match_all {
        writer.delete_set(name, false);
        return;
    }
    writer.flush_set(name);
    for address in view.node_ports.serving(&view.interface_addresses) {
        if !address.is_loopback() {
            writer.add_element(name, Element::new(Key::One(Value::address(address))));
        }
    }
}

fn write_endpoints_checks(view: &NodeView, writer: &mut Writer) {
    writer.add_container(Container::NoEndpointServices);
    writer.add_container(Container::NoEndpointNodePorts);
    let comment = "helper for @no-endpoint-services / @no-endpoint-nodeports";
    writer.add_commented_chain("reject-chain".into(), comment);
    writer.flush_chain("reject-chain".into());
    writer.rule("reject-chain", [reject()]);
    let to_service = verdict_map(destination(view.family), Container::NoEndpointServices);
    writer.rule("service-endpoints-check", [to_service]);
    let to_port = verdict_map(protocol_and_port(), Container::NoEndpointNodePorts);
    writer.rule("nodeport-endpoints-check", [to_node(view), to_port]);
}

fn write_firewall_check(family: Family, writer: &mut Writer) {
    writer.add_container(Container::FirewallIps);
    let to_service = verdict_map(destination(family), Container::FirewallIps);
    writer.rule("firewall-check", [to_service]);
}

fn write_services(view: &NodeView, layout: Layout, writer: &mut Writer) {
    writer.add_container(Container::ServiceIps);
    writer.add_container(Container::ServiceNodePorts);
    layout.write_cluster_ip_mark(view, writer);
    let to_service = verdict_map(destination(view.family), Container::ServiceIps);
    writer.rule("services", [to_service]);
    let to_port = verdict_map(protocol_and_port(), Container::ServiceNodePorts);
    if view.node_ports.match_all {
        writer.rule("services", [destination_is_local(), to_node(view), to_port]);
    } else {
        writer.rule("services", [to_node(view), to_port]);
    }
}

/// The test for packets to an address that serves node ports. Where every local address does,
/// loopback is left out: a packet from there could not come back from another host.
fn to_node(view: &NodeView) -> Statement {
    let daddr = daddr(view.family);
    if view.node_ports.match_all {
        not_equal(daddr, localhost::addresses(view.family))
    } else {
        in_set(daddr, NODE_PORT_IPS)
    }
}
