//! The common part: everything that does not depend on the `ServicePort`s.

use kps_flow::Family;
use kps_model::NodeView;
use kps_ruleset::nftables::{
    ChainKind, Command, DataType, Element, Expr, Hook, Key, Statement, Value,
};

use super::detector::prefix;
use super::layout::Layout;
use super::localhost;
use super::matches::{
    daddr, destination, destination_is_local, drop, equal, in_set, jump, not_equal,
    protocol_and_port, reject, state_new, verdict_map,
};
use super::writer::Writer;

/// The set of endpoints' connections to themselves.
pub(super) const HAIRPIN: &str = "hairpin-connections";

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
            match only_new {
                true => writer.rule(*from, [state_new(), jump(to)]),
                false => writer.rule(*from, [jump(to)]),
            }
        }
    }
}

/// Adds the set of endpoints' connections to themselves.
pub(super) fn add_hairpin_set(writer: &mut Writer) {
    let address = address_type(writer.family);
    let key = [address, address, DataType::InetProto, DataType::InetService];
    writer.add_set(HAIRPIN, &key, None, "service hairpin connections");
}

fn write_cluster_ips(view: &NodeView, writer: &mut Writer) {
    let daddr = || daddr(view.family);
    writer.add_set("cluster-ips", &[address_type(view.family)], None, "Active ClusterIPs");
    let comment = "Reject traffic to invalid ports of ClusterIPs";
    writer.commented_rule("cluster-ips-check", [in_set(daddr(), "cluster-ips"), reject()], comment);
    if !view.service_cidrs.is_empty() {
        let cidrs = view.service_cidrs.iter().map(|cidr| Element::new(Key::One(prefix(*cidr))));
        let unallocated = equal(daddr(), Expr::Set(cidrs.collect()));
        let comment = "Drop traffic to unallocated ClusterIPs";
        writer.commented_rule("cluster-ips-check", [unallocated, drop()], comment);
    }
}

/// The addresses that serve node ports are listed, unless every local address does.
fn write_node_port_ips(view: &NodeView, writer: &mut Writer) {
    let name = "nodeport-ips";
    writer.add_set(name, &[address_type(view.family)], None, "IPs that accept NodePort traffic");
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
    let verdict = Some(DataType::Verdict);
    let services = "no-endpoint-services";
    let node_ports = "no-endpoint-nodeports";
    let comment = "vmap to drop or reject packets to services with no endpoints";
    writer.add_set(services, &destination_type(view.family), verdict, comment);
    let comment = "vmap to drop or reject packets to service nodeports with no endpoints";
    writer.add_set(node_ports, &PORT_TYPE, verdict, comment);
    let comment = "helper for @no-endpoint-services / @no-endpoint-nodeports";
    writer.add_commented_chain("reject-chain".into(), comment);
    writer.flush_chain("reject-chain".into());
    writer.rule("reject-chain", [reject()]);
    let to_service = verdict_map(destination(view.family), services);
    writer.rule("service-endpoints-check", [to_service]);
    let to_port = verdict_map(protocol_and_port(), node_ports);
    writer.rule("nodeport-endpoints-check", [to_node(view), to_port]);
}

fn write_firewall_check(family: Family, writer: &mut Writer) {
    let name = "firewall-ips";
    let comment = "destinations that are subject to LoadBalancerSourceRanges";
    writer.add_set(name, &destination_type(family), Some(DataType::Verdict), comment);
    writer.rule("firewall-check", [verdict_map(destination(family), name)]);
}

fn write_services(view: &NodeView, layout: Layout, writer: &mut Writer) {
    let verdict = Some(DataType::Verdict);
    let comment = "ClusterIP, ExternalIP and LoadBalancer IP traffic";
    writer.add_set("service-ips", &destination_type(view.family), verdict, comment);
    writer.add_set("service-nodeports", &PORT_TYPE, verdict, "NodePort traffic");
    layout.write_cluster_ip_mark(view, writer);
    writer.rule("services", [verdict_map(destination(view.family), "service-ips")]);
    let to_port = verdict_map(protocol_and_port(), "service-nodeports");
    match view.node_ports.match_all {
        true => writer.rule("services", [destination_is_local(), to_node(view), to_port]),
        false => writer.rule("services", [to_node(view), to_port]),
    }
}

/// The test for packets to an address that serves node ports. Where every local address does,
/// loopback is left out: a packet from there could not come back from another host.
fn to_node(view: &NodeView) -> Statement {
    let daddr = daddr(view.family);
    match view.node_ports.match_all {
        true => not_equal(daddr, localhost::addresses(view.family)),
        false => in_set(daddr, "nodeport-ips"),
    }
}

/// The type of a protocol and a port.
pub(super) const PORT_TYPE: [DataType; 2] = [DataType::InetProto, DataType::InetService];

fn address_type(family: Family) -> DataType {
    match family {
        Family::V4 => DataType::Ipv4Addr,
        Family::V6 => DataType::Ipv6Addr,
    }
}

fn destination_type(family: Family) -> [DataType; 3] {
    [address_type(family), DataType::InetProto, DataType::InetService]
}
