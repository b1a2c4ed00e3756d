//! The rules of the nftables mode.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod worlds;

use kps_model::{KubeVersion, NodeView};
use kps_render::nftables::plan;
use kps_ruleset::Name;
use kps_ruleset::nftables::{ApplyErrorKind, print_ruleset, print_script};

/// The six Services on a node whose own address serves node ports, as is the default in this mode.
fn six_services(version: KubeVersion) -> NodeView {
    NodeView { version, node_ports: worlds::primary("192.168.0.2"), ..worlds::six_services() }
}

fn script(view: &NodeView) -> String {
    print_script(&plan(view).into_commands())
}

fn listed(view: &NodeView) -> String {
    print_ruleset(&plan(view).into_ruleset().unwrap())
}

#[test]
fn the_six_services_as_they_are_sent() {
    insta::assert_snapshot!(script(&six_services(KubeVersion::V1_37)));
}

#[test]
fn the_six_services_as_they_are_sent_by_1_36() {
    insta::assert_snapshot!(script(&six_services(KubeVersion::V1_36)));
}

#[test]
fn the_six_services_as_they_are_sent_by_1_35() {
    insta::assert_snapshot!(script(&six_services(KubeVersion::V1_35)));
}

#[test]
fn the_six_services_as_they_are_listed() {
    insta::assert_snapshot!(listed(&six_services(KubeVersion::V1_37)));
}

