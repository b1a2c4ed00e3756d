//! From a Service to its ServicePorts in one family (`pkg/proxy/serviceport.go`,
//! `pkg/proxy/servicechangetracker.go`).

use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::{Family, Protocol};

use crate::address::{parse_address, parse_prefix};
use crate::objects::{self, ServiceSpec};
use crate::{Config, KubeVersion, PortKey, ServicePort};

/// The label by which a Service is left to another proxy.
pub const SERVICE_PROXY_NAME: &str = "service.kubernetes.io/service-proxy-name";
/// The label of headless Services and their slices.
pub const HEADLESS: &str = "service.kubernetes.io/headless";
/// The affinity time that the API server fills in: three hours, in seconds.
const DEFAULT_AFFINITY_SECONDS: i32 = 10_800;

/// Why a proxier makes no ServicePort of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exclusion {
    /// A label leaves it to another proxy.
    OtherProxy,
    /// It has the label of headless Services, which counts up to 1.35.
    HeadlessLabel,
    /// It has no cluster IP.
    Headless,
    /// It is only a name for something outside.
    ExternalName,
    /// It has no cluster IP of the proxier's family, or one that cannot be read.
    OtherFamily,
}

/// Returns why the proxier of a family makes nothing of a Service, if it does not: the label
/// selector of its informer first, then what it looks at itself.
#[must_use]
pub fn exclusion(
    service: &objects::Service,
    family: Family,
    version: KubeVersion,
) -> Option<Exclusion> {
    let labelled = |label| service.metadata.labels.contains_key(label);
    let spec = &service.spec;
    let is_headless = matches!(spec.cluster_ip.as_deref(), None | Some("" | "None"));
    if labelled(SERVICE_PROXY_NAME) {
        Some(Exclusion::OtherProxy)
    } else if version <= KubeVersion::V1_35 && labelled(HEADLESS) {
        Some(Exclusion::HeadlessLabel)
    } else if spec.kind.as_deref() == Some("ExternalName") {
        Some(Exclusion::ExternalName)
    } else if is_headless {
        Some(Exclusion::Headless)
    } else {
        cluster_ip(spec, family).is_none().then_some(Exclusion::OtherFamily)
    }
}

/// Returns the ServicePorts of a Service in one family.
#[must_use]
pub fn service_ports(
    service: &objects::Service,
    family: Family,
    config: &Config,
    version: KubeVersion,
) -> Vec<ServicePort> {
    let spec = &service.spec;
    let is_excluded = exclusion(service, family, version).is_some();
    let Some(cluster_ip) = cluster_ip(spec, family).filter(|_| !is_excluded) else {
        return Vec::new();
    };
    let shared = Shared::of(service, spec, family, config, version);
    spec.ports.iter().filter_map(|port| shared.port(service, cluster_ip, port)).collect()
}

/// Returns the cluster IP of a family: that of `clusterIPs` at the place of the family in
/// `ipFamilies`, or `clusterIP` if there are no `ipFamilies`.
fn cluster_ip(spec: &ServiceSpec, family: Family) -> Option<IpAddr> {
    if spec.ip_families.is_empty() {
        return parse_address(spec.cluster_ip.as_deref()?).filter(|ip| Family::of(*ip) == family);
    }
    let index = spec.ip_families.iter().position(|name| *name == family.to_string())?;
    parse_address(spec.cluster_ips.get(index)?).filter(|ip| Family::of(*ip) == family)
}

/// What all ports of a Service have in common.
struct Shared {
    affinity: Option<u32>,
    external_local: bool,
    internal_local: bool,
    external_ips: Vec<IpAddr>,
    load_balancer_vips: Vec<IpAddr>,
    source_ranges: Vec<IpNet>,
    health_check_node_port: Option<u16>,
    has_external_ips: bool,
}

impl Shared {
    fn of(
        service: &objects::Service,
        spec: &ServiceSpec,
        family: Family,
        config: &Config,
        version: KubeVersion,
    ) -> Shared {
        let all_external_ips = external_ips(spec, family);
        let hidden = version >= KubeVersion::V1_36 && !config.gates.allow_service_external_ips;
        Shared {
            affinity: affinity(spec),
            external_local: external_local(spec),
            internal_local: spec.internal_traffic_policy.as_deref() == Some("Local"),
            has_external_ips: !all_external_ips.is_empty(),
            external_ips: if hidden { Vec::new() } else { all_external_ips },
            load_balancer_vips: load_balancer_vips(service, family),
            source_ranges: source_ranges(spec, family),
            health_check_node_port: health_check_node_port(spec),
        }
    }

