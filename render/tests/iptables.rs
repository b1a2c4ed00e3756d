//! The rules of the iptables mode.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod worlds;

use kps_model::{Detector, NodeView};
use kps_render::iptables::{plan, ruleset_family};
use kps_render::print_operations;
use kps_ruleset::iptables::{print_restore, print_ruleset};

fn restore(view: &NodeView) -> String {
    print_restore(&plan(view).into_restore(), ruleset_family(view.family))
}

fn saved(view: &NodeView) -> String {
    print_ruleset(&plan(view).into_ruleset(), false)
}

/// Returns the lines that a change of the six Services' view takes away and adds.
fn change(change: impl FnOnce(&mut NodeView)) -> String {
    let mut view = worlds::six_services();
    let before = restore(&view);
    change(&mut view);
    let after = restore(&view);
    let only = |sign: &str, ours: &str, theirs: &str| -> Vec<String> {
        let lines = ours.lines().filter(|line| !theirs.lines().any(|other| other == *line));
        lines.map(|line| format!("{sign} {line}")).collect()
    };
    [only("-", &before, &after), only("+", &after, &before)].concat().join("\n")
}

#[test]
fn the_six_services_as_they_are_restored() {
    insta::assert_snapshot!(restore(&worlds::six_services()));
}

#[test]
fn the_six_services_as_they_are_saved() {
    insta::assert_snapshot!(saved(&worlds::six_services()));
}

#[test]
fn an_ipv6_service_as_it_is_restored() {
    insta::assert_snapshot!(restore(&worlds::ipv6_service()));
}

#[test]
fn the_steps_of_a_node_without_services() {
    let operations = plan(&worlds::node_without_services()).into_operations();
    insta::assert_snapshot!(print_operations(&operations));
}

#[test]
fn without_node_ports_on_loopback() {
    insta::assert_snapshot!(change(|view| view.localhost_node_ports = false));
}

#[test]
fn with_node_ports_on_one_address() {
    insta::assert_snapshot!(change(|view| {
        view.node_ports = worlds::primary("192.168.0.2");
        view.localhost_node_ports = false;
    }));
}

#[test]
fn without_nfacct() {
    insta::assert_snapshot!(change(|view| view.nfacct = false));
}

#[test]
fn with_liberal_connection_tracking() {
    insta::assert_snapshot!(change(|view| view.tcp_be_liberal = true));
}

#[test]
fn with_all_traffic_masqueraded() {
    insta::assert_snapshot!(change(|view| view.masquerade_all = true));
}

#[test]
fn without_a_way_to_tell_pods_apart() {
    insta::assert_snapshot!(change(|view| view.detector = None));
}

#[test]
fn with_pods_told_by_their_interface() {
    insta::assert_snapshot!(change(|view| {
        view.detector = Some(Detector::InterfacePrefix("veth".into()));
    }));
}

#[test]
fn with_a_node_inside_the_source_ranges() {
    insta::assert_snapshot!(change(|view| view.node_ip = worlds::ip("203.0.113.7")));
}

#[test]
fn with_internal_policy_local() {
    insta::assert_snapshot!(change(|view| {
        let fourth = worlds::service(4).with(|port| port.internal_local = true);
        view.ports[3] = fourth.endpoint("10.180.0.4:80", false).endpoint("10.180.0.5:80", true).0;
        let first = worlds::service(1).with(|port| port.internal_local = true);
        view.ports[0] = first.endpoint("10.180.0.1:80", false).0;
    }));
}

#[test]
fn three_endpoints_share_with_rounded_probabilities() {
    insta::assert_snapshot!(change(|view| {
        let service = worlds::service(1).endpoint("10.180.0.1:80", false);
        let service = service.endpoint("10.180.0.2:80", false).endpoint("10.180.0.3:80", false);
        view.ports[0] = service.0;
    }));
}

#[test]
fn above_a_thousand_endpoints_their_rules_have_no_comments() {
    let with = |count: usize| {
        let mut view = worlds::six_services();
        let mut many = worlds::service(7).0;
        let endpoint =
            |i: usize| worlds::endpoint(&format!("10.181.{}.{}:80", i / 200, i % 200), false);
        many.endpoints = (0..count).map(endpoint).collect();
        view.ports.push(many);
        restore(&view)
    };
    let (small, large) = (with(994), with(995));
    assert!(
        small.contains("-A KUBE-SVC-4SW47YFZTEDKD3PK -m comment --comment \"ns4/svc4:p80 -> 1")
    );
    let of_endpoints = |line: &&str| line.contains("-j KUBE-SEP-") || line.contains("-A KUBE-SEP-");
    insta::assert_snapshot!(large.lines().filter(of_endpoints).collect::<Vec<_>>().join("\n"));
}