#[test]
fn a_claimed_key_goes_to_the_last_claimant() {
    let mut view = six_services(KubeVersion::V1_37);
    for port in &mut view.ports[1..3] {
        port.port.external_ips = vec![worlds::ip("192.168.99.99")];
        port.port.has_external_ips = true;
    }
    let script = script(&view);
    let contested: Vec<_> =
        script.lines().filter(|line| line.contains("service-ips { 192.168.99.99")).collect();
    insta::assert_snapshot!(contested.join("\n"), @r#"
    add element ip kube-proxy service-ips { 192.168.99.99 . tcp . 80 : goto external-42NFTM6N-ns2/svc2/tcp/p80 }
    delete element ip kube-proxy service-ips { 192.168.99.99 . tcp . 80 }
    add element ip kube-proxy service-ips { 192.168.99.99 . tcp . 80 : goto external-4AT6LBPK-ns3/svc3/tcp/p80 }
    "#);
}

/// Returns what the script says of node ports on loopback addresses.
fn localhost_part(loopback_is_listed: bool) -> String {
    let mut view = six_services(KubeVersion::V1_37);
    view.localhost_node_port_gate = true;
    view.node_ports.contains_explicit_loopback = loopback_is_listed;
    let script = script(&view);
    let lines = script.lines().filter(|line| line.contains("localhost-nodeport"));
    lines.map(|line| line.replace("ip kube-proxy ", "")).collect::<Vec<_>>().join("\n")
}

#[test]
fn node_ports_on_loopback_are_rejected_behind_the_gate() {
    insta::assert_snapshot!(localhost_part(false), @r#"
    add map localhost-nodeport-reject-ports { type inet_proto . inet_service : verdict ; comment "localhost NodePorts rejected by kube-proxy" ; }
    add counter localhost-nodeport-rejected-tcp
    add chain localhost-nodeport-reject-tcp
    flush chain localhost-nodeport-reject-tcp
    add rule localhost-nodeport-reject-tcp counter name "localhost-nodeport-rejected-tcp" reject
    add counter localhost-nodeport-rejected-udp
    add chain localhost-nodeport-reject-udp
    flush chain localhost-nodeport-reject-udp
    add rule localhost-nodeport-reject-udp counter name "localhost-nodeport-rejected-udp" reject
    add counter localhost-nodeport-rejected-sctp
    add chain localhost-nodeport-reject-sctp
    flush chain localhost-nodeport-reject-sctp
    add rule localhost-nodeport-reject-sctp counter name "localhost-nodeport-rejected-sctp" reject
    add rule nodeport-endpoints-check ip daddr 127.0.0.0/8 meta l4proto . th dport vmap @localhost-nodeport-reject-ports
    add element localhost-nodeport-reject-ports { tcp . 3001 : goto localhost-nodeport-reject-tcp }
    add element localhost-nodeport-reject-ports { tcp . 3003 : goto localhost-nodeport-reject-tcp }
    add element localhost-nodeport-reject-ports { tcp . 3002 : goto localhost-nodeport-reject-tcp }
    "#);
}

#[test]
fn tcp_node_ports_on_loopback_are_left_to_the_proxy_that_listens() {
    insta::assert_snapshot!(localhost_part(true), @r#"
    add map localhost-nodeport-reject-ports { type inet_proto . inet_service : verdict ; comment "localhost NodePorts rejected by kube-proxy" ; }
    add counter localhost-nodeport-rejected-udp
    add chain localhost-nodeport-reject-udp
    flush chain localhost-nodeport-reject-udp
    add rule localhost-nodeport-reject-udp counter name "localhost-nodeport-rejected-udp" reject
    add counter localhost-nodeport-rejected-sctp
    add chain localhost-nodeport-reject-sctp
    flush chain localhost-nodeport-reject-sctp
    add rule localhost-nodeport-reject-sctp counter name "localhost-nodeport-rejected-sctp" reject
    add rule nodeport-endpoints-check ip daddr 127.0.0.0/8 meta l4proto . th dport vmap @localhost-nodeport-reject-ports
    add chain localhost-nodeport-reject-tcp
    delete chain localhost-nodeport-reject-tcp
    add counter localhost-nodeport-rejected-tcp
    delete counter localhost-nodeport-rejected-tcp
    "#);
}

#[test]
fn releases_before_the_gate_know_nothing_of_it() {
    let view = six_services(KubeVersion::V1_36);
    let gated = NodeView { localhost_node_port_gate: true, ..view.clone() };
    assert_eq!(plan(&view), plan(&gated));
}

/// Releases before 1.37 wrote a comment of any length, and nft refused the whole transaction.
#[test]
fn a_long_name_without_endpoints_breaks_old_releases() {
    let long = worlds::service(1).with(|port| {
        port.key.namespace = "n".repeat(63);
        port.key.name = "s".repeat(63);
    });
    for version in KubeVersion::ALL {
        let ports = vec![long.0.clone()];
        let view = NodeView { version, ports, ..worlds::node_without_services() };
        match plan(&view).into_ruleset() {
            Ok(ruleset) => {
                let table = &ruleset.tables[0];
                let element =
                    table.sets[&Name::new("no-endpoint-services")].elements.values().next();
                let comment = element.unwrap().comment.unwrap();
                assert_eq!(comment, format!("{}/{}:", "n".repeat(63), "s".repeat(63)).as_str());
                assert_eq!(version, KubeVersion::V1_37);
            }
            Err(error) => {
                assert_eq!(error.kind, ApplyErrorKind::CommentTooLong);
                assert!(version < KubeVersion::V1_37);
            }
        }
    }
}

/// A range with the node's own address lets its processes come from the load balancer IP.
#[test]
fn source_ranges_around_the_node_take_in_the_load_balancer() {
    let mut view = six_services(KubeVersion::V1_37);
    view.ports[4].port.source_ranges =
        vec!["192.168.0.0/24".parse().unwrap(), "203.0.113.7/32".parse().unwrap()];
    let script = script(&view);
    let rule = script.lines().find(|line| line.contains("saddr !=") && line.contains("firewall-"));
    insta::assert_snapshot!(rule.unwrap(), @"add rule ip kube-proxy firewall-HVFWP5L3-ns5/svc5/tcp/p80 ip saddr != { 192.168.0.0/24 , 203.0.113.7/32 , 5.6.7.8 } drop");
}
