//! From the written document to [`Config`]: defaults and validation
//! (`pkg/proxy/apis/config/v1alpha1/defaults.go`, `pkg/proxy/apis/config/validation`).

use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Family;
use thiserror::Error;

use super::document::{ConfigMap, Document};
use super::sections::{DEFAULT_MASQUERADE_BIT, Sections};
use super::{Config, DetectLocal, FeatureGates, IpvsConfig, Mode};
use crate::KubeVersion;
use crate::address::{parse_address, parse_prefix};
use crate::diagnostic::{Diagnostic, Place, Severity};

/// Under which name the ConfigMap that kubeadm makes holds the configuration.
const CONFIG_MAP_KEY: &str = "config.conf";
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

/// Reads a configuration, in YAML or JSON, or the ConfigMap that kubeadm keeps it in. `mode`, if
/// given, wins over the document's.
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
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Document::default());
    }
    let document = written(text, unknown)?;
    match (document.api_version.as_deref(), document.kind.as_deref()) {
        (
            None | Some("kubeproxy.config.k8s.io/v1alpha1"),
            None | Some("KubeProxyConfiguration"),
        ) => Ok(document),
        (Some("v1"), Some("ConfigMap")) => {
            unknown.clear();
            let map: ConfigMap = serde_norway::from_str(text)?;
            let missing = format!("the ConfigMap has no {CONFIG_MAP_KEY}");
            let text = map.data.get(CONFIG_MAP_KEY).ok_or(ConfigError::Unreadable(missing))?;
            written(text, unknown)
        }
        (version, kind) => Err(ConfigError::Unreadable(format!(
            "it is {} {}",
            version.unwrap_or_default(),
            kind.unwrap_or_default()
        ))),
    }
}

fn written(text: &str, unknown: &mut Vec<String>) -> Result<Document, ConfigError> {
    let reader = serde_norway::Deserializer::from_str(text);
    let document: Option<Document> = serde_ignored::deserialize(reader, |path| {
        unknown.push(path.to_string().replace("?.", ""));
    })?;
    Ok(document.unwrap_or_default())
}

impl From<serde_norway::Error> for ConfigError {
    fn from(error: serde_norway::Error) -> ConfigError {
        ConfigError::Unreadable(error.to_string())
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
        let mode = mode.map_or_else(|| written_mode(document), Ok)?;
        let section = Sections::of(document, mode)?;
        let conntrack = document.conntrack.as_ref();
        Ok(Config {
            mode,
            hostname_override: document.hostname_override.clone().filter(|name| !name.is_empty()),
            bind_address: bind_address(document)?,
            detect_local: detect_local(document)?,
            node_port_addresses: node_port_addresses(document)?,
            iptables_masquerade_bit: section.iptables_masquerade_bit,
            nftables_masquerade_bit: section.nftables_masquerade_bit,
            masquerade_all: section.masquerade_all,
            localhost_node_ports: section.localhost_node_ports,
            conntrack_tcp_be_liberal: conntrack.and_then(|c| c.tcp_be_liberal).unwrap_or(false),
            ipvs: section.ipvs,
            gates: gates(document),
        })
    }

    /// Checks what only some releases refuse.
    ///
    /// # Errors
    /// Fails where kube-proxy of that release would refuse to start.
    pub fn check_release(&self, version: KubeVersion) -> Result<(), ConfigError> {
        let words = &self.node_port_addresses;
        let is_word = |word: &&String| parse_prefix(word).is_none();
        if version < KubeVersion::V1_37
            && words.as_slice() != ["primary"]
            && let Some(word) = words.iter().find(is_word)
        {
            return invalid("nodePortAddresses", word, "CIDRs, or `primary` alone (before 1.37)");
        }
        if version >= KubeVersion::V1_35 && !self.gates.prefer_same_traffic_distribution {
            let field = "featureGates.PreferSameTrafficDistribution";
            return invalid(field, "false", "true, to which it is locked since 1.35");
        }
        Ok(())
    }
}

fn written_mode(document: &Document) -> Result<Mode, ConfigError> {
    match document.mode.as_deref().unwrap_or_default() {
        "" => Ok(Mode::Iptables),
        written => {
            written.parse().or_else(|_| invalid("mode", written, "iptables, nftables or ipvs"))
        }
    }
}

pub(super) fn invalid<T>(
    field: &'static str,
    value: &str,
    expected: &'static str,
) -> Result<T, ConfigError> {
    Err(ConfigError::Invalid { field, value: value.to_owned(), expected })
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
    // Validated in every mode.
    let cluster_cidrs = cluster_cidrs(document)?;
    match document.detect_local_mode.as_deref() {
        None | Some("" | "ClusterCIDR") => Ok(DetectLocal::ClusterCidr(cluster_cidrs)),
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
    let cidrs: Option<Vec<IpNet>> = text.split(',').map(parse_prefix).collect();
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
