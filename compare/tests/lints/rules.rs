//! Rules of a node, rendered or dumped, that cannot be right.

use std::collections::BTreeSet;

use kps_model::Mode;
use kps_ruleset::ipset::{Element, Entry, Port};
use kps_ruleset::{Name, NodeState, Protocol};

use crate::sound::Trial;

fn fired(mode: Mode, edits: &[&str], rules: &[&str]) -> BTreeSet<&'static str> {
    Trial::new(mode, edits).with_rules(rules).fired()
}

#[test]
fn a_set_that_is_too_small_is_told_with_the_packet_that_fails() {
    let small = |state: &mut NodeState| {
        let set = state.ipset.sets.get_mut(&Name::new("KUBE-CLUSTER-IP")).unwrap();
        set.options.max_elements = Some(1);
    };
    let found = Trial::new(Mode::Ipvs, &[]).on(small).found();
    let full = found.iter().find(|f| f.lint.about().id == "value-not-storable").unwrap();
    assert_eq!(full.objects, ["IP set KUBE-CLUSTER-IP"]);
    assert!(full.witness.is_some());
}

#[test]
fn a_range_of_length_zero_is_no_value_for_a_set() {
    let zero = |state: &mut NodeState| {
        let sets = &mut state.ipset.sets;
        let set = sets.get_mut(&Name::new("KUBE-LOAD-BALANCER-SOURCE-CIDR")).unwrap();
        let http = Port { protocol: Protocol::TCP, port: 80 };
        let vip = "172.16.0.1".parse().unwrap();
        let open = Element::IpPortNet(vip, http, "0.0.0.0/0".parse().unwrap());
        set.entries.insert(open, Entry::default());
    };
    let fired = Trial::new(Mode::Ipvs, &[]).on(zero).fired();
    assert!(fired.contains("value-not-storable"), "{fired:?}");
}

#[test]
fn a_rule_behind_one_that_takes_its_packets_is_told() {
    let first = "-A KUBE-SVC-XFKN4M7H6MSYKOEJ -m comment => -A KUBE-SVC-XFKN4M7H6MSYKOEJ -j RETURN\n-A KUBE-SVC-XFKN4M7H6MSYKOEJ -m comment";
    let found = Trial::new(Mode::Iptables, &[]).with_rules(&[first]).found();
    let hidden = found.iter().find(|f| f.lint.about().id == "rule-unreachable").unwrap();
    assert_eq!(hidden.objects, ["Service shop/web"]);
    assert!(hidden.detail.contains("-j RETURN"), "{}", hidden.detail);
    let drop = "meta l4proto tcp dnat to 10.244.0.2:8080 => drop\n\t\tmeta l4proto tcp dnat to 10.244.0.2:8080";
    assert!(fired(Mode::Nftables, &[], &[drop]).contains("rule-unreachable"));
}

#[test]
fn of_two_services_with_one_address_one_is_never_reached() {
    let external = "clusterIP: 10.96.0.2, => externalIPs: [172.16.0.7], clusterIP: 10.96.0.2,";
    let same = "clusterIP: 10.96.0.1, => externalIPs: [172.16.0.7], clusterIP: 10.96.0.1,";
    assert!(fired(Mode::Iptables, &[external, same], &[]).contains("rule-unreachable"));
}

#[test]
fn a_chain_to_which_nothing_leads_is_told() {
    let cut = "--dport 80 -j KUBE-SVC-AZPJCSE4EI4QT3YG => --dport 80 -j ACCEPT";
    let fired = fired(Mode::Iptables, &[], &[cut]);
    assert!(fired.contains("rule-unreachable"), "{fired:?}");
    assert!(fired.contains("promise-broken"), "{fired:?}");
}

#[test]
fn an_affinity_time_that_the_service_does_not_have_is_told() {
    let affinity = "ports: => sessionAffinity: ClientIP, ports:";
    let cases = [
        (Mode::Iptables, "--seconds 10800 => --seconds 180"),
        (Mode::Nftables, "timeout 3h => timeout 3m"),
        (Mode::Ipvs, "-p 10800 => -p 180"),
    ];
    for (mode, rule) in cases {
        assert_eq!(
            fired(mode, &[affinity], &[rule]),
            ["affinity-timeout-differs"].into(),
            "{mode}"
        );
        assert_eq!(fired(mode, &[affinity], &[]), [].into(), "{mode}");
    }
}

#[test]
fn a_health_check_must_not_hide_a_hole() {
    let local =
        "LoadBalancer, => LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 32000,";
    let cut = "--to-destination 10.244.0.2:8080 => --to-destination 10.244.1.9:8080";
    assert!(fired(Mode::Iptables, &[local], &[cut]).contains("health-check-hides-hole"));
    assert_eq!(fired(Mode::Iptables, &[local], &[]), [].into());
}

#[test]
fn a_rule_that_the_model_does_not_know_is_told() {
    let odd = "-A KUBE-SERVICES -m comment => -A KUBE-SERVICES -m bpf --object-pinned /x -j DROP\n-A KUBE-SERVICES -m comment";
    let found = fired(Mode::Iptables, &[], &[odd]);
    assert!(found.contains("outcome-unknown"), "{found:?}");
}

#[test]
fn a_memory_of_an_endpoint_that_is_gone_is_told() {
    let affinity = "ports: => sessionAffinity: ClientIP, ports:";
    let edit = "--to-destination 10.244.0.2:8080 => --to-destination 10.244.0.9:8080";
    assert!(fired(Mode::Iptables, &[affinity], &[edit]).contains("affinity-to-unchosen"));
}
