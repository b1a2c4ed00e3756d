//! What matches mean.

use kps_flow::{Outcome, Protocol};

use crate::world::{PASSED, by, chain, node, outcome, outside, pod, process, share, shares, under};

fn dropped(rule: &str, flow: &kps_flow::Flow) -> bool {
    let rules = chain("filter hook forward priority 0", &format!("{rule} drop"));
    under(&rules, flow) == Outcome::Drop
}

/// kernel: `tcp dport != 80` did not count UDP packets.
#[test]
fn an_absent_field_ends_the_rule_even_for_unequal() {
    let udp = by(Protocol::Udp, outside("10.244.0.5", 81));
    assert!(!dropped("tcp dport != 80", &udp));
    assert!(dropped("udp dport != 80", &udp));
    assert!(!dropped("ip6 daddr != ::1", &udp));
}

/// kernel: `iifname != "veth*"` counted packets at the output hook.
#[test]
fn a_packet_without_an_interface_has_an_empty_one() {
    let rule = "iifname != \"veth*\" drop";
    let rules = chain("filter hook output priority 0", rule);
    assert_eq!(under(&rules, &process("10.9.9.9", 80)), Outcome::Drop);
    assert!(dropped("iifname != \"veth*\"", &outside("10.244.0.5", 80)));
    assert!(!dropped("iifname != \"veth*\"", &pod("10.9.9.9", 80)));
    assert!(dropped("oifname \"veth1\"", &outside("10.244.0.5", 80)));
}

/// kernel: `udp dport != { 1005, 1006 }` counted neither of the two.
#[test]
fn unequal_to_a_set_is_equal_to_none_of_it() {
    let flow = |port| outside("10.244.0.5", port);
    assert!(!dropped("tcp dport != { 80, 90-99 }", &flow(80)));
    assert!(!dropped("tcp dport != { 80, 90-99 }", &flow(95)));
    assert!(dropped("tcp dport != { 80, 90-99 }", &flow(100)));
}

#[test]
fn ranges_prefixes_and_order() {
    let flow = outside("10.244.0.5", 80);
    assert!(dropped("ip daddr 10.244.0.0/24", &flow));
    assert!(!dropped("ip daddr 10.244.1.0/24", &flow));
    assert!(dropped("ip daddr 10.244.0.0-10.244.0.5", &flow));
    assert!(dropped("tcp dport < 81", &flow));
    assert!(!dropped("tcp dport > 80", &flow));
    assert!(dropped("tcp dport >= 80", &flow));
    assert!(dropped("ip saddr . tcp dport { 198.51.100.0/24 . 1-100 }", &flow));
    assert!(!dropped("ip saddr . tcp dport { 198.51.100.0/24 . 1-79 }", &flow));
}

#[test]
fn named_sets_with_intervals_are_searched() {
    let rules = "table ip t {
        set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 172.16.0.1-172.16.0.9 } }
        map ports { type inet_service : verdict; flags interval; elements = { 1-9 : drop, 20 : accept, * : drop } }
        chain c { type filter hook forward priority 0; ip daddr @nets accept; tcp dport vmap @ports }
    }";
    assert_eq!(under(rules, &outside("10.244.0.5", 5)), PASSED);
    assert_eq!(under(rules, &outside("172.16.0.9", 5)), PASSED);
    assert_eq!(under(rules, &outside("172.16.0.10", 5)), Outcome::Drop);
    assert_eq!(under(rules, &outside("172.16.0.10", 20)), PASSED);
    assert_eq!(under(rules, &outside("172.16.0.10", 21)), Outcome::Drop);
}