    fn port(
        &self,
        service: &objects::Service,
        cluster_ip: IpAddr,
        port: &objects::ServicePort,
    ) -> Option<ServicePort> {
        Some(ServicePort {
            key: PortKey {
                namespace: service.metadata.namespace.clone(),
                name: service.metadata.name.clone(),
                port_name: port.name.clone(),
                protocol: protocol(port.protocol.as_deref())?,
            },
            cluster_ip,
            port: port_number(Some(port.port))?,
            node_port: port_number(port.node_port),
            affinity: self.affinity,
            external_local: self.external_local,
            internal_local: self.internal_local,
            external_ips: self.external_ips.clone(),
            load_balancer_vips: self.load_balancer_vips.clone(),
            source_ranges: self.source_ranges.clone(),
            health_check_node_port: self.health_check_node_port,
            has_external_ips: self.has_external_ips,
        })
    }
}

/// Reads a protocol of a Service or slice port; the API server fills in TCP.
#[must_use]
pub fn protocol(text: Option<&str>) -> Option<Protocol> {
    match text.unwrap_or("TCP") {
        "TCP" => Some(Protocol::Tcp),
        "UDP" => Some(Protocol::Udp),
        "SCTP" => Some(Protocol::Sctp),
        _ => None,
    }
}

/// Reads a port number; 0 and anything outside the range is none.
fn port_number(number: Option<i32>) -> Option<u16> {
    number.and_then(|n| u16::try_from(n).ok()).filter(|n| *n != 0)
}

fn affinity(spec: &ServiceSpec) -> Option<u32> {
    if spec.session_affinity.as_deref() != Some("ClientIP") {
        return None;
    }
    let config = spec.session_affinity_config.as_ref();
    let seconds = config
        .and_then(|config| config.client_ip.timeout_seconds)
        .unwrap_or(DEFAULT_AFFINITY_SECONDS);
    Some(u32::try_from(seconds).unwrap_or_default())
}

/// Policy Local counts where there can be traffic from outside. A ClusterIP Service has it by its
/// external IPs, of whichever family.
fn external_local(spec: &ServiceSpec) -> bool {
    let from_outside = match spec.kind.as_deref() {
        Some("LoadBalancer" | "NodePort") => true,
        _ => !spec.external_ips.is_empty(),
    };
    from_outside && spec.external_traffic_policy.as_deref() == Some("Local")
}

fn external_ips(spec: &ServiceSpec, family: Family) -> Vec<IpAddr> {
    of_family(spec.external_ips.iter().filter_map(|ip| parse_address(ip)), family)
}

fn load_balancer_vips(service: &objects::Service, family: Family) -> Vec<IpAddr> {
    let ingress = &service.status.load_balancer.ingress;
    let served = ingress.iter().filter(|i| matches!(i.ip_mode.as_deref(), None | Some("VIP")));
    of_family(served.filter_map(|i| parse_address(&i.ip)), family)
}

fn of_family(ips: impl Iterator<Item = IpAddr>, family: Family) -> Vec<IpAddr> {
    ips.filter(|ip| Family::of(*ip) == family).collect()
}

/// Returns the source ranges of a family. A range of length zero lifts the restriction: the list
/// counts as empty (kubernetes/kubernetes#132722).
fn source_ranges(spec: &ServiceSpec, family: Family) -> Vec<IpNet> {
    let ranges: Vec<IpNet> = spec
        .load_balancer_source_ranges
        .iter()
        .filter_map(|range| parse_prefix(range.trim()))
        .filter(|range| Family::of(range.addr()) == family)
        .collect();
    if ranges.iter().any(|range| range.prefix_len() == 0) { Vec::new() } else { ranges }
}

fn health_check_node_port(spec: &ServiceSpec) -> Option<u16> {
    let wanted = spec.kind.as_deref() == Some("LoadBalancer")
        && spec.external_traffic_policy.as_deref() == Some("Local");
    port_number(spec.health_check_node_port).filter(|_| wanted)
}
