//! Translation of destinations and sources.

use kps_flow::{Outcome, Protocol};

use crate::world::{
    PASSED, by, kept, masqueraded, node, outcome, outside, pod, process, share, shares, under,
};

/// A Service at 10.96.0.1:80 with two endpoints, as kube-proxy writes it, masquerading all.
const SERVICE: &str = "table ip t {
    chain pre { type nat hook prerouting priority dstnat; jump services }
    chain out { type nat hook output priority -100; jump services }
    chain services { ip daddr 10.96.0.1 tcp dport 80 meta mark set mark | 0x4000
        ip daddr 10.96.0.1 tcp dport 80 dnat ip to numgen random mod 2 map { 0 : 10.244.0.5 . 8080, 1 : 10.244.1.5 . 8080 } }
    chain post { type nat hook postrouting priority srcnat;
        meta mark & 0x4000 != 0 meta mark set mark ^ 0x4000 masquerade fully-random }
}";

#[test]
fn a_map_translates_address_and_port() {
    let outcomes = shares(&node(SERVICE), &outside("10.96.0.1", 80));
    let half = share(1, 2);
    assert_eq!(outcomes[&masqueraded("10.244.0.5:8080", "192.0.2.10")], half);
    assert_eq!(outcomes[&masqueraded("10.244.1.5:8080", "192.0.2.10")], half);
}

#[test]
fn a_node_process_is_routed_again_after_its_destination_changed() {
    let rules = SERVICE.replace(
        "chain post",
        "chain by { type filter hook postrouting priority 0; oifname veth1 drop }\nchain post",
    );
    let outcomes = shares(&node(&rules), &process("10.96.0.1", 80));
    assert_eq!(outcomes[&Outcome::Drop], share(1, 2));
}

/// The port alone changes: the address that masquerading puts in was there already.
#[test]
fn masquerading_a_node_process_draws_a_port() {
    let outcomes = shares(&node(SERVICE), &process("10.96.0.1", 80));
    assert!(outcomes.contains_key(&masqueraded("10.244.0.5:8080", "192.0.2.10")));
}

/// kernel: `masquerade` without `random` left address and port, and `ct status` had no `snat`.
#[test]
fn a_translation_to_what_is_there_is_none() {
    let rules = "table ip t { chain post { type nat hook postrouting priority 100; masquerade }
        chain late { type filter hook postrouting priority 200; ct status snat drop } }";
    assert_eq!(under(rules, &process("10.9.9.9", 80)), PASSED);
    assert_eq!(under(rules, &outside("10.9.9.9", 80)), Outcome::Drop);
    let random = rules.replace("masquerade", "masquerade random");
    assert_eq!(under(&random, &process("10.9.9.9", 80)), Outcome::Drop);
}

#[test]
fn masquerading_over_lo_takes_an_address_that_others_can_reach() {
    let rules = "table ip t {
        chain out { type nat hook output priority -100; tcp dport 1 dnat to 192.0.2.10:2 }
        chain post { type nat hook postrouting priority 100; masquerade fully-random }
    }";
    assert_eq!(under(rules, &process("10.96.0.1", 1)), masqueraded("192.0.2.10:2", "192.0.2.10"));
}

/// kernel: `redirect` of a process' packet went to 127.0.0.1.
#[test]
fn redirect_goes_to_this_host() {
    let rules = "table inet t {
        chain pre { type nat hook prerouting priority -100; tcp dport 1 redirect to :8080 }
        chain out { type nat hook output priority -100; tcp dport 1 redirect }
    }";
    assert_eq!(under(rules, &outside("10.96.0.1", 1)), kept("192.0.2.10:8080"));
    assert_eq!(under(rules, &outside("fd00:10:96::1", 1)), kept("[2001:db8:1::a]:8080"));
    assert_eq!(under(rules, &process("192.0.2.10", 1)), kept("127.0.0.1:1"));
}