#[test]
fn marks_are_set_and_tested_bit_by_bit() {
    let rules = |test: &str| {
        chain(
            "filter hook forward priority 0",
            &format!(
                "meta mark set meta mark | 0x4001\nmeta mark set meta mark ^ 0x1\n{test} drop"
            ),
        )
    };
    let flow = outside("10.244.0.5", 80);
    assert_eq!(under(&rules("meta mark 0x4000"), &flow), Outcome::Drop);
    assert_eq!(under(&rules("meta mark & 0x4000 != 0"), &flow), Outcome::Drop);
    assert_eq!(under(&rules("meta mark & 0x1 != 0"), &flow), PASSED);
}

/// kernel: `th dport` with the number of the checksum matched an ICMP packet.
#[test]
fn ports_of_icmp_are_bytes_of_its_header() {
    let ping = by(Protocol::Icmp, outside("10.244.0.5", 0));
    assert!(dropped("th sport 2048", &ping));
    assert!(dropped("icmp type echo-request", &ping));
    assert!(!dropped("tcp dport 0", &ping));
    let rules = "table ip t {
        map m { type ipv4_addr . inet_proto . inet_service : verdict; elements = { 10.244.0.5 . tcp . 80 : drop } }
        chain c { type filter hook forward priority 0; ip daddr . meta l4proto . th dport vmap @m }
    }";
    assert_eq!(under(rules, &ping), PASSED);
    assert_eq!(under(rules, &outside("10.244.0.5", 80)), Outcome::Drop);
}

#[test]
fn random_numbers_have_the_kernels_shares() {
    let state = node(&chain(
        "filter hook forward priority 0",
        "numgen random mod 3 vmap { 0 : drop, 1 : accept, 2 : accept }",
    ));
    let shares_of_drop = shares(&state, &outside("10.244.0.5", 80));
    assert_eq!(shares_of_drop[&Outcome::Drop], share(1_431_655_766, 1 << 32));
    let state = node(&chain("filter hook forward priority 0", "numgen random mod 1000 < 250 drop"));
    assert_eq!(shares(&state, &outside("10.244.0.5", 80))[&Outcome::Drop], share(1, 4));
}

/// kernel: the first packet got 0.
#[test]
fn a_fresh_counter_gives_its_offset_first() {
    let rules = |offset: &str, first: u32| {
        chain("filter hook forward priority 0", &format!("numgen inc mod 3 {offset} {first} drop"))
    };
    assert_eq!(under(&rules("", 0), &outside("10.244.0.5", 80)), Outcome::Drop);
    assert_eq!(under(&rules("offset 7", 7), &outside("10.244.0.5", 80)), Outcome::Drop);
}

#[test]
fn fib_knows_addresses_and_interfaces() {
    let input = |rule: &str| chain("filter hook prerouting priority 0", &format!("{rule} drop"));
    let here = outside("192.0.2.10", 80);
    let on = outside("10.244.0.5", 80);
    assert_eq!(under(&input("fib daddr type local"), &here), Outcome::Drop);
    assert_eq!(under(&input("fib daddr type local"), &on), PASSED);
    assert_eq!(under(&input("fib saddr type local"), &here), Outcome::Local);
    assert_eq!(under(&input("fib saddr . iif oif exists"), &on), Outcome::Drop);
    assert_eq!(under(&input("fib saddr . iif oif missing"), &on), PASSED);
    assert_eq!(under(&input("fib daddr oifname \"veth1\""), &on), Outcome::Drop);
    let v6 = outside("2001:db8:1::a", 80);
    assert_eq!(under(&input("fib daddr type local"), &v6), Outcome::Drop);
}

/// kernel: of a process' packet `meta skuid` is known at output, and absent once it came in over lo.
#[test]
fn only_a_process_packet_has_an_owner() {
    let out = node(&chain("filter hook output priority 0", "meta skuid 0 drop"));
    let outcomes = shares(&out, &process("10.9.9.9", 80));
    assert!(matches!(outcomes.keys().next(), Some(Outcome::Unknown(_))));
    let pre = node(&chain("filter hook prerouting priority 0", "meta skuid 0 drop"));
    assert_eq!(outcome(&pre, &process("192.0.2.10", 80)), Outcome::Local);
}
