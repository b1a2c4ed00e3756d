//! Services with every feature that reaches a rule.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{one_of, some_of};
use crate::objects::{
    ClientIpConfig, Ingress, LoadBalancerStatus, Metadata, Service, ServicePort, ServiceSpec,
    ServiceStatus, SessionAffinityConfig,
};
use crate::view::frontends::{HEADLESS, SERVICE_PROXY_NAME};

const EXTERNAL_IPS: &[&str] =
    &["203.0.113.1", "203.0.113.2", "192.0.2.10", "2001:db8:2::1", "none"];
const VIPS: &[&str] = &["203.0.113.1", "203.0.113.11", "2001:db8:2::11", ""];
const RANGES: &[&str] =
    &["198.51.100.0/24", " 192.0.2.10/24", "2001:db8:3::/64", "0.0.0.0/0", "ten"];

/// Draws a Service without name and addresses of its own: see [`named`].
pub fn service() -> impl Strategy<Value = Service> {
    (spec(), labels(), vec(ingress(), 0..3)).prop_map(|(spec, labels, ingress)| Service {
        metadata: Metadata { labels: labels.into_iter().collect(), ..Metadata::default() },
        status: ServiceStatus {
            load_balancer: LoadBalancerStatus {
                ingress: if is(&spec, "LoadBalancer") { ingress } else { Vec::new() },
            },
        },
        spec,
    })
}

/// Gives a Service its name, and cluster IPs unless it is headless.
pub fn named(mut service: Service, number: usize) -> Service {
    let namespaces = ["shop", "kube-system"];
    namespaces[number % namespaces.len()].clone_into(&mut service.metadata.namespace);
    service.metadata.name = format!("web-{number}");
    let spec = &mut service.spec;
    let ip = |family: &String| match family.as_str() {
        "IPv4" => format!("10.96.0.{number}"),
        _ => format!("fd00:10:96::{number:x}"),
    };
    if spec.cluster_ip.is_none() {
        spec.cluster_ips = spec.ip_families.iter().map(ip).collect();
        spec.cluster_ip = spec.cluster_ips.first().cloned();
    }
    service
}

fn is(spec: &ServiceSpec, kind: &str) -> bool {
    spec.kind.as_deref() == Some(kind)
}

fn labels() -> impl Strategy<Value = Option<(String, String)>> {
    option::weighted(
        0.1,
        select(vec![HEADLESS, SERVICE_PROXY_NAME]).prop_map(|label| (label.to_owned(), "x".into())),
    )
}

/// The families of a Service, the primary one first.
fn families() -> impl Strategy<Value = Vec<String>> {
    let choices: Vec<&[&str]> =
        vec![&["IPv4"], &["IPv4"], &["IPv6"], &["IPv4", "IPv6"], &["IPv6", "IPv4"]];
    select(choices).prop_map(|names| names.iter().map(|name| (*name).to_owned()).collect())
}

fn kind() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        20 => one_of(&["", "ClusterIP", "NodePort", "LoadBalancer", "LoadBalancer"]),
        1 => one_of(&["ExternalName"]),
    ]
}

prop_compose! {
    fn spec()(
        kind in kind(),
        ip_families in families(),
        is_headless in prop::bool::weighted(0.05),
        ports in ports(),
        external_ips in option::weighted(0.3, some_of(EXTERNAL_IPS)),
        external_traffic_policy in one_of(&["", "Cluster", "Local", "Local"]),
        internal_traffic_policy in one_of(&["", "Cluster", "Cluster", "Local"]),
        affinity in option::weighted(0.3, select(vec![None, Some(1), Some(10_800)])),
        ranges in option::weighted(0.4, some_of(RANGES)),
        health_check in select(vec![None, Some(0), Some(31_000), Some(31_001)]),
    ) -> ServiceSpec {
        let has_node_ports = matches!(kind.as_deref(), Some("NodePort" | "LoadBalancer"));
        let port = |port: ServicePort| ServicePort {
            node_port: port.node_port.filter(|_| has_node_ports),
            ..port
        };
        ServiceSpec {
            kind,
            cluster_ip: is_headless.then(|| "None".to_owned()),
            ip_families,
            ports: ports.into_iter().map(port).collect(),
            external_ips: external_ips.unwrap_or_default(),
            external_traffic_policy,
            internal_traffic_policy,
            session_affinity: affinity.map(|_| "ClientIP".to_owned()),
            session_affinity_config: affinity.map(|timeout_seconds| SessionAffinityConfig {
                client_ip: ClientIpConfig { timeout_seconds },
            }),
            load_balancer_source_ranges: ranges.unwrap_or_default(),
            health_check_node_port: health_check,
            ..ServiceSpec::default()
        }
    }
}

/// Up to three ports; one name may come with two protocols.
fn ports() -> impl Strategy<Value = Vec<ServicePort>> {
    vec(port(), 1..=3).prop_map(|mut ports| {
        let key = |port: &ServicePort| (port.name.clone(), port.protocol.clone());
        ports.sort_by_key(key);
        ports.dedup_by_key(|port| key(port));
        ports
    })
}

prop_compose! {
    fn port()(
        name in select(vec!["", "http", "dns"]),
        protocol in select(vec!["TCP", "TCP", "UDP", "SCTP"]),
        port in select(vec![53, 80, 443]),
        node_port in select(vec![None, Some(30_080), Some(30_081), Some(30_082)]),
    ) -> ServicePort {
        ServicePort { name: name.into(), protocol: Some(protocol.into()), port, node_port }
    }
}

prop_compose! {
    fn ingress()(
        ip in select(VIPS),
        ip_mode in one_of(&["", "VIP", "VIP", "Proxy"]),
    ) -> Ingress {
        Ingress { ip: ip.to_owned(), ip_mode }
    }
}