#[test]
fn forms_of_dnat() {
    let rules = "table inet t { chain pre { type nat hook prerouting priority -100;
        tcp dport 1 dnat ip to 10.244.0.5
        tcp dport 2 dnat ip to 10.244.0.5:8080
        tcp dport 3 dnat ip6 to [fd00:10:244::5]:8080
        tcp dport 4 dnat to :8080
    } }";
    assert_eq!(under(rules, &outside("10.96.0.1", 1)), kept("10.244.0.5:1"));
    assert_eq!(under(rules, &outside("10.96.0.1", 2)), kept("10.244.0.5:8080"));
    assert_eq!(under(rules, &outside("10.96.0.1", 3)), PASSED);
    assert_eq!(under(rules, &outside("fd00:10:96::1", 3)), kept("[fd00:10:244::5]:8080"));
    assert_eq!(under(rules, &outside("10.96.0.1", 4)), kept("10.96.0.1:8080"));
}

#[test]
fn the_first_translation_of_a_side_stands() {
    let rules = "
        table ip a { chain pre { type nat hook prerouting priority -100; tcp dport 1 dnat to 10.244.0.5:2 } }
        table ip b { chain pre { type nat hook prerouting priority -90; dnat to 10.244.0.6:3 } }";
    assert_eq!(under(rules, &outside("10.96.0.1", 1)), kept("10.244.0.5:2"));
    assert_eq!(under(rules, &outside("10.96.0.1", 9)), kept("10.244.0.6:3"));
}

#[test]
fn source_translation_to_a_given_address() {
    let rules = "table ip t { chain post { type nat hook postrouting priority 100; snat to 192.0.2.99:1024-2048 } }";
    let passed = under(rules, &pod("10.9.9.9", 80));
    assert_eq!(passed.to_string(), "passed on, masqueraded as 192.0.2.99");
}

/// A session affinity set: as it was dumped, or empty.
#[test]
fn affinity_leads_back_to_the_endpoint_that_a_client_had() {
    let rules = "table ip t {
        set a { type ipv4_addr; size 65535; flags dynamic,timeout; timeout 3h; elements = { 198.51.100.7 expires 1h } }
        set b { type ipv4_addr; size 65535; flags dynamic,timeout; timeout 3h; }
        chain ea { update @a { ip saddr }
            dnat to 10.244.0.5:8080 }
        chain eb { update @b { ip saddr }
            dnat to 10.244.1.5:8080 }
        chain pre { type nat hook prerouting priority -100;
            ip saddr @a goto ea
            ip saddr @b goto eb
            numgen random mod 2 vmap { 0 : goto ea, 1 : goto eb } }
    }";
    let state = node(rules);
    assert_eq!(outcome(&state, &outside("10.96.0.1", 80)), kept("10.244.0.5:8080"));
    let walker = kps_sim::Walker::new(&state);
    let fresh = kps_sim::Options { fresh: true, ..kps_sim::Options::default() };
    assert_eq!(walker.walk(&outside("10.96.0.1", 80), &fresh).paths.len(), 2);
}

/// kernel: a process' packet to 127.0.0.1 that was to leave by another interface failed with EINVAL.
#[test]
fn loopback_addresses_do_not_leave() {
    let rules = "table ip t { chain out { type nat hook output priority -100; tcp dport 1 dnat to 10.244.0.5:1 }
        chain post { type nat hook postrouting priority 100; masquerade } }";
    assert_eq!(under(rules, &process("127.0.0.1", 1)), Outcome::Drop);
    let state =
        crate::world::with_host(node(rules), "", "", "net.ipv4.conf.all.route_localnet = 1");
    assert_eq!(
        outcome(&state, &process("127.0.0.1", 1)),
        masqueraded("10.244.0.5:1", "192.0.2.10")
    );
}

#[test]
fn icmp_is_translated_without_ports() {
    let rules = "table ip t { chain pre { type nat hook prerouting priority -100; ip daddr 10.96.0.1 dnat to 10.244.0.5 } }";
    let ping = by(Protocol::Icmp, outside("10.96.0.1", 0));
    assert_eq!(under(rules, &ping), kept("10.244.0.5:0"));
}
