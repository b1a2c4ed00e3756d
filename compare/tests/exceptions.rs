//! The smallest cluster and packet that show each exception.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use kps_compare::{Exception, Judgement, judge};
use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_model::{Config, KubeVersion, Mode, view};
use kps_render::node_state;
use kps_sim::Walker;

const MODES: [Mode; 3] = [Mode::Iptables, Mode::Nftables, Mode::Ipvs];

/// A Service with an endpoint on the node under test.
const ONE_SERVICE: &str = "
kind: Node
apiVersion: v1
metadata: {name: a}
status: {addresses: [{type: InternalIP, address: 192.0.2.10}, {type: InternalIP, address: '2001:db8::a'}]}
---
kind: ServiceCIDR
apiVersion: networking.k8s.io/v1
metadata: {name: kubernetes}
spec: {cidrs: [10.96.0.0/16]}
---
kind: Service
apiVersion: v1
metadata: {name: web, namespace: shop}
spec:
  type: LoadBalancer
  clusterIP: 10.96.0.1
  ports: [{name: p, port: 80, nodePort: 30080}]
  externalIPs: [203.0.113.1]
status: {loadBalancer: {ingress: [{ip: 203.0.113.11}]}}
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
addressType: IPv4
metadata: {name: web-x, namespace: shop, labels: {kubernetes.io/service-name: web}}
ports: [{name: p, port: 8080}]
endpoints: [{addresses: [10.244.0.2], nodeName: a}]
";

fn elsewhere() -> String {
    ONE_SERVICE.replace("nodeName: a", "nodeName: b")
}

fn without_endpoints() -> String {
    ONE_SERVICE.replace("nodeName: a", "nodeName: a, conditions: {ready: false}")
}

fn with_spec(objects: &str, field: &str) -> String {
    objects.replace("spec:\n  type", &format!("spec:\n  {field}\n  type"))
}

fn from_node(protocol: Protocol, destination: &str, port: u16) -> Flow {
    Flow {
        client: ClientClass::Node,
        interface: None,
        source: None,
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol,
        destination: destination.parse().unwrap(),
        port,
    }
}

fn from_eth0(client: ClientClass, source: &str, destination: &str, port: u16) -> Flow {
    let (interface, source) = (Some("eth0".to_owned()), Some(source.parse().unwrap()));
    Flow { client, interface, source, ..from_node(Protocol::Tcp, destination, port) }
}

fn from_outside(destination: &str, port: u16) -> Flow {
    from_eth0(ClientClass::Outside, "198.51.100.7", destination, port)
}

fn everywhere() -> Config {
    let node_port_addresses = vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
    Config { node_port_addresses, ..Config::default() }
}

fn judged(objects: &str, config: &Config, version: KubeVersion, flow: &Flow) -> Judgement {
    let cluster = kps_model::read::read_text("one Service", objects).cluster;
    let view = view(&cluster, config, "a", version, Family::of(flow.destination));
    let (state, _) = node_state(std::slice::from_ref(&view), config.mode);
    judge(&Walker::new(&state), &view, config.mode, flow)
}

/// Checks that a flow is excused by `exception` in some modes, and promised and kept in the others.
#[track_caller]
fn excused(exception: Exception, modes: &[Mode], objects: &str, config: &Config, flow: &Flow) {
    for mode in MODES {
        let config = Config { mode, ..config.clone() };
        let meant =
            if modes.contains(&mode) { Judgement::Excused(exception) } else { Judgement::Kept };
        assert_eq!(judged(objects, &config, KubeVersion::NEWEST, flow), meant, "{mode}");
    }
}

#[test]
fn what_is_plain_is_kept() {
    for flow in [
        from_node(Protocol::Tcp, "10.96.0.1", 80),
        from_node(Protocol::Tcp, "192.0.2.10", 30080),
        from_node(Protocol::Tcp, "198.51.100.99", 80),
        from_outside("203.0.113.1", 80),
        from_outside("203.0.113.11", 80),
    ] {
        excused(Exception::D03, &[], ONE_SERVICE, &everywhere(), &flow);
    }
}

#[test]
fn d03_node_ports_on_loopback() {
    let flow = from_node(Protocol::Tcp, "127.0.0.1", 30080);
    excused(Exception::D03, &[Mode::Nftables, Mode::Ipvs], ONE_SERVICE, &everywhere(), &flow);
    let off = Config { localhost_node_ports: false, ..everywhere() };
    excused(Exception::D03, &MODES, ONE_SERVICE, &off, &flow);
}

#[test]
fn d04_node_ports_on_ipv6_loopback() {
    let objects = ONE_SERVICE
        .replace("10.96.0.1\n", "'2001:db8:1::1'\n")
        .replace("addressType: IPv4", "addressType: IPv6")
        .replace("[10.244.0.2]", "['2001:db8:2::2']");
    let flow = from_node(Protocol::Tcp, "::1", 30080);
    excused(Exception::D04, &MODES, &objects, &everywhere(), &flow);
}

#[test]
fn d07_port_that_no_service_has_on_a_cluster_ip() {
    let flow = from_node(Protocol::Tcp, "10.96.0.1", 81);
    excused(Exception::D07, &[Mode::Nftables, Mode::Ipvs], ONE_SERVICE, &everywhere(), &flow);
}

