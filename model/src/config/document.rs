//! `KubeProxyConfiguration` of `kubeproxy.config.k8s.io/v1alpha1`, as written
//! (`staging/src/k8s.io/kube-proxy/config/v1alpha1/types.go`). Only what rules depend on is kept;
//! the other fields are known by name, so that a misspelt one can be told from them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::text::{optional_text, text_map};

/// The document. Every field may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct Document {
    /// Must be `kubeproxy.config.k8s.io/v1alpha1` if given.
    #[serde(deserialize_with = "optional_text")]
    pub api_version: Option<String>,
    /// Must be `KubeProxyConfiguration` if given.
    #[serde(deserialize_with = "optional_text")]
    pub kind: Option<String>,
    /// `iptables`, `ipvs`, `nftables` or empty.
    #[serde(deserialize_with = "optional_text")]
    pub mode: Option<String>,
    /// The name of the Node.
    #[serde(deserialize_with = "optional_text")]
    pub hostname_override: Option<String>,
    /// The node's address.
    #[serde(deserialize_with = "optional_text")]
    pub bind_address: Option<String>,
    /// How local pods are recognised.
    #[serde(deserialize_with = "optional_text")]
    pub detect_local_mode: Option<String>,
    /// What the interface modes need.
    pub detect_local: Option<DetectLocalSection>,
    /// The pods' ranges, separated by a comma.
    #[serde(rename = "clusterCIDR", deserialize_with = "optional_text")]
    pub cluster_cidr: Option<String>,
    /// The addresses of node ports.
    pub node_port_addresses: Option<Vec<String>>,
    /// The `iptables` section.
    pub iptables: Option<RulesSection>,
    /// The `nftables` section.
    pub nftables: Option<RulesSection>,
    /// The `ipvs` section.
    pub ipvs: Option<IpvsSection>,
    /// The `conntrack` section.
    pub conntrack: Option<ConntrackSection>,
    /// Feature gates by name.
    pub feature_gates: Option<BTreeMap<String, bool>>,
    client_connection: Option<IgnoredAny>,
    logging: Option<IgnoredAny>,
    healthz_bind_address: Option<IgnoredAny>,
    metrics_bind_address: Option<IgnoredAny>,
    bind_address_hard_fail: Option<IgnoredAny>,
    enable_profiling: Option<IgnoredAny>,
    show_hidden_metrics_for_version: Option<IgnoredAny>,
    oom_score_adj: Option<IgnoredAny>,
    config_sync_period: Option<IgnoredAny>,
    port_range: Option<IgnoredAny>,
    winkernel: Option<IgnoredAny>,
    windows_run_as_service: Option<IgnoredAny>,
}

/// `detectLocal`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct DetectLocalSection {
    /// The bridge of the pods.
    #[serde(deserialize_with = "optional_text")]
    pub bridge_interface: Option<String>,
    /// How the names of the pods' interfaces start.
    #[serde(deserialize_with = "optional_text")]
    pub interface_name_prefix: Option<String>,
}

/// `iptables` or `nftables`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct RulesSection {
    /// The bit of the packet mark.
    pub masquerade_bit: Option<i64>,
    /// Whether all traffic to cluster IPs is masqueraded.
    pub masquerade_all: Option<bool>,
    /// Whether node ports answer on loopback (iptables only).
    pub localhost_node_ports: Option<bool>,
    /// How often a failed sync is tried again.
    #[serde(deserialize_with = "optional_text")]
    pub sync_period: Option<String>,
    /// The least time between two syncs.
    #[serde(deserialize_with = "optional_text")]
    pub min_sync_period: Option<String>,
}

/// `ipvs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct IpvsSection {
    /// How often everything is synced.
    #[serde(deserialize_with = "optional_text")]
    pub sync_period: Option<String>,
    /// The least time between two syncs.
    #[serde(deserialize_with = "optional_text")]
    pub min_sync_period: Option<String>,
    /// The scheduler.
    #[serde(deserialize_with = "optional_text")]
    pub scheduler: Option<String>,
    /// Ranges that are left alone.
    #[serde(rename = "excludeCIDRs")]
    pub exclude_cidrs: Option<Vec<String>>,
    /// Whether ARP is strict.
    #[serde(rename = "strictARP")]
    pub strict_arp: Option<bool>,
    /// The timeout of idle TCP connections.
    #[serde(deserialize_with = "optional_text")]
    pub tcp_timeout: Option<String>,
    /// The timeout of TCP connections after a FIN.
    #[serde(deserialize_with = "optional_text")]
    pub tcp_fin_timeout: Option<String>,
    /// The timeout of UDP.
    #[serde(deserialize_with = "optional_text")]
    pub udp_timeout: Option<String>,
}

/// `conntrack`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a mapping")]
pub struct ConntrackSection {
    /// Whether TCP packets outside the window pass.
    pub tcp_be_liberal: Option<bool>,
    max_per_core: Option<IgnoredAny>,
    min: Option<IgnoredAny>,
    tcp_established_timeout: Option<IgnoredAny>,
    tcp_close_wait_timeout: Option<IgnoredAny>,
    udp_timeout: Option<IgnoredAny>,
    udp_stream_timeout: Option<IgnoredAny>,
}

/// A ConfigMap, such as `kube-proxy` in `kube-system`, as far as it matters.
#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct ConfigMap {
    /// Its texts by name.
    #[serde(deserialize_with = "text_map")]
    pub data: BTreeMap<String, String>,
}
