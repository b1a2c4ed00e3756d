//! Small random clusters in which addresses and ports meet, and flows that aim at them.
//!
//! One node under test, `a`, and one other, `b`. Pods of `a` are 10.244.0.N behind `vethN`, those of
//! `b` 10.244.1.N. Written in IPv4; [`family`] says the same in IPv6.

pub mod family;

use std::net::{IpAddr, Ipv4Addr};

use kps_flow::{ClientClass, Flow, Protocol};
use kps_model::config::DetectLocal;
use kps_model::objects::{
    Conditions, EndpointSlice, Hint, Hints, Ingress, LoadBalancerStatus, Metadata, Node,
    NodeAddress, NodeSpec, NodeStatus, Service, ServiceCidr, ServiceCidrSpec, ServicePort,
    ServiceSpec, ServiceStatus, SessionAffinityConfig, SliceEndpoint, SlicePort,
};
use kps_model::{Cluster, Config, Mode};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

pub const NODE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);

pub fn clusters() -> impl Strategy<Value = Cluster> {
    (vec(service(), 1..5), vec(endpoint(), 0..3), any::<bool>()).prop_map(
        |(services, again, cidr)| {
            let mut cluster =
                Cluster { nodes: vec![node("a", 0), node("b", 1)], ..Cluster::default() };
            for (number, (mut service, mut slice)) in services.into_iter().enumerate() {
                name(&mut service, &mut slice, number);
                cluster.services.push(service);
                cluster.slices.push(slice);
            }
            cluster.slices.extend(second_slice(&cluster.slices[0], again));
            if cidr {
                let spec = ServiceCidrSpec { cidrs: vec!["10.96.0.0/16".into()] };
                let metadata = Metadata { name: "kubernetes".into(), ..Metadata::default() };
                cluster.service_cidrs.push(ServiceCidr { metadata, spec });
            }
            cluster
        },
    )
}

/// Another slice of the same Service, which may repeat endpoints with other conditions.
fn second_slice(first: &EndpointSlice, endpoints: Vec<SliceEndpoint>) -> Option<EndpointSlice> {
    let mut slice = EndpointSlice { endpoints, ..first.clone() };
    slice.metadata.name.push_str("-again");
    (!slice.endpoints.is_empty()).then_some(slice)
}

fn name(service: &mut Service, slice: &mut EndpointSlice, number: usize) {
    service.metadata.name = format!("s{number}");
    slice.metadata.name = format!("s{number}-x");
    let label = ("kubernetes.io/service-name".to_owned(), service.metadata.name.clone());
    slice.metadata.labels.extend([label]);
    for metadata in [&mut service.metadata, &mut slice.metadata] {
        metadata.namespace = "shop".into();
    }
    let ip = format!("10.96.0.{}", number + 1);
    service.spec.cluster_ip = Some(ip.clone());
    service.spec.cluster_ips = vec![ip];
}

fn node(name: &str, number: u8) -> Node {
    let address = format!("192.0.2.{}", 10 + number);
    let zone = ("topology.kubernetes.io/zone".to_owned(), format!("z{number}"));
    Node {
        metadata: Metadata { name: name.into(), labels: [zone].into(), ..Metadata::default() },
        spec: NodeSpec { pod_cidr: None, pod_cidrs: vec![format!("10.244.{number}.0/24")] },
        status: NodeStatus {
            addresses: vec![NodeAddress { kind: "InternalIP".into(), address }],
            ..NodeStatus::default()
        },
    }
}

fn policy() -> impl Strategy<Value = Option<String>> {
    select(vec![None, Some("Cluster".to_owned()), Some("Local".to_owned())])
}

