//! Which rules see a packet of IPVS, and looking how.

use kps_flow::{Delivery, Outcome, RejectKind, SourceNat};
use kps_ruleset::nftables::Hook;
use kps_sim::trace::Deed;

use crate::director::{MARKING, ONE, director};
use crate::world::{kept, masqueraded, only, outcome, outside, pod, process, with_host};

fn filter(hook: &str, rule: &str) -> String {
    format!("table inet f {{ chain c {{ type filter hook {hook} priority 0;\n{rule}\n}} }}\n")
}

fn under(rules: &str, flow: &kps_flow::Flow) -> Outcome {
    outcome(&director(rules, ONE), flow)
}

#[test]
fn input_sees_the_virtual_server_and_output_the_real_one() {
    let flow = outside("10.96.0.1", 80);
    for seen in [
        filter("input", "ip daddr 10.96.0.1 drop"),
        filter("output", "ip daddr 10.244.0.5 tcp dport 8080 drop"),
        filter("postrouting", "ip daddr 10.244.0.5 drop"),
    ] {
        assert_eq!(under(&seen, &flow), Outcome::Drop);
    }
    for unseen in [filter("output", "ip daddr 10.96.0.1 drop"), filter("forward", "drop")] {
        assert_eq!(under(&unseen, &flow), kept("10.244.0.5:8080"));
    }
}

// kernel: the counter of a rule in nat INPUT stays 0.
#[test]
fn input_is_left_before_sources_are_translated_there() {
    let rules = "table ip n { chain c { type nat hook input priority 100; snat to 10.9.9.9 } }";
    assert_eq!(under(rules, &outside("10.96.0.1", 80)), kept("10.244.0.5:8080"));
}

#[test]
fn output_has_no_incoming_interface() {
    let rules = filter("output", "iifname \"eth0\" drop");
    assert_eq!(under(&rules, &outside("10.96.0.1", 80)), kept("10.244.0.5:8080"));
}

// kernel: the counter of a rule in nat OUTPUT stays 0.
#[test]
fn output_rules_of_nat_are_not_asked_again() {
    let rules = "table ip n {
        chain pre { type nat hook prerouting priority -100; }
        chain out { type nat hook output priority -100; dnat to 10.9.9.9 }
    }";
    assert_eq!(under(rules, &outside("10.96.0.1", 80)), kept("10.244.0.5:8080"));
}

#[test]
fn a_packet_of_a_process_is_served_between_nat_and_filter() {
    let rules = MARKING.to_owned() + &filter("output", "ip daddr 10.96.0.1 drop");
    let flow = process("10.96.0.1", 80);
    assert_eq!(under(&rules, &flow), masqueraded("10.244.0.5:8080", "192.0.2.10"));
    let rules = filter("output", "ip saddr 10.96.0.1 ip daddr 10.244.0.5 drop");
    assert_eq!(under(&rules, &flow), Outcome::Drop);
}

// kernel: the send fails with EPERM, and ICMP 3/3 comes from 10.96.0.1.
#[test]
fn a_process_that_is_refused_is_told() {
    let servers = "-A -t 10.96.0.1:80 -s rr\n";
    let path = only(&director(MARKING, servers), &process("10.96.0.1", 80));
    assert_eq!(path.outcome, Outcome::Reject(RejectKind::PORT_UNREACHABLE_V4));
    assert_eq!(path.packet.source.to_string(), "10.96.0.1");
    assert_eq!(path.packet.destination.to_string(), "10.96.0.1");
}

#[test]
fn masquerading_goes_by_mark_or_by_the_real_server() {
    assert_eq!(
        under(MARKING, &outside("10.96.0.1", 80)),
        masqueraded("10.244.0.5:8080", "192.0.2.10")
    );
    assert_eq!(under(MARKING, &pod("10.96.0.1", 80)), kept("10.244.0.5:8080"));
    let hairpin = "table ip n { chain post { type nat hook postrouting priority 100;
        ip saddr 10.244.0.5 ip daddr 10.244.0.5 masquerade } }";
    assert_eq!(under(hairpin, &pod("10.96.0.1", 80)), masqueraded("10.244.0.5:8080", "192.0.2.10"));
}

