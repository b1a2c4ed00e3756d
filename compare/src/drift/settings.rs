//! The settings of kube-proxy that its rules show.

use std::collections::BTreeSet;
use std::fmt;

use ipnet::IpNet;
use kps_flow::Family;
use kps_model::config::DetectLocal;
use kps_model::{Config, Mode, address};
use kps_ruleset::iptables::{self, print_rule};
use kps_ruleset::nftables::TableFamily;
use kps_ruleset::{Name, NodeState};

/// A setting, as a KubeProxyConfiguration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The field, with its section.
    pub field: String,
    /// Its value.
    pub value: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.value)
    }
}

/// What the rules of a dump show of settings.
#[derive(Debug, Default)]
pub(super) struct Shown {
    mode: Option<Mode>,
    /// The bits of marks.
    bits: BTreeSet<u8>,
    /// The sources that are told from others, by address.
    cidrs: BTreeSet<IpNet>,
    /// The same by interface; a `+` or `*` at the end means any that starts so.
    interfaces: BTreeSet<String>,
    /// The ranges that serve node ports.
    node_ports: BTreeSet<IpNet>,
    /// The schedulers of virtual servers.
    schedulers: BTreeSet<String>,
}

/// Makes configurations of one, each with another value of a field.
type Propose = fn(&Config, &Shown) -> Vec<Config>;

/// The fields, those first that most rules depend on; whether loopback has node ports before the
/// addresses that have them.
pub(super) const FIELDS: [Propose; 8] = [
    masquerade_bits,
    detectors,
    masquerade_all,
    localhost_node_ports,
    localhost_gate,
    node_port_addresses,
    schedulers,
    tcp_be_liberal,
];

impl Shown {
    /// Reads the rules of a mode.
    pub fn of(dump: &NodeState, mode: Mode) -> Shown {
        let mut shown = Shown { mode: Some(mode), ..Shown::default() };
        match mode {
            Mode::Nftables => shown.read_nftables(dump),
            Mode::Iptables | Mode::Ipvs => shown.read_iptables(dump),
        }
        if mode == Mode::Ipvs {
            let servers = dump.ipvs.services.values();
            shown.schedulers.extend(servers.map(|server| server.scheduler.to_string()));
        }
        shown
    }

    fn read_nftables(&mut self, dump: &NodeState) {
        for family in [TableFamily::Ip, TableFamily::Ip6] {
            let Some(table) = dump.nftables.table(family, "kube-proxy") else { continue };
            for rule in table.chains.values().flat_map(|chain| &chain.rules) {
                self.read(&rule.to_string());
            }
            let Some(set) = table.sets.get(&Name::new("nodeport-ips")) else { continue };
            for element in set.elements.values() {
                let text = set.display_element(element);
                self.node_ports.extend(range(text.split(' ').next().unwrap_or_default()));
            }
        }
    }

    fn read_iptables(&mut self, dump: &NodeState) {
        for family in [iptables::Family::Ipv4, iptables::Family::Ipv6] {
            let Some(nat) = dump.iptables.family(family).tables.get(&Name::new("nat")) else {
                continue;
            };
            let own = nat.chains.iter().filter(|(name, _)| is_telling(name));
            for rule in own.flat_map(|(_, chain)| &chain.rules) {
                self.read(&print_rule(rule, family));
            }
        }
    }

    /// Reads the text of a rule.
    fn read(&mut self, text: &str) {
        let words: Vec<&str> = std::iter::once("").chain(text.split(' ')).collect();
        let serves_node_ports = text.ends_with("-j KUBE-NODEPORTS");
        for triple in words.windows(3) {
            match triple {
                ["!", "-s", range] | ["saddr", "!=", range] => self.source(range),
                ["!", "-i", name] | ["iifname", "!=", name] => {
                    self.interfaces.insert(name.trim_matches('"').to_owned());
                }
                // A negated one says what has none.
                [before, "-d", address] if serves_node_ports && *before != "!" => {
                    self.node_ports.extend(range(address));
                }
                _ => {}
            }
        }
        for pair in words.windows(2) {
            match pair {
                ["-s" | "saddr", range] if text.contains("pod traffic") => self.source(range),
                ["-i" | "iifname", name] if text.contains("pod traffic") => {
                    self.interfaces.insert(name.trim_matches('"').to_owned());
                }
                _ => {}
            }
        }
        self.bits.extend(words.iter().filter_map(|word| bit(word)));
    }

    fn source(&mut self, text: &str) {
        // What is told from one pod is a hairpin, and no detector.
        self.cidrs.extend(range(text).filter(|range| range.prefix_len() < range.max_prefix_len()));
    }
}

/// Tells whether a chain has rules that depend on settings; the many chains of endpoints do not.
fn is_telling(chain: &str) -> bool {
    chain.starts_with("KUBE-") && !chain.starts_with("KUBE-SEP-")
}

fn range(text: &str) -> Option<IpNet> {
    let whole = || address::parse_address(text).map(IpNet::from);
    address::parse_prefix(text).or_else(whole)
}

/// Reads a mark of a single bit, alone or with its mask.
fn bit(word: &str) -> Option<u8> {
    let digits = word.strip_prefix("0x")?.split('/').next()?;
    let mark = u32::from_str_radix(digits, 16).ok()?;
    mark.is_power_of_two().then(|| u8::try_from(mark.trailing_zeros()).ok()).flatten()
}

