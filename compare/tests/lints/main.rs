//! Each lint fires on a small change to a sound cluster, and not on one that only looks like it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod node;
mod objects;
mod promises;
mod rules;
mod sound;

use std::collections::BTreeSet;

use kps_compare::lint::Lint;
use kps_model::Mode;
use sound::Trial;

fn fired(mode: Mode, edits: &[&str]) -> BTreeSet<&'static str> {
    Trial::new(mode, edits).fired()
}

#[test]
fn nothing_fires_on_a_sound_cluster() {
    for mode in [Mode::Iptables, Mode::Nftables, Mode::Ipvs] {
        assert_eq!(fired(mode, &[]), BTreeSet::new(), "{mode}");
    }
}

const EXTERNAL: &str = "clusterIP: 10.96.0.2, => externalIPs: [ADDRESS], clusterIP: 10.96.0.2,";

#[test]
fn captured_addresses_are_told_by_whose_they_are() {
    let of = |address| fired(Mode::Nftables, &[&EXTERNAL.replace("ADDRESS", address)]);
    assert!(of("192.0.2.11").contains("takes-node-address"));
    assert!(of("10.244.0.2").contains("takes-endpoint-address"));
    assert!(of("10.96.0.1").contains("takes-cluster-ip"));
    assert!(of("10.96.0.1").contains("shared-address"));
    assert!(of("10.244.1.77").contains("takes-cluster-range"));
    assert!(of("203.0.113.9").contains("takes-public-address"));
    assert_eq!(of("172.16.0.9"), BTreeSet::new());
}

#[test]
fn each_change_gives_its_lint_and_no_other() {
    let cases: [(&str, &[&str]); 14] = [
        ("detector-misses-pods", &["10.244.0.0/16 => 10.32.0.0/16"]),
        ("detector-covers-all", &["clusterCIDR: 10.244.0.0/16 => clusterCIDR: 0.0.0.0/0"]),
        ("no-detector", &["clusterCIDR: 10.244.0.0/16 => bindAddress: 0.0.0.0"]),
        ("endpoint-without-node", &["[10.244.1.2], nodeName: b => [10.244.1.2]"]),
        ("endpoint-on-other-node", &["[10.244.1.2], nodeName: b => [10.244.1.2], nodeName: a"]),
        ("endpoint-on-unknown-node", &["[10.244.1.2], nodeName: b => [10.244.1.2], nodeName: c"]),
        ("ready-not-serving", &["serving: true => serving: false"]),
        ("no-usable-endpoint", &["ready: true, serving: true => ready: false, serving: false"]),
        ("port-without-slice-port", &["[{name: p, port: 8080}] => [{name: q, port: 8080}]"]),
        ("source-range-blank", &["ports: => loadBalancerSourceRanges: [' 0.0.0.0/0'], ports:"]),
        (
            "other-family",
            &["clusterIP: 10.96.0.2, => externalIPs: ['fd00::9'], clusterIP: 10.96.0.2,"],
        ),
        ("node-port-shadows-daemon", &["nodePort: 30080 => nodePort: 10250"]),
        (
            "ranges-overlap",
            &["podCIDRs: [10.244.1.0/24] => podCIDRs: [10.244.1.0/24, 10.244.0.0/28]"],
        ),
        (
            "node-port-addresses-none",
            &["clusterCIDR: => nodePortAddresses: [198.18.0.0/15]\nclusterCIDR:"],
        ),
    ];
    for (lint, edits) in cases {
        let known = Lint::ALL.iter().any(|known| known.about().id == lint);
        assert!(known, "{lint} is no lint");
        assert_eq!(fired(Mode::Nftables, edits), BTreeSet::from([lint]), "{edits:?}");
    }
}

