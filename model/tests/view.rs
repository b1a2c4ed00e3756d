//! Each decision of a proxier, on small objects.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::net::IpAddr;

use kps_flow::Family;
use kps_model::read::read_text;
use kps_model::{Config, Detector, KubeVersion, Mode, NodeView, PortView, config, view};

const NODES: &str = "
apiVersion: v1
kind: Node
metadata: {name: a, labels: {topology.kubernetes.io/zone: z1}}
spec: {podCIDRs: [10.244.0.0/24, 'fd00:10:244::/64']}
status:
  addresses:
  - {type: ExternalIP, address: 203.0.113.9}
  - {type: InternalIP, address: 192.0.2.10}
  - {type: InternalIP, address: '2001:db8::a'}
---
";

fn service(spec: &str) -> String {
    format!(
        "{NODES}apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop}}\n\
         spec: {{clusterIP: 10.96.0.1, ports: [{{name: http, port: 80}}], {spec}}}\n---\n"
    )
}

/// A slice whose endpoints are given as `ADDRESS{conditions and more}`.
fn slice(name: &str, endpoints: &[&str]) -> String {
    let endpoints: String = endpoints.iter().map(|e| ["- {", e, "}\n"].concat()).collect();
    format!(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\nmetadata:\n  \
         name: {name}\n  namespace: shop\n  labels: {{kubernetes.io/service-name: web}}\n\
         ports: [{{name: http, port: 8080}}]\nendpoints:\n{endpoints}---\n"
    )
}

fn seen(text: &str, config: &Config, version: KubeVersion) -> NodeView {
    let reading = read_text("objects", text);
    assert_eq!(reading.diagnostics, []);
    view(&reading.cluster, config, "a", version, Family::V4)
}

fn port(text: &str) -> PortView {
    let view = seen(text, &Config::default(), KubeVersion::NEWEST);
    view.ports.into_iter().next().unwrap()
}

