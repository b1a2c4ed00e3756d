//! Views of small clusters by name.
#![allow(dead_code, reason = "each test file uses some of them")]

use std::net::{IpAddr, SocketAddr};

use kps_flow::{Family, Protocol};
use kps_model::config::IpvsConfig;
use kps_model::{
    Detector, Endpoint, KubeVersion, NodePortAddresses, NodeView, PortKey, PortView, ServicePort,
};

/// The node 192.168.0.2, with another address 192.168.1.2, in a cluster with pods in 10.0.0.0/8 and
/// no Services.
pub fn node_without_services() -> NodeView {
    NodeView {
        family: Family::V4,
        version: KubeVersion::NEWEST,
        node_name: "node-a".into(),
        zone: None,
        node_hints: true,
        node_ip: ip("192.168.0.2"),
        interface_addresses: ["127.0.0.1", "192.168.0.2", "192.168.1.2"].map(ip).into(),
        pod_cidrs: Vec::new(),
        detector: Some(Detector::Cidr("10.0.0.0/8".parse().unwrap())),
        node_ports: NodePortAddresses {
            cidrs: vec!["0.0.0.0/0".parse().unwrap()],
            match_all: true,
            contains_ipv4_loopback: true,
            contains_explicit_loopback: false,
        },
        service_cidrs: vec!["172.30.0.0/16".parse().unwrap()],
        mark: 0x4000,
        masquerade_all: false,
        localhost_node_ports: true,
        localhost_node_port_gate: false,
        tcp_be_liberal: false,
        nfacct: true,
        ipvs: IpvsConfig::default(),
        ports: Vec::new(),
    }
}

/// The six Services of kube-proxy's own overall tests: a plain one; a load balancer with policy
/// Local whose only endpoint is elsewhere; a node port; one with an external IP and two endpoints;
/// a load balancer with source ranges and affinity; one without endpoints.
pub fn six_services() -> NodeView {
    let svc1 = service(1).endpoint("10.180.0.1:80", false);
    let svc2 = service(2)
        .with(|port| {
            port.node_port = Some(3001);
            port.external_local = true;
            port.external_ips = vec![ip("192.168.99.22")];
            port.has_external_ips = true;
            port.load_balancer_vips = vec![ip("1.2.3.4")];
            port.health_check_node_port = Some(30000);
        })
        .endpoint("10.180.0.2:80", false);
    let svc3 = service(3).with(|port| port.node_port = Some(3003)).endpoint("10.180.0.3:80", false);
    let svc4 = service(4)
        .with(|port| {
            port.external_ips = vec![ip("192.168.99.33")];
            port.has_external_ips = true;
        })
        .endpoint("10.180.0.4:80", false)
        .endpoint("10.180.0.5:80", true);
    let svc5 = service(5)
        .with(|port| {
            port.node_port = Some(3002);
            port.load_balancer_vips = vec![ip("5.6.7.8")];
            port.source_ranges = vec!["203.0.113.0/25".parse().unwrap()];
            port.affinity = Some(10800);
        })
        .endpoint("10.180.0.3:80", false);
    let ports = [svc1, svc2, svc3, svc4, svc5, service(6)].map(|world| world.0).into();
    NodeView { ports, ..node_without_services() }
}

/// Node ports on one address.
pub fn primary(address: &str) -> NodePortAddresses {
    NodePortAddresses {
        cidrs: vec![ip(address).into()],
        match_all: false,
        contains_ipv4_loopback: false,
        contains_explicit_loopback: false,
    }
}

/// A `ServicePort` under construction.
pub struct World(pub PortView);

/// The `ServicePort` `nsN/svcN:p80` at 172.30.0.(40+N):80/TCP.
pub fn service(number: u8) -> World {
    let port = ServicePort {
        key: PortKey {
            namespace: format!("ns{number}"),
            name: format!("svc{number}"),
            port_name: "p80".into(),
            protocol: Protocol::Tcp,
        },
        cluster_ip: IpAddr::from([172, 30, 0, 40 + number]),
        port: 80,
        node_port: None,
        affinity: None,
        external_local: false,
        internal_local: false,
        external_ips: Vec::new(),
        load_balancer_vips: Vec::new(),
        source_ranges: Vec::new(),
        health_check_node_port: None,
        has_external_ips: false,
    };
    World(PortView {
        port,
        endpoints: Vec::new(),
        cluster: Vec::new(),
        local: Vec::new(),
        reachable: Vec::new(),
        has_any: false,
    })
}

impl World {
    /// Changes the port.
    pub fn with(mut self, change: impl FnOnce(&mut ServicePort)) -> World {
        change(&mut self.0.port);
        self
    }

    /// Adds a ready endpoint, which must come later in the order of texts than those before it.
    /// Call it after the port has its policies.
    pub fn endpoint(mut self, address: &str, is_local: bool) -> World {
        let view = &mut self.0;
        let index = view.endpoints.len();
        view.endpoints.push(endpoint(address, is_local));
        if view.port.uses_cluster_endpoints() {
            view.cluster.push(index);
        }
        if is_local && view.port.uses_local_endpoints() {
            view.local.push(index);
        }
        if view.port.uses_cluster_endpoints() || is_local {
            view.reachable.push(index);
        }
        view.has_any = true;
        self
    }
}

/// Returns a ready endpoint.
pub fn endpoint(address: &str, is_local: bool) -> Endpoint {
    Endpoint {
        address: address.parse::<SocketAddr>().unwrap(),
        is_local,
        ready: true,
        serving: true,
        terminating: false,
        zone_hints: Vec::new(),
        node_hints: Vec::new(),
    }
}

/// Reads an address.
pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// An IPv6 load balancer with policy Local, source ranges, affinity, a node port and an endpoint on
/// the node and one elsewhere.
pub fn ipv6_service() -> NodeView {
    let service = service(1)
        .with(|port| {
            port.cluster_ip = ip("fd00:10:96::1");
            port.node_port = Some(3001);
            port.external_local = true;
            port.load_balancer_vips = vec![ip("2001:db8:2::1")];
            port.source_ranges = vec!["2001:db8:3::/64".parse().unwrap()];
            port.affinity = Some(60);
        })
        .endpoint("[fd00:10:180::1]:80", true)
        .endpoint("[fd00:10:180::2]:80", false);
    NodeView {
        family: Family::V6,
        node_ip: ip("2001:db8:1::a"),
        interface_addresses: ["::1", "2001:db8:1::a"].map(ip).into(),
        detector: Some(Detector::Cidr("fd00:10::/32".parse().unwrap())),
        node_ports: NodePortAddresses {
            cidrs: vec!["::/0".parse().unwrap()],
            match_all: true,
            contains_ipv4_loopback: false,
            contains_explicit_loopback: false,
        },
        service_cidrs: vec!["fd00:10:96::/108".parse().unwrap()],
        localhost_node_ports: false,
        ports: vec![service.0],
        ..node_without_services()
    }
}