#[test]
fn the_source_of_ipv6_may_be_an_address_of_kube_ipvs0() {
    let servers = "-A -t [fd00:10:96::1]:80 -s rr\n-a -t [fd00:10:96::1]:80 -r [fd00:10:244::5]:8080 -m -w 1\n";
    let outcome = outcome(&director(MARKING, servers), &outside("fd00:10:96::1", 80));
    let endpoint = "[fd00:10:244::5]:8080".parse().unwrap();
    let source = SourceNat::Rewritten(None);
    assert_eq!(outcome, Outcome::Deliver(Delivery { endpoint, source }));
}

// kernel: from outside, rules in nat INPUT are asked and those in OUTPUT are not.
#[test]
fn a_real_server_on_this_host_gets_the_packet_where_it_is() {
    let servers = "-A -t 10.96.0.1:80 -s rr\n-a -t 10.96.0.1:80 -r 192.0.2.10:6443 -m -w 1\n";
    let state = director(MARKING, servers);
    let path = only(&state, &outside("10.96.0.1", 80));
    assert_eq!(path.outcome, kept("192.0.2.10:6443"));
    assert!(!path.steps.iter().any(|step| matches!(step.deed, Deed::Reaches(Hook::Output, _))));
    let path = only(&state, &process("10.96.0.1", 80));
    assert!(
        matches!(path.outcome, Outcome::Deliver(d) if d.endpoint.port() == 6443 && d.source.is_rewritten())
    );
    assert_eq!(path.packet.input.map(|link| link.as_str()), Some("lo"));
}

// kernel: only the process gets through.
#[test]
fn a_real_server_on_loopback_is_for_processes() {
    let state = director("", &ONE.replace("10.244.0.5:8080", "127.0.0.1:6443"));
    assert_eq!(outcome(&state, &outside("10.96.0.1", 80)), Outcome::Drop);
    assert_eq!(outcome(&state, &process("10.96.0.1", 80)), kept("127.0.0.1:6443"));
}

// kernel: nothing comes out, and nothing comes back.
#[test]
fn a_loopback_source_does_not_leave() {
    let servers = "-A -t 127.0.0.1:80 -s rr\n-a -t 127.0.0.1:80 -r 10.244.0.5:8080 -m -w 1\n";
    assert_eq!(outcome(&director("", servers), &process("127.0.0.1", 80)), Outcome::Drop);
}

// kernel: ICMP 3/1 from 10.96.0.1.
#[test]
fn a_real_server_without_a_route_is_an_unreachable_host() {
    let servers = ONE.replace("10.244.0.5", "10.244.1.5");
    let state = with_host(director("", &servers), "unreachable 10.244.1.0/24\n", "", "");
    let refused = Outcome::Reject(RejectKind::Icmp(1));
    assert_eq!(outcome(&state, &outside("10.96.0.1", 80)), refused);
}

#[test]
fn a_story_names_the_virtual_and_the_real_server() {
    let path = only(&director("", ONE), &outside("10.96.0.1", 80));
    let story: Vec<String> = path.steps.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(story.join("\n"), @r"
    kernel: reaches prerouting: TCP 198.51.100.7:40000 > 10.96.0.1:80, in by eth0
    kernel: is routed to this host
    kernel: reaches input: TCP 198.51.100.7:40000 > 10.96.0.1:80, in by eth0
    ipvs tcp 10.96.0.1:80 real server 1: makes 10.244.0.5:8080 the real server, by rr
    kernel: is routed out by veth1
    kernel: reaches output: TCP 198.51.100.7:40000 > 10.244.0.5:8080, out by veth1
    kernel: reaches postrouting: TCP 198.51.100.7:40000 > 10.244.0.5:8080, out by veth1
    ");
}
