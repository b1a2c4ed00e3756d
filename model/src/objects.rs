//! The objects that kube-proxy looks at, as far as it looks.
//!
//! Field names and meanings are those of the API (`staging/src/k8s.io/api`). As in the API server's
//! own decoder, absent and `null` are the same, and fields that are not listed are passed over: an
//! object that lacks something that no rule depends on is still read.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::text::{optional_text, text, text_map, texts};

/// Reads `null` as if the field were absent.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// `metadata`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct Metadata {
    /// The name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// The namespace; empty for what has none.
    #[serde(deserialize_with = "text")]
    pub namespace: String,
    /// The labels.
    #[serde(deserialize_with = "text_map")]
    pub labels: BTreeMap<String, String>,
}

/// `v1` Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct Service {
    /// Who it is.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What is wanted.
    #[serde(deserialize_with = "or_default")]
    pub spec: ServiceSpec,
    /// What is the case.
    #[serde(deserialize_with = "or_default")]
    pub status: ServiceStatus,
}

/// `spec` of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct ServiceSpec {
    /// The type; empty means ClusterIP.
    #[serde(rename = "type", deserialize_with = "optional_text")]
    pub kind: Option<String>,
    /// The primary cluster IP, or `None`.
    #[serde(rename = "clusterIP", deserialize_with = "optional_text")]
    pub cluster_ip: Option<String>,
    /// The cluster IPs, one a family.
    #[serde(rename = "clusterIPs", deserialize_with = "texts")]
    pub cluster_ips: Vec<String>,
    /// The families of `clusterIPs`.
    #[serde(deserialize_with = "texts")]
    pub ip_families: Vec<String>,
    /// The ports.
    #[serde(deserialize_with = "or_default")]
    pub ports: Vec<ServicePort>,
    /// Addresses that an administrator routes to the nodes.
    #[serde(rename = "externalIPs", deserialize_with = "texts")]
    pub external_ips: Vec<String>,
    /// Cluster or Local, for traffic from outside.
    #[serde(deserialize_with = "optional_text")]
    pub external_traffic_policy: Option<String>,
    /// Cluster or Local, for traffic to the cluster IP.
    #[serde(deserialize_with = "optional_text")]
    pub internal_traffic_policy: Option<String>,
    /// None or ClientIP.
    #[serde(deserialize_with = "optional_text")]
    pub session_affinity: Option<String>,
    /// The affinity time.
    pub session_affinity_config: Option<SessionAffinityConfig>,
    /// Who may use the load balancer IPs.
    #[serde(deserialize_with = "texts")]
    pub load_balancer_source_ranges: Vec<String>,
    /// The port of the health check.
    pub health_check_node_port: Option<i32>,
}

/// A port of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct ServicePort {
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Its protocol; absent means TCP.
    #[serde(deserialize_with = "optional_text")]
    pub protocol: Option<String>,
    /// Its number.
    #[serde(deserialize_with = "or_default")]
    pub port: i32,
    /// The node port; 0 or absent means none.
    pub node_port: Option<i32>,
}

/// `sessionAffinityConfig`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct SessionAffinityConfig {
    /// For ClientIP.
    #[serde(rename = "clientIP", deserialize_with = "or_default")]
    pub client_ip: ClientIpConfig,
}

/// `sessionAffinityConfig.clientIP`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct ClientIpConfig {
    /// In seconds; absent means three hours.
    pub timeout_seconds: Option<i32>,
}

/// `status` of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct ServiceStatus {
    /// What the load balancer said.
    #[serde(deserialize_with = "or_default")]
    pub load_balancer: LoadBalancerStatus,
}

/// `status.loadBalancer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct LoadBalancerStatus {
    /// The ways in.
    #[serde(deserialize_with = "or_default")]
    pub ingress: Vec<Ingress>,
}

/// A way in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct Ingress {
    /// Its address; empty if it has only a host name.
    #[serde(deserialize_with = "text")]
    pub ip: String,
    /// VIP or Proxy; absent means VIP (KEP-1860).
    #[serde(deserialize_with = "optional_text")]
    pub ip_mode: Option<String>,
}

