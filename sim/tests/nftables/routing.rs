//! Routes, policy rules, sysctls, source addresses.

use kps_flow::{Outcome, RejectKind};

use crate::world::{PASSED, chain, node, only, outcome, outside, pod, process, with_host};

fn host(routes: &str, rules: &str, sysctls: &str) -> kps_ruleset::NodeState {
    with_host(node(""), routes, rules, sysctls)
}

#[test]
fn kinds_of_routes_decide() {
    let state = host(
        "blackhole 10.1.0.0/16\nunreachable 10.2.0.0/16\nprohibit 10.3.0.0/16\nprohibit fd01::/16 dev lo metric 1024",
        "",
        "",
    );
    let to = |address| outcome(&state, &pod(address, 80));
    assert_eq!(to("10.1.0.1"), Outcome::Drop);
    assert_eq!(to("10.2.0.1"), Outcome::Reject(RejectKind::Icmp(1)));
    assert_eq!(to("10.3.0.1"), Outcome::Reject(RejectKind::Icmp(13)));
    assert_eq!(to("fd01::1"), Outcome::Reject(RejectKind::Icmpv6(1)));
    assert_eq!(outcome(&state, &process("10.2.0.1", 80)), Outcome::Drop);
}

#[test]
fn the_longest_prefix_wins_then_the_lowest_metric() {
    let state = host(
        "10.5.0.0/16 dev veth1 metric 20\nblackhole 10.5.0.0/16 metric 10\n10.5.1.0/24 dev veth1",
        "",
        "",
    );
    assert_eq!(outcome(&state, &pod("10.5.0.1", 80)), Outcome::Drop);
    assert_eq!(outcome(&state, &pod("10.5.1.1", 80)), PASSED);
}

#[test]
fn policy_rules_come_first() {
    let rules = "0:\tfrom all lookup local\n100:\tfrom 10.244.0.5 lookup 77\n32766:\tfrom all lookup main\n";
    let state = host("blackhole default table 77", rules, "");
    assert_eq!(outcome(&state, &pod("10.9.9.9", 80)), Outcome::Drop);
    assert_eq!(outcome(&state, &outside("10.244.0.5", 80)), PASSED);
}

#[test]
fn a_route_chain_routes_again_by_mark() {
    let rules = "0:\tfrom all lookup local\n100:\tfrom all fwmark 0x1 lookup 77\n32766:\tfrom all lookup main\n";
    let marks = |kind: &str| {
        let table =
            chain(&format!("{kind} hook output priority 0"), "tcp dport 80 meta mark set 1");
        with_host(node(&table.replace("inet", "ip")), "blackhole default table 77", rules, "")
    };
    assert_eq!(outcome(&marks("route"), &process("10.9.9.9", 80)), Outcome::Drop);
    assert_eq!(outcome(&marks("route"), &process("10.9.9.9", 81)), PASSED);
    assert_eq!(outcome(&marks("filter"), &process("10.9.9.9", 80)), PASSED);
}

#[test]
fn forwarding_can_be_off() {
    let state = host("", "", "net.ipv4.ip_forward = 0");
    assert_eq!(outcome(&state, &outside("10.244.0.5", 80)), Outcome::Drop);
    assert_eq!(outcome(&state, &outside("192.0.2.10", 80)), Outcome::Local);
    assert_eq!(outcome(&state, &outside("fd00:10:244::5", 80)), PASSED);
}

#[test]
fn martians_are_dropped() {
    let mut spoofed = outside("10.244.0.5", 80);
    spoofed.source = Some("192.0.2.10".parse().unwrap());
    assert_eq!(outcome(&node(""), &spoofed), Outcome::Drop);
    assert_eq!(outcome(&node(""), &outside("127.0.0.1", 80)), Outcome::Drop);
    assert_eq!(outcome(&node(""), &outside("::1", 80)), Outcome::Drop);
    let local = host("", "", "net.ipv4.conf.eth0.route_localnet = 1");
    assert_eq!(outcome(&local, &outside("127.0.0.1", 80)), Outcome::Local);
}

#[test]
fn reverse_path_filters_ask_for_the_way_back() {
    let mut elsewhere = outside("10.9.9.9", 80);
    elsewhere.interface = Some("veth1".to_owned());
    let strict = host("", "", "net.ipv4.conf.all.rp_filter = 1");
    assert_eq!(outcome(&strict, &elsewhere), Outcome::Drop);
    let loose = host("", "", "net.ipv4.conf.all.rp_filter = 2");
    assert_eq!(outcome(&loose, &elsewhere), PASSED);
    assert_eq!(outcome(&node(""), &elsewhere), PASSED);
}

/// kernel: `ip route get` of each destination gave this source.
#[test]
fn the_kernel_picks_the_source_of_a_process() {
    let source = |destination| only(&node(""), &process(destination, 80)).packet.source.to_string();
    assert_eq!(source("10.9.9.9"), "192.0.2.10");
    assert_eq!(source("10.244.0.5"), "192.0.2.10");
    assert_eq!(source("127.0.0.5"), "127.0.0.1");
    assert_eq!(source("192.0.2.10"), "192.0.2.10");
    assert_eq!(source("::1"), "::1");
    assert_eq!(source("2001:db8:1::a"), "2001:db8:1::a");
    assert_eq!(source("fd00:10:244::5"), "2001:db8:1::a");
}

/// Where nothing is known of routes, the networks of the addresses and a default route are assumed.
#[test]
fn missing_routes_are_assumed() {
    let mut state = node("");
    state.host.routes.clear();
    let walker = kps_sim::Walker::new(&state);
    assert_eq!(
        walker.network().assumed(),
        ["IPv4 routes: default over eth0", "IPv6 routes: default over eth0"]
    );
    assert_eq!(outcome(&state, &outside("10.9.9.9", 80)), PASSED);
}
