//! From the written document to [`Config`]: defaults and validation
//! (`pkg/proxy/apis/config/v1alpha1/defaults.go`, `pkg/proxy/apis/config/validation`).

use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Family;
use thiserror::Error;

use super::document::{Document, IpvsSection, RulesSection};
use super::{Config, DetectLocal, FeatureGates, IpvsConfig, Mode};
use crate::address::{parse_address, parse_prefix};
use crate::diagnostic::{Diagnostic, Place, Severity};

/// The bit of the packet mark that is used by default.
const DEFAULT_MASQUERADE_BIT: u8 = 14;
/// The schedulers of the kernel.
const SCHEDULERS: [&str; 13] =
    ["rr", "wrr", "lc", "wlc", "lblc", "lblcr", "sh", "dh", "sed", "nq", "mh", "fo", "ovf"];

/// A configuration with which kube-proxy would not start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The text is no such document.
    #[error("not a KubeProxyConfiguration: {0}")]
    Unreadable(String),
    /// A field has a value that is refused.
    #[error("{field}: `{value}` is not allowed; expected {expected}")]
    Invalid {
        /// The path of the field.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
}

/// Reads a configuration, in YAML or JSON. `mode`, if given, wins over the document's.
///
/// # Errors
/// Fails where kube-proxy would refuse to start. Unknown fields are no error, as kube-proxy only
/// warns of them; they come back as findings about `source`.
pub fn read(
    source: &str,
    text: &str,
    mode: Option<Mode>,
) -> Result<(Config, Vec<Diagnostic>), ConfigError> {
    let mut unknown = Vec::new();
    let document = document(text, &mut unknown)?;
    let config = Config::from_document(&document, mode)?;
    let finding = |field: String| Diagnostic {
        severity: Severity::Warning,
        place: Place { source: source.to_owned(), line: None },
        object: Some("KubeProxyConfiguration".to_owned()),
        field: Some(field),
        message: "no such field; it has no effect".to_owned(),
    };
    Ok((config, unknown.into_iter().map(finding).collect()))
}

fn document(text: &str, unknown: &mut Vec<String>) -> Result<Document, ConfigError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Document::default());
    }
    let reader = serde_norway::Deserializer::from_str(text);
    let document: Option<Document> =
        serde_ignored::deserialize(reader, |path| unknown.push(path.to_string().replace("?.", "")))
            .map_err(|error| ConfigError::Unreadable(error.to_string()))?;
    let document = document.unwrap_or_default();
    match (document.api_version.as_deref(), document.kind.as_deref()) {
        (
            None | Some("kubeproxy.config.k8s.io/v1alpha1"),
            None | Some("KubeProxyConfiguration"),
        ) => Ok(document),
        (version, kind) => Err(ConfigError::Unreadable(format!(
            "it is {} {}",
            version.unwrap_or_default(),
            kind.unwrap_or_default()
        ))),
    }
}

impl Default for Config {
    /// What kube-proxy uses without a configuration.
    fn default() -> Self {
        Config {
            mode: Mode::Iptables,
            hostname_override: None,
            bind_address: None,
            detect_local: DetectLocal::ClusterCidr(Vec::new()),
            node_port_addresses: Vec::new(),
            iptables_masquerade_bit: DEFAULT_MASQUERADE_BIT,
            nftables_masquerade_bit: DEFAULT_MASQUERADE_BIT,
            masquerade_all: false,
            localhost_node_ports: true,
            conntrack_tcp_be_liberal: false,
            ipvs: IpvsConfig::default(),
            gates: FeatureGates::default(),
        }
    }
}

impl Config {
    fn from_document(document: &Document, mode: Option<Mode>) -> Result<Config, ConfigError> {
        let mode = match (mode, document.mode.as_deref().unwrap_or_default()) {
            (Some(mode), _) => mode,
            (None, "") => Mode::Iptables,
            (None, written) => written.parse().map_err(|_| ConfigError::Invalid {
                field: "mode",
                value: written.to_owned(),
                expected: "iptables, nftables or ipvs",
            })?,
        };
        let absent = RulesSection::default();
        let iptables = document.iptables.as_ref().unwrap_or(&absent);
        let nftables = document.nftables.as_ref().unwrap_or(&absent);
        let section = if mode == Mode::Nftables { nftables } else { iptables };
        Ok(Config {
            mode,
            hostname_override: document.hostname_override.clone().filter(|name| !name.is_empty()),
            bind_address: bind_address(document)?,
            detect_local: detect_local(document)?,
            node_port_addresses: node_port_addresses(document)?,
            iptables_masquerade_bit: bit("iptables.masqueradeBit", iptables)?,
            nftables_masquerade_bit: bit("nftables.masqueradeBit", nftables)?,
            masquerade_all: section.masquerade_all.unwrap_or(false),
            localhost_node_ports: iptables.localhost_node_ports.unwrap_or(true),
            conntrack_tcp_be_liberal: document
                .conntrack
                .as_ref()
                .and_then(|c| c.tcp_be_liberal)
                .unwrap_or(false),
            ipvs: document.ipvs.as_ref().map(ipvs).transpose()?.unwrap_or_default(),
            gates: gates(document),
        })
    }
}

fn invalid<T>(field: &'static str, value: &str, expected: &'static str) -> Result<T, ConfigError> {
    Err(ConfigError::Invalid { field, value: value.to_owned(), expected })
}

fn bit(field: &'static str, section: &RulesSection) -> Result<u8, ConfigError> {
    match section.masquerade_bit {
        None => Ok(DEFAULT_MASQUERADE_BIT),
        Some(bit @ 0..=31) => Ok(u8::try_from(bit).unwrap_or_default()),
        Some(bit) => invalid(field, &bit.to_string(), "a bit from 0 to 31"),
    }
}

