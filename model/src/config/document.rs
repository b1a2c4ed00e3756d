//! `KubeProxyConfiguration` of `kubeproxy.config.k8s.io/v1alpha1`, as written
//! (`staging/src/k8s.io/kube-proxy/config/v1alpha1/types.go`). Only what rules depend on is kept;
//! the other fields are known by name, so that a misspelt one can be told from them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The document. Every field may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Document {
    /// Must be `kubeproxy.config.k8s.io/v1alpha1` if given.
    pub api_version: Option<String>,
    /// Must be `KubeProxyConfiguration` if given.
    pub kind: Option<String>,
    /// `iptables`, `ipvs`, `nftables` or empty.
    pub mode: Option<String>,
    /// The name of the Node.
    pub hostname_override: Option<String>,
    /// The node's address.
    pub bind_address: Option<String>,
    /// How local pods are recognised.
    pub detect_local_mode: Option<String>,
    /// What the interface modes need.
    pub detect_local: Option<DetectLocalSection>,
    /// The pods' ranges, separated by a comma.
    #[serde(rename = "clusterCIDR")]
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
#[serde(default, rename_all = "camelCase")]
pub struct DetectLocalSection {
    /// The bridge of the pods.
    pub bridge_interface: Option<String>,
    /// How the names of the pods' interfaces start.
    pub interface_name_prefix: Option<String>,
    /// Reserved for pod ranges.
    #[serde(rename = "clusterCIDRs")]
    pub cluster_cidrs: Option<IgnoredAny>,
}

/// `iptables` or `nftables`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RulesSection {
    /// The bit of the packet mark.
    pub masquerade_bit: Option<i64>,
    /// Whether all traffic to cluster IPs is masqueraded.
    pub masquerade_all: Option<bool>,
    /// Whether node ports answer on loopback (iptables only).
    pub localhost_node_ports: Option<bool>,
    /// How often a failed sync is tried again.
    pub sync_period: Option<String>,
    /// The least time between two syncs.
    pub min_sync_period: Option<String>,
}

/// `ipvs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IpvsSection {
    /// How often everything is synced.
    pub sync_period: Option<String>,
    /// The least time between two syncs.
    pub min_sync_period: Option<String>,
    /// The scheduler.
    pub scheduler: Option<String>,
    /// Ranges that are left alone.
    #[serde(rename = "excludeCIDRs")]
    pub exclude_cidrs: Option<Vec<String>>,
    /// Whether ARP is strict.
    #[serde(rename = "strictARP")]
    pub strict_arp: Option<bool>,
    /// The timeout of idle TCP connections.
    pub tcp_timeout: Option<String>,
    /// The timeout of TCP connections after a FIN.
    pub tcp_fin_timeout: Option<String>,
    /// The timeout of UDP.
    pub udp_timeout: Option<String>,
}

/// `conntrack`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
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
