//! The sets, virtual servers, addresses and rules of the ipvs mode.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod worlds;

use kps_model::NodeView;
use kps_render::ipvs::{SetKind, plan};
use kps_render::print_operations;
use kps_ruleset::NodeState;
use kps_ruleset::ipset::print_save;
use kps_ruleset::iptables::print_ruleset;

fn state(view: &NodeView) -> NodeState {
    let mut state = NodeState::default();
    plan(view).install(&mut state);
    state
}

fn steps(view: &NodeView) -> String {
    print_operations(&plan(view).into_operations())
}

fn elements(state: &NodeState) -> String {
    let text = print_save(&state.ipset);
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("add ")).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn the_virtual_servers_of_the_six_services() {
    insta::assert_snapshot!(kps_ruleset::ipvs::print_save(&state(&worlds::six_services()).ipvs));
}

#[test]
fn the_set_elements_of_the_six_services() {
    insta::assert_snapshot!(elements(&state(&worlds::six_services())));
}

#[test]
fn the_rules_of_the_six_services() {
    insta::assert_snapshot!(print_ruleset(&state(&worlds::six_services()).iptables.v4, false));
}

#[test]
fn the_addresses_of_the_six_services() {
    let state = state(&worlds::six_services());
    insta::assert_snapshot!(kps_ruleset::host::print_addresses(&state.host));
}

#[test]
fn the_steps_of_an_ipv6_service() {
    insta::assert_snapshot!(steps(&worlds::ipv6_service()));
}

#[test]
fn settings_reach_the_kernel() {
    let mut view = worlds::six_services();
    view.ipvs.scheduler = "mh".into();
    view.ipvs.strict_arp = true;
    view.ipvs.tcp_timeout = 600;
    view.ports.truncate(1);
    let state = state(&view);
    insta::assert_snapshot!(kps_ruleset::ipvs::print_save(&state.ipvs));
    insta::assert_debug_snapshot!((state.host.sysctls, state.ipvs.timeouts));
}

#[test]
fn policy_local_without_local_endpoints_falls_back_to_all() {
    let mut view = worlds::node_without_services();
    let service = worlds::service(1).with(|port| {
        port.external_local = true;
        port.internal_local = true;
        port.node_port = Some(3001);
    });
    view.ports = vec![service.endpoint("10.180.0.1:80", false).0];
    insta::assert_snapshot!(kps_ruleset::ipvs::print_save(&state(&view).ipvs));
}

#[test]
fn an_external_address_of_the_node_itself_is_not_bound() {
    let mut view = worlds::six_services();
    view.interface_addresses.push(worlds::ip("192.168.99.33"));
    let addresses = kps_ruleset::host::print_addresses(&state(&view).host);
    assert!(!addresses.contains("192.168.99.33"));
    assert!(addresses.contains("192.168.99.22"));
}

#[test]
fn without_node_addresses_a_node_port_and_its_health_check_are_left_out() {
    let mut view = worlds::six_services();
    view.node_ports = worlds::primary("198.51.100.1");
    let elements = elements(&state(&view));
    assert!(!elements.contains("NODE-PORT"), "{elements}");
}

#[test]
fn a_sync_deletes_only_virtual_servers_that_may_be_its_own() {
    let mut view = worlds::six_services();
    view.ipvs.exclude_cidrs = vec!["198.51.100.0/24".parse().unwrap()];
    let plan = plan(&view);
    let at = |address| kps_ruleset::ipvs::ServiceId::Address {
        protocol: kps_ruleset::Protocol::TCP,
        address: worlds::ip(address),
        port: 80,
    };
    assert!(plan.deletes(&at("192.0.2.1")));
    assert!(!plan.deletes(&at("198.51.100.7")));
    assert!(!plan.deletes(&at("2001:db8::1")));
    assert!(!plan.deletes(&kps_ruleset::ipvs::ServiceId::Mark { mark: 1, ipv6: false }));
}

#[test]
fn names_of_sets_are_cut_in_ipv6() {
    let name = |kind: SetKind| kind.name(kps_flow::Family::V6);
    assert_eq!(name(SetKind::LoadBalancerSourceCidr), "KUBE-6-LOAD-BALANCER-SOURCE-CID");
    assert_eq!(name(SetKind::NodePortLocalSctp), "KUBE-6-NODE-PORT-LOCAL-SCTP-HAS");
}