prop_compose! {
    fn service()(
        kind in select(vec!["ClusterIP", "NodePort", "LoadBalancer"]),
        port in select(vec![80, 80, 81]),
        node_port in select(vec![30080, 30081]),
        protocol in select(vec!["TCP", "TCP", "TCP", "UDP", "SCTP"]),
        external_ips in vec(select(vec!["203.0.113.1", "203.0.113.2"]), 0..2),
        vips in vec((select(vec!["203.0.113.11", "203.0.113.12"]), select(vec![None, Some("VIP"), Some("Proxy")])), 0..2),
        ranges in vec(select(vec!["198.51.100.0/24", "192.0.2.0/24", "10.0.0.0/8", "0.0.0.0/0"]), 0..3),
        external in policy(),
        internal in policy(),
        affinity in any::<bool>(),
        endpoints in vec(endpoint(), 0..5),
    ) -> (Service, EndpointSlice) {
        let outside = kind != "ClusterIP";
        let ingress = vips.into_iter().map(|(ip, mode)| Ingress { ip: ip.into(), ip_mode: mode.map(Into::into) });
        let ingress = if kind == "LoadBalancer" { ingress.collect() } else { Vec::new() };
        let spec = ServiceSpec {
            kind: Some(kind.into()),
            ports: vec![ServicePort {
                name: "p".into(),
                protocol: Some(protocol.into()),
                port,
                node_port: outside.then_some(node_port),
            }],
            external_ips: external_ips.into_iter().map(Into::into).collect(),
            external_traffic_policy: external,
            internal_traffic_policy: internal,
            session_affinity: affinity.then(|| "ClientIP".into()),
            session_affinity_config: affinity.then(SessionAffinityConfig::default),
            load_balancer_source_ranges: ranges.into_iter().map(Into::into).collect(),
            ..ServiceSpec::default()
        };
        let status = ServiceStatus { load_balancer: LoadBalancerStatus { ingress } };
        let ports = vec![SlicePort { name: Some("p".into()), protocol: Some(protocol.into()), port: Some(8080) }];
        let slice = EndpointSlice { address_type: "IPv4".into(), endpoints, ports, ..EndpointSlice::default() };
        (Service { spec, status, ..Service::default() }, slice)
    }
}

prop_compose! {
    fn endpoint()(
        node in 0u8..2,
        host in 2u8..6,
        on_host in prop::bool::weighted(0.1),
        named in prop::bool::weighted(0.9),
        state in 0u8..5,
        zones in vec(select(vec!["z0", "z1"]), 0..2),
        for_node in option::weighted(0.2, select(vec!["a", "b"])),
    ) -> SliceEndpoint {
        let address = if on_host { format!("192.0.2.{}", 10 + node) } else { format!("10.244.{node}.{host}") };
        let conditions = match state {
            0 => Conditions::default(),
            1 | 2 => Conditions { ready: Some(true), serving: Some(true), terminating: Some(false) },
            3 => Conditions { ready: Some(false), serving: Some(true), terminating: Some(true) },
            _ => Conditions { ready: Some(false), serving: Some(false), terminating: Some(true) },
        };
        let hint = |name: &str| Hint { name: name.into() };
        SliceEndpoint {
            addresses: vec![address],
            conditions,
            node_name: named.then(|| if node == 0 { "a".into() } else { "b".into() }),
            hints: Hints {
                for_zones: zones.into_iter().map(hint).collect(),
                for_nodes: for_node.into_iter().map(hint).collect(),
            },
            ..SliceEndpoint::default()
        }
    }
}

pub fn configs(mode: Mode) -> impl Strategy<Value = Config> {
    let cidr = |text: &str| DetectLocal::ClusterCidr(text.parse().into_iter().collect());
    let detectors = vec![
        cidr("10.244.0.0/16"),
        cidr("none"),
        DetectLocal::NodeCidr,
        DetectLocal::InterfaceNamePrefix("veth".into()),
        DetectLocal::BridgeInterface("veth2".into()),
    ];
    let addresses = vec![
        vec![],
        vec!["primary"],
        vec!["192.0.2.0/24", "127.0.0.0/8"],
        vec!["0.0.0.0/0"],
        vec!["198.51.100.0/24"],
    ];
    (
        select(detectors),
        select(addresses),
        prop::bool::weighted(0.2),
        0u8..32,
        prop::bool::weighted(0.7),
    )
        .prop_map(
            move |(detect_local, addresses, masquerade_all, bit, localhost_node_ports)| Config {
                mode,
                detect_local,
                node_port_addresses: addresses.into_iter().map(Into::into).collect(),
                masquerade_all,
                localhost_node_ports,
                iptables_masquerade_bit: bit,
                nftables_masquerade_bit: bit,
                ..Config::default()
            },
        )
}

