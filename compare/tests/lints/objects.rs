//! What objects and configuration alone reveal, beyond the small changes of the table.

use std::collections::BTreeSet;

use kps_model::{KubeVersion, Mode};

use crate::sound::Trial;

fn fired(mode: Mode, edits: &[&str]) -> BTreeSet<&'static str> {
    Trial::new(mode, edits).fired()
}

/// A second slice of `web`, whose port is written in the place of PORTS.
const SECOND_SLICE: &str = "
---
kind: EndpointSlice
addressType: IPv4
metadata: {name: web-y, namespace: shop, labels: {kubernetes.io/service-name: web}}
ports: [PORTS]
endpoints: [{addresses: [10.244.1.7], nodeName: b}]
";

fn with_second_slice(ports: &str) -> BTreeSet<&'static str> {
    let slice = SECOND_SLICE.replace("PORTS", ports);
    Trial::new(Mode::Nftables, &[]).with_objects(&slice).fired()
}

#[test]
fn a_port_that_only_some_slices_have_is_told() {
    assert_eq!(with_second_slice("{name: p, port: 8080}"), [].into());
    assert_eq!(with_second_slice("{name: q, port: 8080}"), ["port-on-some-slices"].into());
    assert_eq!(with_second_slice("{name: p}"), ["port-on-some-slices"].into());
}

#[test]
fn a_port_with_several_numbers_is_told() {
    assert_eq!(with_second_slice("{name: p, port: 9090}"), ["port-with-several-numbers"].into());
}

#[test]
fn further_addresses_of_an_endpoint_are_told() {
    let edit = "addresses: [10.244.0.2] => addresses: [10.244.0.2, 10.244.0.3]";
    assert_eq!(fired(Mode::Nftables, &[edit]), ["endpoint-extra-addresses"].into());
}

#[test]
fn source_ranges_that_nothing_enforces_are_told() {
    let ranges = "ports: => loadBalancerSourceRanges: [198.51.100.0/24], ports:";
    let proxied = fired(Mode::Nftables, &[ranges]);
    assert!(proxied.contains("source-ranges-moot"), "{proxied:?}");
    let served = fired(Mode::Nftables, &[ranges, "ipMode: Proxy => ipMode: VIP"]);
    assert!(!served.contains("source-ranges-moot"), "{served:?}");
}

#[test]
fn a_family_without_source_ranges_is_open() {
    let dual = [
        "clusterIPs: [10.96.0.1] => clusterIPs: [10.96.0.1, 'fd00:96::1'], ipFamilies: [IPv4, IPv6]",
        "[{ip: 172.16.0.1, ipMode: Proxy}] => [{ip: 172.16.0.1}, {ip: 'fd00:172::1'}]",
    ];
    let one = "ports: => loadBalancerSourceRanges: [198.51.100.0/24], ports:";
    let found = Trial::new(Mode::Nftables, &[dual[0], dual[1], one]).with_objects(SIX).found();
    let open = found.iter().find(|f| f.lint.about().id == "source-ranges-one-family").unwrap();
    let outcome = &open.witness.as_ref().unwrap().outcomes[0].0;
    assert!(outcome.to_string().starts_with("delivered"), "{outcome}");
    let both = "ports: => loadBalancerSourceRanges: [198.51.100.0/24, 'fd00::/64'], ports:";
    let fired = Trial::new(Mode::Nftables, &[dual[0], dual[1], both]).with_objects(SIX).fired();
    assert!(!fired.contains("source-ranges-one-family"), "{fired:?}");
}

const SIX: &str = "
---
kind: EndpointSlice
addressType: IPv6
metadata: {name: web-6, namespace: shop, labels: {kubernetes.io/service-name: web}}
ports: [{name: p, port: 8080}]
endpoints: [{addresses: ['fd00:244::2'], nodeName: a}]
";

#[test]
fn an_address_of_mode_proxy_that_nodes_serve_is_told() {
    let external = "clusterIP: 10.96.0.2, => externalIPs: [172.16.0.1], clusterIP: 10.96.0.2,";
    for mode in [Mode::Iptables, Mode::Nftables, Mode::Ipvs] {
        let fired = fired(mode, &[external]);
        assert!(fired.contains("proxy-address-served"), "{mode}: {fired:?}");
    }
}