const VIP: &str = "ipMode: Proxy => ipMode: VIP";
const LOCAL: &str = "LoadBalancer, => LoadBalancer, externalTrafficPolicy: Local,";
const FAR: &str = "[10.244.0.2], nodeName: a => [10.244.1.9], nodeName: b";
const RANGES: &str = "ports: => loadBalancerSourceRanges: [198.51.100.0/24], ports:";

/// Mode, lint that fires among others, and edits.
const AMONG_OTHERS: [(Mode, &str, &[&str]); 17] = [
    (
        Mode::Nftables,
        "masquerade-all",
        &["clusterCIDR: => nftables: {masqueradeAll: true}\nclusterCIDR:"],
    ),
    (Mode::Nftables, "unknown-node", &["clusterCIDR: => hostnameOverride: c\nclusterCIDR:"]),
    (
        Mode::Nftables,
        "source-range-open",
        &["ports: => loadBalancerSourceRanges: [0.0.0.0/0, 10.0.0.0/8], ports:"],
    ),
    (Mode::Nftables, "source-range-bypass", &[RANGES]),
    (Mode::Nftables, "source-range-without-cluster", &[RANGES, VIP]),
    (Mode::Nftables, "local-policy-unserved", &[LOCAL, FAR]),
    (
        Mode::Nftables,
        "local-policy-nowhere",
        &[LOCAL, "[10.244.0.2], nodeName: a => [10.9.9.9], nodeName: c"],
    ),
    (
        Mode::Nftables,
        "left-to-other-proxy",
        &["name: other, => labels: {service.kubernetes.io/service-proxy-name: x}, name: other,"],
    ),
    (Mode::Nftables, "slice-without-service", &["service-name: other => service-name: absent"]),
    (
        Mode::Nftables,
        "affinity-by-port",
        &[
            "ports: [{name: p, port: 80, => sessionAffinity: ClientIP, ports: [{name: q, port: 81}, {name: p, port: 80,",
        ],
    ),
    (
        Mode::Nftables,
        "detector-covers-nodes",
        &["10.244.0.0/16 => 0.0.0.0/1", "192.0.2.10 => 64.0.2.10"],
    ),
    (
        Mode::Nftables,
        "shared-node-port",
        &[
            "clusterIP: 10.96.0.2, => type: NodePort, clusterIP: 10.96.0.2,",
            "port: 80}] => port: 80, nodePort: 30080}]",
        ],
    ),
    (
        Mode::Nftables,
        "node-port-addresses-one-family",
        &["clusterCIDR: => nodePortAddresses: ['fd00::/64']\nclusterCIDR:"],
    ),
    (
        Mode::Nftables,
        "endpoint-twice",
        &[
            "endpoints: [ => endpoints: [{addresses: [10.244.0.2], nodeName: a, conditions: {ready: false}}, ",
        ],
    ),
    (Mode::Ipvs, "reply-misses-node", &[LOCAL, FAR, VIP]),
    (Mode::Ipvs, "balancer-probes-discarded", &[VIP]),
    (Mode::Ipvs, "node-port-on-service-address", &["port: 80}] => port: 30080}]"]),
];

#[test]
fn services_that_meet_or_leave_clients_out_are_told() {
    for (mode, lint, edits) in AMONG_OTHERS {
        let fired = fired(mode, edits);
        assert!(fired.contains(lint), "{lint}: {fired:?}");
    }
}

#[test]
fn near_misses_stay_silent() {
    let cases: [(Mode, &[&str]); 4] = [
        (Mode::Nftables, &["port: 80}] => port: 30080}]"]),
        (Mode::Nftables, &["LoadBalancer, => LoadBalancer, externalTrafficPolicy: Local,"]),
        (Mode::Nftables, &["ports: => loadBalancerSourceRanges: [0.0.0.0/0], ports:"]),
        (Mode::Ipvs, &["172.16.0.1 => 192.0.2.99"]),
    ];
    for (mode, edits) in cases {
        assert_eq!(fired(mode, edits), BTreeSet::new(), "{mode} {edits:?}");
    }
}