fn masquerade_bits(config: &Config, shown: &Shown) -> Vec<Config> {
    let with = |bit: &u8| match shown.mode {
        Some(Mode::Nftables) => Config { nftables_masquerade_bit: *bit, ..config.clone() },
        _ => Config { iptables_masquerade_bit: *bit, ..config.clone() },
    };
    shown.bits.iter().map(with).collect()
}

fn detectors(config: &Config, shown: &Shown) -> Vec<Config> {
    let mut detectors = vec![DetectLocal::ClusterCidr(Vec::new())];
    let of = |family| shown.cidrs.iter().filter(move |cidr| Family::of(cidr.addr()) == family);
    let pairs = of(Family::V4).map(Some).chain([None]);
    for v4 in pairs {
        for v6 in of(Family::V6).map(Some).chain([None]) {
            detectors.push(DetectLocal::ClusterCidr(v4.into_iter().chain(v6).copied().collect()));
        }
    }
    for name in &shown.interfaces {
        detectors.push(match name.strip_suffix(['+', '*']) {
            Some(prefix) => DetectLocal::InterfaceNamePrefix(prefix.to_owned()),
            None => DetectLocal::BridgeInterface(name.clone()),
        });
    }
    let with = |detect_local| Config { detect_local, ..config.clone() };
    detectors.into_iter().map(with).collect()
}

fn masquerade_all(config: &Config, _: &Shown) -> Vec<Config> {
    vec![Config { masquerade_all: !config.masquerade_all, ..config.clone() }]
}

fn node_port_addresses(config: &Config, shown: &Shown) -> Vec<Config> {
    let usual: [&[&str]; 4] = [&[], &["0.0.0.0/0", "::/0"], &["primary"], &["127.0.0.0/8"]];
    let usual = usual.into_iter().map(|words| words.iter().map(ToString::to_string).collect());
    let shown: Vec<String> = shown.node_ports.iter().map(ToString::to_string).collect();
    let with = |node_port_addresses| Config { node_port_addresses, ..config.clone() };
    usual.chain([shown]).map(with).collect()
}

fn schedulers(config: &Config, shown: &Shown) -> Vec<Config> {
    let with = |scheduler: &String| {
        let mut config = config.clone();
        config.ipvs.scheduler.clone_from(scheduler);
        config
    };
    shown.schedulers.iter().map(with).collect()
}

fn localhost_node_ports(config: &Config, shown: &Shown) -> Vec<Config> {
    let is_used = shown.mode == Some(Mode::Iptables);
    let other = Config { localhost_node_ports: !config.localhost_node_ports, ..config.clone() };
    is_used.then_some(other).into_iter().collect()
}

fn tcp_be_liberal(config: &Config, shown: &Shown) -> Vec<Config> {
    let is_used = shown.mode == Some(Mode::Iptables);
    let other =
        Config { conntrack_tcp_be_liberal: !config.conntrack_tcp_be_liberal, ..config.clone() };
    is_used.then_some(other).into_iter().collect()
}

fn localhost_gate(config: &Config, shown: &Shown) -> Vec<Config> {
    let mut other = config.clone();
    other.gates.nftables_localhost_node_ports = !config.gates.nftables_localhost_node_ports;
    (shown.mode == Some(Mode::Nftables)).then_some(other).into_iter().collect()
}

/// Returns the settings of a configuration in which it differs from another.
pub(super) fn differing(given: &Config, found: &Config) -> Vec<Setting> {
    let (given, found) = (listed(given), listed(found));
    let differs = |(one, other): &(Setting, Setting)| one != other;
    given.into_iter().zip(found).filter(differs).map(|(_, found)| found).collect()
}

fn listed(config: &Config) -> [Setting; 8] {
    let section = if config.mode == Mode::Nftables { "nftables" } else { "iptables" };
    let bit = config.mark().trailing_zeros();
    let gate = config.gates.nftables_localhost_node_ports;
    [
        setting(format!("{section}.masqueradeBit"), &bit),
        detector(&config.detect_local),
        setting(format!("{section}.masqueradeAll"), &config.masquerade_all),
        setting("nodePortAddresses", &format!("[{}]", config.node_port_addresses.join(", "))),
        setting("ipvs.scheduler", &config.ipvs.scheduler),
        setting("iptables.localhostNodePorts", &config.localhost_node_ports),
        setting("conntrack.tcpBeLiberal", &config.conntrack_tcp_be_liberal),
        setting("featureGates.KubeProxyNFTablesLocalhostNodePorts", &gate),
    ]
}

fn setting(field: impl Into<String>, value: &impl ToString) -> Setting {
    Setting { field: field.into(), value: value.to_string() }
}

fn detector(detect: &DetectLocal) -> Setting {
    match detect {
        DetectLocal::ClusterCidr(cidrs) => {
            let cidrs: Vec<String> = cidrs.iter().map(ToString::to_string).collect();
            setting("clusterCIDR", &format!("\"{}\"", cidrs.join(",")))
        }
        DetectLocal::NodeCidr => setting("detectLocalMode", &"NodeCIDR"),
        DetectLocal::BridgeInterface(name) => setting("detectLocal.bridgeInterface", name),
        DetectLocal::InterfaceNamePrefix(prefix) => {
            setting("detectLocal.interfaceNamePrefix", prefix)
        }
    }
}