fn bind_address(document: &Document) -> Result<Option<IpAddr>, ConfigError> {
    match document.bind_address.as_deref() {
        None | Some("") => Ok(None),
        Some(text) => match parse_address(text) {
            Some(address) => Ok(Some(address)),
            None => invalid("bindAddress", text, "an IP address"),
        },
    }
}

fn detect_local(document: &Document) -> Result<DetectLocal, ConfigError> {
    let section = document.detect_local.as_ref();
    let required = |field, name: Option<&String>| match name.map(String::as_str) {
        None | Some("") => invalid(field, "", "the name of an interface"),
        Some(name) => Ok(name.to_owned()),
    };
    match document.detect_local_mode.as_deref() {
        None | Some("" | "ClusterCIDR") => Ok(DetectLocal::ClusterCidr(cluster_cidrs(document)?)),
        Some("NodeCIDR") => Ok(DetectLocal::NodeCidr),
        Some("BridgeInterface") => {
            let name = section.and_then(|s| s.bridge_interface.as_ref());
            required("detectLocal.bridgeInterface", name).map(DetectLocal::BridgeInterface)
        }
        Some("InterfaceNamePrefix") => {
            let prefix = section.and_then(|s| s.interface_name_prefix.as_ref());
            required("detectLocal.interfaceNamePrefix", prefix)
                .map(DetectLocal::InterfaceNamePrefix)
        }
        Some(mode) => invalid(
            "detectLocalMode",
            mode,
            "ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix",
        ),
    }
}

fn cluster_cidrs(document: &Document) -> Result<Vec<IpNet>, ConfigError> {
    const EXPECTED: &str = "one CIDR, or one of each family separated by a comma";
    let text = document.cluster_cidr.as_deref().unwrap_or_default();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let cidrs: Option<Vec<IpNet>> = text.split(',').map(|c| parse_prefix(c.trim())).collect();
    let one_each = |cidrs: &[IpNet]| match cidrs {
        [_] => true,
        [a, b] => Family::of(a.addr()) != Family::of(b.addr()),
        _ => false,
    };
    cidrs.filter(|c| one_each(c)).map_or_else(|| invalid("clusterCIDR", text, EXPECTED), Ok)
}

fn node_port_addresses(document: &Document) -> Result<Vec<String>, ConfigError> {
    let words = document.node_port_addresses.clone().unwrap_or_default();
    let known = |word: &str| {
        matches!(word, "primary" | "localhost" | "all") || parse_prefix(word).is_some()
    };
    match words.iter().find(|word| !known(word)) {
        Some(word) => {
            invalid("nodePortAddresses", word, "CIDRs, or the words primary, localhost and all")
        }
        None => Ok(words),
    }
}

fn ipvs(section: &IpvsSection) -> Result<IpvsConfig, ConfigError> {
    let scheduler = section.scheduler.clone().unwrap_or_default();
    if !scheduler.is_empty() && !SCHEDULERS.contains(&scheduler.as_str()) {
        return invalid("ipvs.scheduler", &scheduler, "a scheduler of the kernel, such as rr");
    }
    Ok(IpvsConfig {
        scheduler,
        exclude_cidrs: exclude_cidrs(section)?,
        strict_arp: section.strict_arp.unwrap_or(false),
        tcp_timeout: seconds("ipvs.tcpTimeout", section.tcp_timeout.as_deref())?,
        tcp_fin_timeout: seconds("ipvs.tcpFinTimeout", section.tcp_fin_timeout.as_deref())?,
        udp_timeout: seconds("ipvs.udpTimeout", section.udp_timeout.as_deref())?,
    })
}

fn exclude_cidrs(section: &IpvsSection) -> Result<Vec<IpNet>, ConfigError> {
    let written = section.exclude_cidrs.as_deref().unwrap_or_default();
    written
        .iter()
        .map(|text| {
            parse_prefix(text).map_or_else(|| invalid("ipvs.excludeCIDRs", text, "a CIDR"), Ok)
        })
        .collect()
}

/// Reads a duration as Go writes it (`900s`, `1h30m`), in whole seconds.
fn seconds(field: &'static str, text: Option<&str>) -> Result<u64, ConfigError> {
    let text = text.unwrap_or("0s");
    let duration: Option<jiff::SignedDuration> =
        if text == "0" { Some(jiff::SignedDuration::ZERO) } else { text.parse().ok() };
    match duration.map(|d| u64::try_from(d.as_secs())) {
        Some(Ok(seconds)) => Ok(seconds),
        _ => invalid(field, text, "a duration such as 900s"),
    }
}

fn gates(document: &Document) -> FeatureGates {
    let on = |name: &str, default| {
        let gates = document.feature_gates.as_ref();
        gates.and_then(|gates| gates.get(name)).copied().unwrap_or(default)
    };
    let default = FeatureGates::default();
    FeatureGates {
        prefer_same_traffic_distribution: on(
            "PreferSameTrafficDistribution",
            default.prefer_same_traffic_distribution,
        ),
        nftables_localhost_node_ports: on(
            "KubeProxyNFTablesLocalhostNodePorts",
            default.nftables_localhost_node_ports,
        ),
        allow_service_external_ips: on(
            "AllowServiceExternalIPs",
            default.allow_service_external_ips,
        ),
        multi_cidr_service_allocator: on(
            "MultiCIDRServiceAllocator",
            default.multi_cidr_service_allocator,
        ),
    }
}