/// Where a flow may go: address, protocol, port.
type Target = (String, Protocol, u16);

/// Clusters with flows of which most aim at an address and port that a Service has.
pub fn clusters_and_flows(flows: usize) -> impl Strategy<Value = (Cluster, Vec<Flow>)> {
    clusters().prop_flat_map(move |cluster| {
        let targets = cluster.services.iter().flat_map(targets).collect();
        (Just(cluster), vec(flow(targets), flows))
    })
}

fn targets(service: &Service) -> Vec<Target> {
    let spec = &service.spec;
    let vips = service.status.load_balancer.ingress.iter().map(|ingress| &ingress.ip);
    let addresses = spec.cluster_ips.iter().chain(&spec.external_ips).chain(vips);
    let mut targets = Vec::new();
    for port in &spec.ports {
        let protocol = port.protocol.as_deref().and_then(|word| word.parse().ok());
        let (Some(protocol), Ok(number)) = (protocol, u16::try_from(port.port)) else { continue };
        targets.extend(addresses.clone().map(|address| (address.clone(), protocol, number)));
        let node_port = port.node_port.and_then(|number| u16::try_from(number).ok());
        for address in [NODE, Ipv4Addr::LOCALHOST] {
            targets.extend(node_port.map(|number| (address.to_string(), protocol, number)));
        }
    }
    targets
}

prop_compose! {
    fn flow(targets: Vec<Target>)(
        client in 0u8..6,
        host in 2u8..8,
        target in option::weighted(0.75, select(targets)),
        stray_protocol in select(vec![Protocol::Tcp, Protocol::Tcp, Protocol::Udp, Protocol::Sctp, Protocol::Icmp]),
        stray_port in select(vec![80, 80, 80, 81, 30080, 30081, 9]),
        stray in select(vec![
            "10.96.0.1", "10.96.0.1", "10.96.0.2", "10.96.0.3", "203.0.113.1", "203.0.113.11", "10.96.0.9", "203.0.113.1", "203.0.113.2", "203.0.113.11",
            "203.0.113.12", "192.0.2.10", "192.0.2.10", "127.0.0.1", "10.244.1.3", "198.51.100.99",
        ]),
    ) -> Flow {
        let stray = (stray.to_owned(), stray_protocol, stray_port);
        let (destination, protocol, port) = target.unwrap_or(stray);
        let destination: IpAddr = destination.parse().unwrap_or(IpAddr::V4(NODE));
        // Loopback can only be dialled from the node itself.
        let client = if destination.is_loopback() { 4 } else { client };
        let (class, source, interface) = match client {
            0 => (ClientClass::Pod, Some(Ipv4Addr::new(10, 244, 0, host)), Some(format!("veth{host}"))),
            1 => (ClientClass::RemotePod, Some(Ipv4Addr::new(10, 244, 1, host)), Some("eth0".into())),
            2 => (ClientClass::Outside, Some(Ipv4Addr::new(198, 51, 100, host)), Some("eth0".into())),
            3 => (ClientClass::Outside, Some(Ipv4Addr::new(192, 0, 2, 100 + host)), Some("eth0".into())),
            4 => (ClientClass::Node, None, None),
            _ => (ClientClass::Node, Some(NODE), None),
        };
        Flow {
            client: class,
            interface,
            source: source.map(IpAddr::V4),
            source_port: Flow::DEFAULT_SOURCE_PORT,
            protocol,
            destination,
            port: if protocol.has_ports() { port } else { 0 },
        }
    }
}