/// `discovery.k8s.io/v1` EndpointSlice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct EndpointSlice {
    /// Who it is.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// IPv4, IPv6 or FQDN.
    #[serde(deserialize_with = "text")]
    pub address_type: String,
    /// The endpoints.
    #[serde(deserialize_with = "or_default")]
    pub endpoints: Vec<SliceEndpoint>,
    /// The ports that each of them serves.
    #[serde(deserialize_with = "or_default")]
    pub ports: Vec<SlicePort>,
}

/// An endpoint of a slice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct SliceEndpoint {
    /// Its addresses; only the first is used.
    #[serde(deserialize_with = "texts")]
    pub addresses: Vec<String>,
    /// Its conditions.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Conditions,
    /// The node that it is on.
    #[serde(deserialize_with = "optional_text")]
    pub node_name: Option<String>,
    /// Whom it is meant for.
    #[serde(deserialize_with = "or_default")]
    pub hints: Hints,
    /// The object behind it.
    #[serde(deserialize_with = "or_default")]
    pub target_ref: TargetRef,
}

/// The conditions of an endpoint; each may be unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct Conditions {
    /// Whether it takes new connections; unknown means yes.
    pub ready: Option<bool>,
    /// Whether it still answers; unknown means yes.
    pub serving: Option<bool>,
    /// Whether it is being shut down; unknown means no.
    pub terminating: Option<bool>,
}

/// Whom an endpoint is meant for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct Hints {
    /// Zones.
    #[serde(deserialize_with = "or_default")]
    pub for_zones: Vec<Hint>,
    /// Nodes.
    #[serde(deserialize_with = "or_default")]
    pub for_nodes: Vec<Hint>,
}

/// A zone or node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct Hint {
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub name: String,
}

/// The object behind an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct TargetRef {
    /// Its kind, usually Pod.
    #[serde(deserialize_with = "optional_text")]
    pub kind: Option<String>,
    /// Its namespace.
    #[serde(deserialize_with = "optional_text")]
    pub namespace: Option<String>,
    /// Its name.
    #[serde(deserialize_with = "optional_text")]
    pub name: Option<String>,
}

/// A port of a slice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct SlicePort {
    /// Its name; a port without one is passed over.
    #[serde(deserialize_with = "optional_text")]
    pub name: Option<String>,
    /// Its protocol; absent means TCP.
    #[serde(deserialize_with = "optional_text")]
    pub protocol: Option<String>,
    /// The number on which the endpoints listen; absent means that they say it otherwise.
    pub port: Option<i32>,
}

/// `v1` Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct Node {
    /// Who it is.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What is wanted.
    #[serde(deserialize_with = "or_default")]
    pub spec: NodeSpec,
    /// What is the case.
    #[serde(deserialize_with = "or_default")]
    pub status: NodeStatus,
}

/// `spec` of a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct NodeSpec {
    /// The primary range of its pods.
    #[serde(rename = "podCIDR", deserialize_with = "optional_text")]
    pub pod_cidr: Option<String>,
    /// The ranges of its pods, one a family.
    #[serde(rename = "podCIDRs", deserialize_with = "texts")]
    pub pod_cidrs: Vec<String>,
}

/// `status` of a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct NodeStatus {
    /// Its addresses.
    #[serde(deserialize_with = "or_default")]
    pub addresses: Vec<NodeAddress>,
    /// What kubelet tells of the machine.
    #[serde(rename = "nodeInfo", deserialize_with = "or_default")]
    pub info: NodeInfo,
}

/// `status.nodeInfo` of a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct NodeInfo {
    /// The release of the kernel, as `uname -r` prints it; empty if it is not known.
    #[serde(rename = "kernelVersion", deserialize_with = "text")]
    pub kernel_version: String,
}

/// An address of a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct NodeAddress {
    /// InternalIP, ExternalIP, Hostname, InternalDNS or ExternalDNS.
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: String,
    /// The address.
    #[serde(deserialize_with = "text")]
    pub address: String,
}

/// `networking.k8s.io/v1` ServiceCIDR.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct ServiceCidr {
    /// Who it is.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What is wanted.
    #[serde(deserialize_with = "or_default")]
    pub spec: ServiceCidrSpec,
}

/// `spec` of a ServiceCIDR.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct ServiceCidrSpec {
    /// The ranges, one a family.
    #[serde(deserialize_with = "texts")]
    pub cidrs: Vec<String>,
}