fn names(port: &PortView, indices: &[usize]) -> Vec<String> {
    indices.iter().map(|index| port.endpoints[*index].address.ip().to_string()).collect()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn services_that_are_not_for_kube_proxy_are_passed_over() {
    let count = |text: &str| seen(text, &Config::default(), KubeVersion::NEWEST).ports.len();
    assert_eq!(count(&service("type: ClusterIP")), 1);
    assert_eq!(count(&service("type: ExternalName")), 0);
    assert_eq!(count(&service("").replace("10.96.0.1", "None")), 0);
    let label = "namespace: shop, labels: {service.kubernetes.io/service-proxy-name: other}";
    assert_eq!(count(&service("").replace("namespace: shop", label)), 0);
    assert_eq!(count(&service("ipFamilies: [IPv6], clusterIPs: ['fd00::1']")), 0);
}

#[test]
fn an_object_that_is_left_out_has_a_reason() {
    use kps_model::view::{endpoints, frontends};
    let reason = |text: &str| {
        let cluster = read_text("objects", text).cluster;
        frontends::exclusion(&cluster.services[0], Family::V4, KubeVersion::V1_35)
    };
    let labelled = |label: &str| {
        let labels = format!("namespace: shop, labels: {{service.kubernetes.io/{label}: x}}");
        service("").replace("namespace: shop", &labels)
    };
    assert_eq!(reason(&service("")), None);
    let expected = [
        (labelled("service-proxy-name"), frontends::Exclusion::OtherProxy),
        (labelled("headless"), frontends::Exclusion::HeadlessLabel),
        (service("").replace("10.96.0.1", "None"), frontends::Exclusion::Headless),
        (service("type: ExternalName"), frontends::Exclusion::ExternalName),
        (service("").replace("10.96.0.1", "fd00::1"), frontends::Exclusion::OtherFamily),
    ];
    for (text, exclusion) in expected {
        assert_eq!(reason(&text), Some(exclusion), "{text}");
    }
    let cluster = read_text("objects", &slice("s", &["addresses: [10.0.0.1]"])).cluster;
    let of = |family| endpoints::exclusion(&cluster.slices[0], family, KubeVersion::NEWEST);
    assert_eq!((of(Family::V4), of(Family::V6)), (None, Some(endpoints::Exclusion::OtherFamily)));
}

#[test]
fn a_headless_label_on_a_service_counts_up_to_1_35() {
    let label = "namespace: shop, labels: {service.kubernetes.io/headless: ''}";
    let text = service("").replace("namespace: shop", label);
    let count = |version| seen(&text, &Config::default(), version).ports.len();
    assert_eq!((count(KubeVersion::V1_35), count(KubeVersion::V1_36)), (0, 1));
}

#[test]
fn the_policy_for_outside_traffic_needs_a_way_in() {
    let local = |spec: &str| port(&service(spec)).port.external_local;
    assert!(!local("externalTrafficPolicy: Local"));
    assert!(local("externalTrafficPolicy: Local, externalIPs: [203.0.113.1]"));
    assert!(local("externalTrafficPolicy: Local, type: NodePort"));
}

#[test]
fn of_two_ports_with_one_key_the_later_one_wins() {
    let twice = "ports: [{name: http, port: 80}, {name: http, port: 81}]";
    let text = service("").replace("ports: [{name: http, port: 80}]", twice);
    let reading = read_text("objects", &text);
    assert_eq!(reading.diagnostics[0].field.as_deref(), Some("spec.ports[0].name"));
    let view = view(&reading.cluster, &Config::default(), "a", KubeVersion::NEWEST, Family::V4);
    assert_eq!(view.ports.iter().map(|p| p.port.port).collect::<Vec<_>>(), [81]);
}

#[test]
fn a_range_of_length_zero_lifts_the_restriction() {
    let ranges = |list: &str| {
        port(&service(&format!("loadBalancerSourceRanges: [{list}]"))).port.source_ranges.len()
    };
    assert_eq!(ranges("10.0.0.0/8, ' 192.0.2.0/24'"), 2);
    assert_eq!(ranges("10.0.0.0/8, 0.0.0.0/0"), 0);
    assert_eq!(ranges("10.0.0.0/8, '::/0'"), 1);
}

#[test]
fn endpoints_are_ordered_by_their_text() {
    let text = service("")
        + &slice(
            "s",
            &[
                "addresses: [10.0.0.9]",
                "addresses: [10.0.0.10]",
                "addresses: [10.0.0.228]",
                "addresses: [10.0.0.22]",
            ],
        );
    let port = port(&text);
    assert_eq!(names(&port, &port.cluster), ["10.0.0.10", "10.0.0.228", "10.0.0.22", "10.0.0.9"]);
}

#[test]
fn of_two_endpoints_with_one_address_the_release_decides() {
    let terminating = "addresses: [10.0.0.1], conditions: {ready: false, terminating: true}";
    let ready = "addresses: [10.0.0.1]";
    let local = "addresses: [10.0.0.1], nodeName: a, conditions: {ready: false, terminating: true}";
    let kept = |first: &str, second: &str, version| {
        let text = service("") + &slice("s1", &[first]) + &slice("s2", &[second]);
        seen(&text, &Config::default(), version).ports.remove(0).endpoints.remove(0)
    };
    assert!(kept(terminating, ready, KubeVersion::V1_37).ready);
    assert!(!kept(terminating, ready, KubeVersion::V1_35).ready);
    assert!(kept(ready, local, KubeVersion::V1_37).ready);
    assert!(kept(ready, local, KubeVersion::V1_35).is_local);
}

#[test]
fn terminating_endpoints_serve_when_no_other_does() {
    let draining = "conditions: {ready: false, serving: true, terminating: true}";
    let text = service("type: NodePort, externalTrafficPolicy: Local")
        + &slice(
            "s",
            &[
                &format!("addresses: [10.0.0.1], nodeName: a, {draining}"),
                "addresses: [10.0.0.2], nodeName: b",
            ],
        );
    let port =
        port(&text.replace("name: http, port: 80}", "name: http, port: 80, nodePort: 30080}"));
    assert_eq!(names(&port, &port.cluster), ["10.0.0.2"]);
    assert_eq!(names(&port, &port.local), ["10.0.0.1"]);
    assert_eq!(names(&port, &port.reachable), ["10.0.0.1", "10.0.0.2"]);
}

#[test]
fn hints_count_only_if_every_ready_endpoint_has_one() {
    let z1 = "hints: {forZones: [{name: z1}]}";
    let z2 = "hints: {forZones: [{name: z2}]}";
    let chosen = |second: &str| {
        let text = service("")
            + &slice(
                "s",
                &[
                    &format!("addresses: [10.0.0.1], {z1}"),
                    &format!("addresses: [10.0.0.2]{second}"),
                ],
            );
        let port = port(&text);
        names(&port, &port.cluster)
    };
    assert_eq!(chosen(&format!(", {z2}")), ["10.0.0.1"]);
    assert_eq!(chosen(""), ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(chosen(", conditions: {ready: false}"), ["10.0.0.1"]);
}

#[test]
fn hints_for_nodes_come_first_unless_their_gate_is_off() {
    let text = service("")
        + &slice(
            "s",
            &[
                "addresses: [10.0.0.1], hints: {forZones: [{name: z1}], forNodes: [{name: b}]}",
                "addresses: [10.0.0.2], hints: {forZones: [{name: z1}], forNodes: [{name: a}]}",
            ],
        );
    let mut config = Config::default();
    let chosen = |config: &Config| {
        let view = seen(&text, config, KubeVersion::V1_34);
        names(&view.ports[0], &view.ports[0].cluster)
    };
    assert_eq!(chosen(&config), ["10.0.0.2"]);
    config.gates.prefer_same_traffic_distribution = false;
    assert_eq!(chosen(&config), ["10.0.0.1", "10.0.0.2"]);
}

#[test]
fn internal_addresses_come_before_external_ones() {
    let view = seen(NODES, &Config::default(), KubeVersion::NEWEST);
    assert_eq!(view.node_ip, ip("192.0.2.10"));
    assert_eq!(view.interface_addresses, [ip("127.0.0.1"), ip("192.0.2.10"), ip("203.0.113.9")]);
    let nobody = seen("", &Config::default(), KubeVersion::NEWEST);
    assert_eq!(nobody.node_ip, ip("127.0.0.1"));
    let bound = Config { bind_address: Some(ip("198.18.0.1")), ..Config::default() };
    assert_eq!(seen(NODES, &bound, KubeVersion::NEWEST).node_ip, ip("198.18.0.1"));
}

#[test]
fn node_port_addresses_know_words_and_defaults() {
    let cidrs = |words: &str, mode, version| {
        let text = format!("nodePortAddresses: [{words}]\n");
        let (config, _) = config::read("c", &text, Some(mode)).unwrap();
        let view = seen(NODES, &config, version);
        view.node_ports.cidrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let new = KubeVersion::V1_37;
    assert_eq!(cidrs("", Mode::Nftables, new), "192.0.2.10/32");
    assert_eq!(cidrs("", Mode::Iptables, new), "0.0.0.0/0");
    assert_eq!(cidrs("primary, localhost", Mode::Iptables, new), "192.0.2.10/32 127.0.0.0/8");
    assert_eq!(cidrs("all", Mode::Nftables, new), "0.0.0.0/0");
    assert_eq!(cidrs("primary", Mode::Iptables, KubeVersion::V1_36), "192.0.2.10/32");
    assert_eq!(cidrs("'2001:db8::/64'", Mode::Nftables, new), "0.0.0.0/0");
}

#[test]
fn loopback_is_contained_up_to_the_first_zero_cidr() {
    let node_ports = |words: &str| {
        let text = format!("nodePortAddresses: [{words}]\n");
        let (config, _) = config::read("c", &text, Some(Mode::Iptables)).unwrap();
        seen(NODES, &config, KubeVersion::NEWEST).node_ports
    };
    assert!(node_ports("0.0.0.0/0").contains_ipv4_loopback);
    assert!(!node_ports("0.0.0.0/0").contains_explicit_loopback);
    assert!(node_ports("127.0.0.1/32").contains_explicit_loopback);
    assert!(!node_ports("192.0.2.0/24").contains_ipv4_loopback);
}

#[test]
fn detectors_take_the_first_range_of_the_family() {
    let detector = |text: &str| {
        let (config, _) = config::read("c", text, None).unwrap();
        seen(NODES, &config, KubeVersion::NEWEST).detector
    };
    let cidr = |text: &str| Some(Detector::Cidr(text.parse().unwrap()));
    assert_eq!(detector(""), None);
    assert_eq!(detector("clusterCIDR: 'fd00::/56'"), None);
    assert_eq!(detector("clusterCIDR: 10.244.7.0/16"), cidr("10.244.0.0/16"));
    assert_eq!(detector("detectLocalMode: NodeCIDR"), cidr("10.244.0.0/24"));
}
