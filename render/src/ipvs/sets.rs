//! The IP sets.

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::ipset::{self, Options, Range, Set, SetType};

/// One of kube-proxy's sets. All exist always, even empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetKind {
    /// Endpoints on this node, so that one that talks to itself is masqueraded.
    LoopBack,
    /// Cluster IPs.
    ClusterIp,
    /// External IPs, policy Cluster.
    ExternalIp,
    /// External IPs, policy Local.
    ExternalIpLocal,
    /// Load balancer IPs.
    LoadBalancer,
    /// Load balancer IPs with policy Local.
    LoadBalancerLocal,
    /// Load balancer IPs with source ranges.
    LoadBalancerFirewall,
    /// Load balancer IPs with themselves as source.
    LoadBalancerSourceIp,
    /// Load balancer IPs with their source ranges.
    LoadBalancerSourceCidr,
    /// TCP node ports.
    NodePortTcp,
    /// TCP node ports with policy Local.
    NodePortLocalTcp,
    /// UDP node ports.
    NodePortUdp,
    /// UDP node ports with policy Local.
    NodePortLocalUdp,
    /// SCTP node ports, with the node's addresses.
    NodePortSctp,
    /// SCTP node ports with policy Local.
    NodePortLocalSctp,
    /// Ports of health checks.
    HealthCheckNodePort,
    /// The addresses on kube-ipvs0.
    IpvsIps,
}

/// The kernel's limit, less the closing zero.
const NAME_LENGTH: usize = 31;

impl SetKind {
    /// All sets.
    pub const ALL: [SetKind; 17] = [
        SetKind::LoopBack,
        SetKind::ClusterIp,
        SetKind::ExternalIp,
        SetKind::ExternalIpLocal,
        SetKind::LoadBalancer,
        SetKind::LoadBalancerLocal,
        SetKind::LoadBalancerFirewall,
        SetKind::LoadBalancerSourceIp,
        SetKind::LoadBalancerSourceCidr,
        SetKind::NodePortTcp,
        SetKind::NodePortLocalTcp,
        SetKind::NodePortUdp,
        SetKind::NodePortLocalUdp,
        SetKind::NodePortSctp,
        SetKind::NodePortLocalSctp,
        SetKind::HealthCheckNodePort,
        SetKind::IpvsIps,
    ];

    /// Returns the set's name in a family. In IPv6 it may be cut.
    #[must_use]
    pub fn name(self, family: Family) -> Name {
        match family {
            Family::V4 => format!("KUBE-{}", self.stem()).into(),
            Family::V6 => {
                let mut name = format!("KUBE-6-{}", self.stem());
                name.truncate(NAME_LENGTH);
                name.into()
            }
        }
    }

    /// Returns the set as kube-proxy creates it.
    #[must_use]
    pub fn create(self, family: Family) -> Set {
        let kind = self.set_type();
        if kind == SetType::BitmapPort {
            let range = Some(Range::Ports(0, u16::MAX));
            return Set::new(kind, Options { range, ..Options::default() });
        }
        let family = match family {
            Family::V4 => ipset::Family::Inet,
            Family::V6 => ipset::Family::Inet6,
        };
        let options = Options {
            family: Some(family),
            hash_size: Some(1024),
            max_elements: Some(65536),
            ..Options::default()
        };
        Set::new(kind, options)
    }

    /// Returns the comment of rules that use the set.
    #[must_use]
    pub fn comment(self) -> &'static str {
        FACTS[self as usize].2
    }

    fn stem(self) -> &'static str {
        FACTS[self as usize].0
    }

    fn set_type(self) -> SetType {
        FACTS[self as usize].1
    }
}

/// The sets' names without `KUBE-`, their types, and the comments of rules that use them, in the
/// order of [`SetKind`].
const FACTS: [(&str, SetType, &str); 17] = [
    (
        "LOOP-BACK",
        SetType::HashIpPortIp,
        "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose",
    ),
    (
        "CLUSTER-IP",
        SetType::HashIpPort,
        "Kubernetes service cluster ip + port for masquerade purpose",
    ),
    (
        "EXTERNAL-IP",
        SetType::HashIpPort,
        "Kubernetes service external ip + port for masquerade and filter purpose",
    ),
    (
        "EXTERNAL-IP-LOCAL",
        SetType::HashIpPort,
        "Kubernetes service external ip + port with externalTrafficPolicy=local",
    ),
    ("LOAD-BALANCER", SetType::HashIpPort, "Kubernetes service lb portal"),
    (
        "LOAD-BALANCER-LOCAL",
        SetType::HashIpPort,
        "Kubernetes service load balancer ip + port with externalTrafficPolicy=local",
    ),
    (
        "LOAD-BALANCER-FW",
        SetType::HashIpPort,
        "Kubernetes service load balancer ip + port for load balancer with sourceRange",
    ),
    (
        "LOAD-BALANCER-SOURCE-IP",
        SetType::HashIpPortIp,
        "Kubernetes service load balancer ip + port + source IP for packet filter purpose",
    ),
    (
        "LOAD-BALANCER-SOURCE-CIDR",
        SetType::HashIpPortNet,
        "Kubernetes service load balancer ip + port + source cidr for packet filter purpose",
    ),
    ("NODE-PORT-TCP", SetType::BitmapPort, "Kubernetes nodeport TCP port for masquerade purpose"),
    (
        "NODE-PORT-LOCAL-TCP",
        SetType::BitmapPort,
        "Kubernetes nodeport TCP port with externalTrafficPolicy=local",
    ),
    ("NODE-PORT-UDP", SetType::BitmapPort, "Kubernetes nodeport UDP port for masquerade purpose"),
    (
        "NODE-PORT-LOCAL-UDP",
        SetType::BitmapPort,
        "Kubernetes nodeport UDP port with externalTrafficPolicy=local",
    ),
    (
        "NODE-PORT-SCTP-HASH",
        SetType::HashIpPort,
        "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'",
    ),
    (
        "NODE-PORT-LOCAL-SCTP-HASH",
        SetType::HashIpPort,
        "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'",
    ),
    ("HEALTH-CHECK-NODE-PORT", SetType::BitmapPort, "Kubernetes health check node port"),
    ("IPVS-IPS", SetType::HashIp, "Addresses on the ipvs interface"),
];
