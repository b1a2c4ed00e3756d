//! The settings of kube-proxy by which two configurations of one mode may differ.

use kps_model::Config;
use kps_model::config::DetectLocal;

use crate::difference::{About, Risk};

/// A setting on which rules, or what is around them, depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the field that its name says")]
pub enum Setting {
    NodePortAddresses,
    DetectLocal,
    MasqueradeAll,
    MasqueradeBit,
    LocalhostNodePorts,
    TcpBeLiberal,
    BindAddress,
    Scheduler,
    ExcludeCidrs,
    StrictArp,
    IpvsTimeouts,
    SameTrafficDistribution,
    LocalhostGate,
    ExternalIpsGate,
    ServiceCidrsGate,
}

impl Setting {
    /// All of them, in order.
    pub const ALL: [Setting; 15] = [
        Setting::NodePortAddresses,
        Setting::DetectLocal,
        Setting::MasqueradeAll,
        Setting::MasqueradeBit,
        Setting::LocalhostNodePorts,
        Setting::TcpBeLiberal,
        Setting::BindAddress,
        Setting::Scheduler,
        Setting::ExcludeCidrs,
        Setting::StrictArp,
        Setting::IpvsTimeouts,
        Setting::SameTrafficDistribution,
        Setting::LocalhostGate,
        Setting::ExternalIpsGate,
        Setting::ServiceCidrsGate,
    ];

    /// Returns its name: the field of the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Setting::NodePortAddresses => "nodePortAddresses",
            Setting::DetectLocal => "detectLocalMode, clusterCIDR",
            Setting::MasqueradeAll => "masqueradeAll",
            Setting::MasqueradeBit => "masqueradeBit",
            Setting::LocalhostNodePorts => "iptables.localhostNodePorts",
            Setting::TcpBeLiberal => "conntrack.tcpBeLiberal",
            Setting::BindAddress => "bindAddress",
            Setting::Scheduler => "ipvs.scheduler",
            Setting::ExcludeCidrs => "ipvs.excludeCIDRs",
            Setting::StrictArp => "ipvs.strictARP",
            Setting::IpvsTimeouts => "ipvs.tcpTimeout, tcpFinTimeout, udpTimeout",
            Setting::SameTrafficDistribution => "gate PreferSameTrafficDistribution",
            Setting::LocalhostGate => "gate KubeProxyNFTablesLocalhostNodePorts",
            Setting::ExternalIpsGate => "gate AllowServiceExternalIPs",
            Setting::ServiceCidrsGate => "gate MultiCIDRServiceAllocator",
        }
    }

    /// Returns what is told of it.
    #[must_use]
    pub const fn about(self) -> &'static About {
        match self {
            Setting::NodePortAddresses => &NODE_PORT_ADDRESSES,
            Setting::DetectLocal => &DETECT_LOCAL,
            Setting::MasqueradeAll => &MASQUERADE_ALL,
            Setting::MasqueradeBit => &MASQUERADE_BIT,
            Setting::LocalhostNodePorts => &LOCALHOST_NODE_PORTS,
            Setting::TcpBeLiberal => &TCP_BE_LIBERAL,
            Setting::BindAddress => &BIND_ADDRESS,
            Setting::Scheduler => &SCHEDULER,
            Setting::ExcludeCidrs => &EXCLUDE_CIDRS,
            Setting::StrictArp => &STRICT_ARP,
            Setting::IpvsTimeouts => &IPVS_TIMEOUTS,
            Setting::SameTrafficDistribution => &SAME_TRAFFIC_DISTRIBUTION,
            Setting::LocalhostGate => &LOCALHOST_GATE,
            Setting::ExternalIpsGate => &EXTERNAL_IPS_GATE,
            Setting::ServiceCidrsGate => &SERVICE_CIDRS_GATE,
        }
    }

    /// Returns its value, as a configuration would write it.
    #[must_use]
    pub fn value(self, config: &Config) -> String {
        let list = |words: &[String]| format!("[{}]", words.join(", "));
        let (ipvs, gates) = (&config.ipvs, &config.gates);
        match self {
            Setting::NodePortAddresses => list(&config.node_port_addresses),
            Setting::DetectLocal => detection(&config.detect_local),
            Setting::MasqueradeAll => config.masquerade_all.to_string(),
            Setting::MasqueradeBit => config.mark().trailing_zeros().to_string(),
            Setting::LocalhostNodePorts => config.localhost_node_ports.to_string(),
            Setting::TcpBeLiberal => config.conntrack_tcp_be_liberal.to_string(),
            Setting::BindAddress => {
                config.bind_address.map_or_else(|| "any".to_owned(), |address| address.to_string())
            }
            Setting::Scheduler if ipvs.scheduler.is_empty() => "rr".to_owned(),
            Setting::Scheduler => ipvs.scheduler.clone(),
            Setting::ExcludeCidrs => {
                list(&ipvs.exclude_cidrs.iter().map(ToString::to_string).collect::<Vec<_>>())
            }
            Setting::StrictArp => ipvs.strict_arp.to_string(),
            Setting::IpvsTimeouts => {
                let (tcp, fin, udp) = (ipvs.tcp_timeout, ipvs.tcp_fin_timeout, ipvs.udp_timeout);
                format!("{tcp}s {fin}s {udp}s")
            }
            Setting::SameTrafficDistribution => gates.prefer_same_traffic_distribution.to_string(),
            Setting::LocalhostGate => gates.nftables_localhost_node_ports.to_string(),
            Setting::ExternalIpsGate => gates.allow_service_external_ips.to_string(),
            Setting::ServiceCidrsGate => gates.multi_cidr_service_allocator.to_string(),
        }
    }

    /// Takes the value of another configuration.
    pub fn take(self, into: &mut Config, from: &Config) {
        let (ipvs, gates) = (&mut into.ipvs, &mut into.gates);
        match self {
            Setting::NodePortAddresses => {
                into.node_port_addresses.clone_from(&from.node_port_addresses);
            }
            Setting::DetectLocal => into.detect_local.clone_from(&from.detect_local),
            Setting::MasqueradeAll => into.masquerade_all = from.masquerade_all,
            Setting::MasqueradeBit => {
                let bit = u8::try_from(from.mark().trailing_zeros()).unwrap_or_default();
                (into.iptables_masquerade_bit, into.nftables_masquerade_bit) = (bit, bit);
            }
            Setting::LocalhostNodePorts => into.localhost_node_ports = from.localhost_node_ports,
            Setting::TcpBeLiberal => into.conntrack_tcp_be_liberal = from.conntrack_tcp_be_liberal,
            Setting::BindAddress => into.bind_address = from.bind_address,
            Setting::Scheduler => ipvs.scheduler.clone_from(&from.ipvs.scheduler),
            Setting::ExcludeCidrs => ipvs.exclude_cidrs.clone_from(&from.ipvs.exclude_cidrs),
            Setting::StrictArp => ipvs.strict_arp = from.ipvs.strict_arp,
            Setting::IpvsTimeouts => {
                ipvs.tcp_timeout = from.ipvs.tcp_timeout;
                ipvs.tcp_fin_timeout = from.ipvs.tcp_fin_timeout;
                ipvs.udp_timeout = from.ipvs.udp_timeout;
            }
            Setting::SameTrafficDistribution => {
                gates.prefer_same_traffic_distribution =
                    from.gates.prefer_same_traffic_distribution;
            }
            Setting::LocalhostGate => {
                gates.nftables_localhost_node_ports = from.gates.nftables_localhost_node_ports;
            }
            Setting::ExternalIpsGate => {
                gates.allow_service_external_ips = from.gates.allow_service_external_ips;
            }
            Setting::ServiceCidrsGate => {
                gates.multi_cidr_service_allocator = from.gates.multi_cidr_service_allocator;
            }
        }
    }
}

