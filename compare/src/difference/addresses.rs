//! Differences of what becomes of packets to service addresses that no endpoint gets.

use super::{About, Risk};

/// Undefined port on a cluster IP.
pub const D07: About = About {
    title: "undefined port on a cluster IP",
    meaning: "iptables has no rule, so the packet is routed on; nftables refuses it; in ipvs mode the \
        address is local and KUBE-IPVS-FILTER refuses it, with the service address as source.",
    source: "pkg/proxy/nftables/README.md; kubernetes/kubernetes#72236",
    risk: Risk::Harmless,
    before: "Find clients that use ports which the Service does not declare.",
    after: "Expect connection refused at once where connections used to time out.",
    setting: None,
};

/// Cluster IP that no Service has.
pub const D08: About = About {
    title: "cluster IP that no Service has",
    meaning: "nftables drops packets to unassigned addresses of a ServiceCIDR that it knows; iptables \
        and ipvs route them on.",
    source: "KEP-3866; pkg/proxy/nftables/README.md",
    risk: Risk::Harmless,
    before: "Make sure that nothing but Services has addresses in the ServiceCIDRs.",
    after: "Look for hosts or routers in these ranges that are out of reach.",
    setting: None,
};

/// Ping of a cluster IP.
pub const D09: About = About {
    title: "ping of a cluster IP",
    meaning: "iptables routes ICMP to a cluster IP on; nftables and ipvs refuse it.",
    source: "pkg/proxy/nftables/README.md; pkg/proxy/ipvs/proxier.go",
    risk: Risk::Harmless,
    before: "Take checks that ping cluster IPs to TCP: no mode answers them.",
    after: "Look at monitoring that pings: where a ping was lost, it is now refused, or the other way.",
    setting: None,
};

/// Service without usable endpoints.
pub const D10: About = About {
    title: "Service without usable endpoints",
    meaning: "All modes refuse, but iptables has no such rule in OUTPUT for external and load balancer \
        addresses, so a packet of a node process to them passes; it refuses node ports on every local \
        address, also where it would not serve them; and in ipvs mode ip_vs itself answers, with the \
        service address as source.",
    source: "KEP-3866; kubernetes/kubernetes#72534; pkg/proxy/iptables/proxier.go",
    risk: Risk::Harmless,
    before: "Nothing.",
    after: "Expect node processes to be refused at once, where with iptables they leave the node.",
    setting: None,
};

/// Where service addresses live.
pub const D24: About = About {
    title: "where service addresses live",
    meaning: "ipvs binds every service address to kube-ipvs0, so packets to it are delivered \
        locally; the other modes translate them before routing and no interface has the address.",
    source: "KEP-265; pkg/proxy/ipvs/proxier.go",
    risk: Risk::Breaks,
    before: "Find software that looks for service addresses on the node or binds to all addresses \
        (routing daemons that announce kube-ipvs0, among others).",
    after: "See that addresses which routing daemons announce are still announced.",
    setting: None,
};

/// Undefined port on an external or load balancer address.
pub const D25: About = About {
    title: "undefined port on an external or load balancer address",
    meaning: "In ipvs mode the address is local and KUBE-IPVS-FILTER refuses the packet; iptables and \
        nftables route it on.",
    source: "kubernetes/kubernetes#66966",
    risk: Risk::Breaks,
    before: "Find what else answers on the addresses of balancers.",
    after: "Expect such packets to leave the node.",
    setting: None,
};

/// ARP for service addresses.
pub const D27: About = About {
    title: "ARP for service addresses",
    meaning: "In ipvs mode a node owns every service address and may answer ARP for it unless \
        strictARP is set; in the other modes it owns none.",
    source: "kubernetes/kubernetes#59976; pkg/proxy/ipvs/proxier.go",
    risk: Risk::Breaks,
    before: "With a balancer that answers ARP itself, set strictARP as long as ipvs is used.",
    after: "See that only the balancer answers ARP; arp_ignore and arp_announce stay as ipvs left them \
        until a reboot.",
    setting: Some("set ipvs.strictARP to true"),
};

/// Two Services with one address, port and protocol.
pub const D31: About = About {
    title: "two Services with one address, port and protocol",
    meaning: "iptables keeps the first rule, nftables the last element, ipvs one virtual server \
        with the later Service's endpoints; which Service that is, is chance in every mode.",
    source: "kubernetes/kubernetes#69599",
    risk: Risk::Breaks,
    before: "Give each Service an address or port of its own.",
    after: "Nothing, once the collision is gone.",
    setting: None,
};
