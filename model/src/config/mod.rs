//! kube-proxy's configuration, in the internal form: what rules depend on.
//!
//! [`read`] takes a `KubeProxyConfiguration` as written (`document`: a whole document, some of its
//! fields, or nothing), fills in defaults and validates as kube-proxy does.

mod document;
mod read;
mod sections;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use thiserror::Error;

pub use read::{ConfigError, read};

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
    /// `masqueradeAll` of the mode's own section; ipvs mode takes that of iptables.
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
#[expect(clippy::struct_excessive_bools, reason = "each gate is a switch of its own")]
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

impl Default for FeatureGates {
    /// The gates of 1.37; since 1.34 none of the defaults differs.
    fn default() -> Self {
        FeatureGates {
            prefer_same_traffic_distribution: true,
            nftables_localhost_node_ports: false,
            allow_service_external_ips: true,
            multi_cidr_service_allocator: true,
        }
    }
}

impl Mode {
    /// Returns the mode's name, as `mode` and the command line spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Iptables => "iptables",
            Mode::Ipvs => "ipvs",
            Mode::Nftables => "nftables",
        }
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no mode; expected iptables, nftables or ipvs")]
pub struct ParseModeError(pub String);

impl FromStr for Mode {
    type Err = ParseModeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Mode::Iptables, Mode::Ipvs, Mode::Nftables]
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| ParseModeError(text.to_owned()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
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