#[test]
fn d08_address_that_no_service_has() {
    let flow = from_node(Protocol::Tcp, "10.96.0.2", 80);
    excused(Exception::D08, &[Mode::Nftables], ONE_SERVICE, &everywhere(), &flow);
}

#[test]
fn d09_icmp_to_a_cluster_ip() {
    let flow = from_node(Protocol::Icmp, "10.96.0.1", 0);
    excused(Exception::D09, &[Mode::Nftables, Mode::Ipvs], ONE_SERVICE, &everywhere(), &flow);
}

#[test]
fn d10_refusals_of_iptables() {
    let objects = without_endpoints();
    for destination in ["203.0.113.1", "203.0.113.11"] {
        let flow = from_node(Protocol::Tcp, destination, 80);
        excused(Exception::D10, &[Mode::Iptables], &objects, &everywhere(), &flow);
        excused(Exception::D10, &[], &objects, &everywhere(), &from_outside(destination, 80));
    }
    let other = vec!["198.51.100.0/24".to_owned()];
    let nowhere = Config { node_port_addresses: other, ..Config::default() };
    let flow = from_outside("192.0.2.10", 30080);
    excused(Exception::D10, &[Mode::Iptables], &objects, &nowhere, &flow);
}

#[test]
fn d11_policy_local_without_local_endpoints() {
    let objects = with_spec(&elsewhere(), "externalTrafficPolicy: Local");
    for flow in [from_outside("203.0.113.1", 80), from_outside("192.0.2.10", 30080)] {
        excused(Exception::D11, &[Mode::Ipvs], &objects, &everywhere(), &flow);
    }
    let other = vec!["198.51.100.0/24".to_owned()];
    let nowhere = Config { node_port_addresses: other, ..Config::default() };
    let flow = from_outside("192.0.2.10", 30080);
    excused(Exception::D11, &[Mode::Iptables], &objects, &nowhere, &flow);
}

#[test]
fn d11_internal_policy_local_without_local_endpoints() {
    let flow = from_node(Protocol::Tcp, "10.96.0.1", 80);
    let objects = with_spec(&elsewhere(), "internalTrafficPolicy: Local");
    excused(Exception::D11, &[Mode::Ipvs], &objects, &everywhere(), &flow);
    let inner = objects
        .replace("type: LoadBalancer", "type: ClusterIP")
        .replace(", nodePort: 30080", "")
        .replace("externalIPs: [203.0.113.1]", "externalIPs: []");
    excused(Exception::D11, &[Mode::Ipvs], &inner, &everywhere(), &flow);
}

#[test]
fn d12_policy_local_for_a_node_process() {
    let objects = with_spec(ONE_SERVICE, "externalTrafficPolicy: Local")
        .replace("nodeName: a}", "nodeName: a}, {addresses: [10.244.1.2], nodeName: b}");
    let flow = from_node(Protocol::Tcp, "203.0.113.1", 80);
    excused(Exception::D12, &[Mode::Ipvs], &objects, &everywhere(), &flow);
}

#[test]
fn d14_source_ranges() {
    let ranges = "loadBalancerSourceRanges: [10.0.0.0/8]";
    let objects = with_spec(&without_endpoints(), ranges);
    let outside = from_outside("203.0.113.11", 80);
    excused(Exception::D14, &[Mode::Iptables], &objects, &everywhere(), &outside);
    let node = from_node(Protocol::Tcp, "203.0.113.11", 80);
    excused(Exception::D14, &[Mode::Iptables, Mode::Ipvs], &objects, &everywhere(), &node);

    let objects = with_spec(ONE_SERVICE, ranges);
    excused(Exception::D14, &[], &objects, &everywhere(), &node);
    let bound = Flow { source: Some("192.0.2.10".parse().unwrap()), ..node };
    excused(Exception::D14, &[Mode::Ipvs], &objects, &everywhere(), &bound);
}

#[test]
fn d20_pod_elsewhere_that_reaches_itself() {
    let flow = from_eth0(ClientClass::RemotePod, "10.244.0.2", "10.96.0.1", 80);
    let keeping = [Mode::Nftables, Mode::Ipvs];
    excused(Exception::D20, &keeping, &elsewhere(), &everywhere(), &flow);
    excused(Exception::D20, &[], ONE_SERVICE, &everywhere(), &flow);
    let nftables = Config { mode: Mode::Nftables, ..everywhere() };
    let before = judged(&elsewhere(), &nftables, KubeVersion::V1_35, &flow);
    assert_eq!(before, Judgement::Kept);
    let since = judged(&elsewhere(), &nftables, KubeVersion::V1_36, &flow);
    assert_eq!(since, Judgement::Excused(Exception::D20));
}

#[test]
fn d25_port_that_no_service_has_on_an_outer_address() {
    for destination in ["203.0.113.1", "203.0.113.11"] {
        let flow = from_outside(destination, 81);
        excused(Exception::D25, &[Mode::Ipvs], ONE_SERVICE, &everywhere(), &flow);
    }
}