fn detection(detect: &DetectLocal) -> String {
    match detect {
        DetectLocal::ClusterCidr(ranges) if ranges.is_empty() => "ClusterCIDR, none".to_owned(),
        DetectLocal::ClusterCidr(ranges) => {
            let ranges: Vec<String> = ranges.iter().map(ToString::to_string).collect();
            format!("ClusterCIDR {}", ranges.join(","))
        }
        DetectLocal::NodeCidr => "NodeCIDR".to_owned(),
        DetectLocal::BridgeInterface(name) => format!("BridgeInterface {name}"),
        DetectLocal::InterfaceNamePrefix(prefix) => format!("InterfaceNamePrefix {prefix}"),
    }
}

/// A setting that does what it says, whichever way it is changed.
const fn plain(meaning: &'static str, risk: Risk) -> About {
    About {
        title: "a setting of kube-proxy",
        meaning,
        source: "pkg/proxy/apis/config/types.go",
        risk,
        before: "Look at the packets that change, and keep the old value if one of them matters.",
        after: "Try these packets.",
        setting: None,
    }
}

const NODE_PORT_ADDRESSES: About =
    plain("The addresses of the node that serve node ports.", Risk::Breaks);
const DETECT_LOCAL: About = plain(
    "How packets of pods are told from others: others are masqueraded on their way to a cluster IP, \
        and pods may use all endpoints of a Local Service.",
    Risk::Breaks,
);
const MASQUERADE_ALL: About = plain(
    "Whether all traffic to cluster IPs is masqueraded, so that endpoints see the node as client.",
    Risk::Breaks,
);
const MASQUERADE_BIT: About = plain(
    "The bit of the packet mark that has a packet masqueraded; others must keep off it.",
    Risk::Breaks,
);
const LOCALHOST_NODE_PORTS: About = plain("Whether node ports answer on 127.0.0.1.", Risk::Breaks);
const TCP_BE_LIBERAL: About = plain(
    "Whether connection tracking takes TCP packets outside of the window for valid; if not, iptables \
        mode drops them.",
    Risk::Breaks,
);
const BIND_ADDRESS: About = plain(
    "The address that the node is taken to have, and with it the primary one for node ports.",
    Risk::Breaks,
);
const SCHEDULER: About = plain("How ipvs chooses a real server.", Risk::ChangesBalance);
const EXCLUDE_CIDRS: About = plain(
    "Virtual servers in these ranges are left alone when ipvs mode cleans up; other modes do not know \
        it.",
    Risk::Harmless,
);
const STRICT_ARP: About = plain(
    "Whether the node answers ARP only for addresses of the interface that is asked, and so not for \
        those on kube-ipvs0.",
    Risk::Breaks,
);
const IPVS_TIMEOUTS: About = plain("After how long ipvs forgets an idle connection.", Risk::Breaks);
const SAME_TRAFFIC_DISTRIBUTION: About =
    plain("Whether hints for nodes count in the choice of endpoints.", Risk::ChangesBalance);
const LOCALHOST_GATE: About = plain(
    "Whether nftables mode handles node ports on loopback addresses, by a proxy in user space.",
    Risk::Opens,
);
const EXTERNAL_IPS_GATE: About = plain("Whether externalIPs count.", Risk::Breaks);
const SERVICE_CIDRS_GATE: About = plain(
    "Whether ServiceCIDRs are watched; nftables drops packets to unassigned addresses in them.",
    Risk::Breaks,
);