#[test]
fn a_balancer_without_node_port_has_no_way() {
    let without = ", nodePort: 30080 => ";
    assert_eq!(fired(Mode::Nftables, &[without]), ["balancer-without-way"].into());
    let served = fired(Mode::Nftables, &[without, "ipMode: Proxy => ipMode: VIP"]);
    assert_eq!(served, [].into());
}

#[test]
fn affinity_that_the_kernel_keeps_otherwise_is_told() {
    let affinity = |seconds: u32| {
        format!(
            "ports: => sessionAffinity: ClientIP, sessionAffinityConfig: {{clientIP: {{timeoutSeconds: {seconds}}}}}, ports:"
        )
    };
    assert_eq!(fired(Mode::Ipvs, &[&affinity(60)]), ["affinity-too-short"].into());
    for mode in [Mode::Iptables, Mode::Nftables, Mode::Ipvs] {
        assert_eq!(fired(mode, &[&affinity(10_800)]), [].into(), "{mode}");
    }
}

#[test]
fn more_clients_than_a_list_holds_are_told() {
    let affinity = "ports: => sessionAffinity: ClientIP, ports:";
    let pods: Vec<String> =
        (10..110).map(|host| format!("{{addresses: [10.244.1.{host}], nodeName: b}}")).collect();
    let many = format!(
        "endpoints: [{{addresses: [10.244.1.2] => endpoints: [{}, {{addresses: [10.244.1.2]",
        pods.join(", ")
    );
    assert_eq!(fired(Mode::Iptables, &[affinity, &many]), ["affinity-forgets-clients"].into());
    assert_eq!(fired(Mode::Nftables, &[affinity, &many]), [].into());
}

#[test]
fn the_health_check_of_ipvs_answers_on_service_addresses() {
    let local =
        "LoadBalancer, => LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 32000,";
    assert_eq!(fired(Mode::Ipvs, &[local]), ["health-port-on-service-address"].into());
    assert_eq!(fired(Mode::Iptables, &[local]), [].into());
}

#[test]
fn an_interface_name_that_is_too_long_is_told() {
    let of = |mode, prefix: &str| {
        let detect = format!(
            "clusterCIDR: 10.244.0.0/16 => detectLocalMode: InterfaceNamePrefix\ndetectLocal: {{interfaceNamePrefix: {prefix}}}"
        );
        fired(mode, &[&detect]).contains("interface-name-too-long")
    };
    assert!(!of(Mode::Nftables, "abcdefghijklmno") && of(Mode::Nftables, "abcdefghijklmnop"));
    assert!(!of(Mode::Iptables, "abcdefghijklmn") && of(Mode::Iptables, "abcdefghijklmno"));
}

#[test]
fn a_family_that_a_node_has_no_address_of_is_told() {
    let dual = "clusterIPs: [10.96.0.1] => clusterIPs: [10.96.0.1, 'fd00:96::1'], ipFamilies: [IPv4, IPv6]";
    let fired = Trial::new(Mode::Nftables, &[dual]).with_objects(SIX).fired();
    assert!(fired.contains("node-without-family"), "{fired:?}");
}

#[test]
fn addresses_on_the_nodes_network_are_answered_by_every_node() {
    let near = ["172.16.0.1 => 192.0.2.99", "ipMode: Proxy => ipMode: VIP"];
    let fired_with = |strict: &[&str]| fired(Mode::Ipvs, &[&near, strict].concat());
    assert!(fired_with(&[]).contains("arp-for-service-address"));
    let strict = fired_with(&["clusterCIDR: => ipvs: {strictARP: true}\nclusterCIDR:"]);
    assert!(!strict.contains("arp-for-service-address"), "{strict:?}");
}

#[test]
fn a_sync_that_fails_is_told_and_nothing_is_said_of_promises() {
    let (space, name, port) = ("n".repeat(62), "s".repeat(63), "p".repeat(15));
    let service = LONG.replace("SPACE", &space).replace("NAME", &name).replace("PORT", &port);
    let trial = |version| Trial::new(Mode::Nftables, &[]).with_objects(&service).of(version);
    let before = trial(KubeVersion::V1_36).fired();
    assert!(before.contains("sync-fails"), "{before:?}");
    assert!(!before.contains("promise-broken"), "{before:?}");
    assert!(!trial(KubeVersion::V1_37).fired().contains("sync-fails"));
}

/// A Service without endpoints: the comment of its element names all of it.
const LONG: &str = "
---
kind: Service
metadata: {name: NAME, namespace: SPACE}
spec: {clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], ports: [{name: PORT, port: 80}]}
";
