//! kube-proxy's configuration, in the internal form: what rules depend on.

use std::net::IpAddr;

use ipnet::IpNet;

/// A mode of kube-proxy on Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Rules in x_tables.
    Iptables,
    /// Virtual servers, with ipsets and a few x_tables rules.
    Ipvs,
    /// Rules in nf_tables.
    Nftables,
}

/// A validated KubeProxyConfiguration with its defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The mode; iptables if none is given.
    pub mode: Mode,
    /// `hostnameOverride`: the name of the Node.
    pub hostname_override: Option<String>,
    /// `bindAddress`: the node's address, unless unspecified.
    pub bind_address: Option<IpAddr>,
    /// How traffic of local pods is recognised.
    pub detect_local: DetectLocal,
    /// `nodePortAddresses`: words and CIDRs as written; empty means the mode's default.
    pub node_port_addresses: Vec<String>,
    /// `iptables.masqueradeBit` or `nftables.masqueradeBit` by mode: see [`Config::mark`].
    pub iptables_masquerade_bit: u8,
    /// `nftables.masqueradeBit`.
    pub nftables_masquerade_bit: u8,
    /// `masqueradeAll` of the mode's own section.
    pub masquerade_all: bool,
    /// `iptables.localhostNodePorts`.
    pub localhost_node_ports: bool,
    /// `conntrack.tcpBeLiberal`.
    pub conntrack_tcp_be_liberal: bool,
    /// The `ipvs` section.
    pub ipvs: IpvsConfig,
    /// Feature gates that rules depend on.
    pub gates: FeatureGates,
}

/// `detectLocalMode` with what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetectLocal {
    /// By the cluster's pod CIDRs (`clusterCIDR`, split at the comma).
    ClusterCidr(Vec<IpNet>),
    /// By the node's own pod CIDRs.
    NodeCidr,
    /// By the bridge that pods sit on.
    BridgeInterface(String),
    /// By the start of the names of the pods' interfaces.
    InterfaceNamePrefix(String),
}

/// The `ipvs` section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IpvsConfig {
    /// The scheduler; empty means `rr`.
    pub scheduler: String,
    /// Virtual servers in these ranges are left alone.
    pub exclude_cidrs: Vec<IpNet>,
    /// Whether ARP is limited to the interface that has the address.
    pub strict_arp: bool,
    /// TCP timeout in seconds; 0 leaves the kernel's.
    pub tcp_timeout: u64,
    /// TCP timeout after FIN in seconds; 0 leaves the kernel's.
    pub tcp_fin_timeout: u64,
    /// UDP timeout in seconds; 0 leaves the kernel's.
    pub udp_timeout: u64,
}

/// Feature gates that rules depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct FeatureGates {
    /// `PreferSameTrafficDistribution`: node hints count.
    pub prefer_same_traffic_distribution: bool,
    /// `KubeProxyNFTablesLocalhostNodePorts`.
    pub nftables_localhost_node_ports: bool,
    /// `AllowServiceExternalIPs`.
    pub allow_service_external_ips: bool,
    /// `MultiCIDRServiceAllocator`: ServiceCIDRs are watched.
    pub multi_cidr_service_allocator: bool,
}

impl Config {
    /// Returns the masquerade mark of the configured mode: one bit of the packet mark.
    #[must_use]
    pub fn mark(&self) -> u32 {
        1 << match self.mode {
            Mode::Nftables => self.nftables_masquerade_bit,
            Mode::Iptables | Mode::Ipvs => self.iptables_masquerade_bit,
        }
    }
}
