//! Differences of node ports.

use super::{About, Risk};

/// Addresses that serve node ports.
pub const D01: About = About {
    title: "addresses that serve node ports",
    meaning: "Without nodePortAddresses, iptables serves node ports on every local address, ipvs on \
        every one that it lists at a sync (neither loopback nor those on kube-ipvs0), and nftables \
        on the node's primary address of each family.",
    source: "KEP-3866; kubernetes.io, Virtual IPs and Service Proxies",
    risk: Risk::Breaks,
    before: "Find clients of node ports on addresses other than the node's primary one.",
    after: "Try a node port on each address that clients and balancers use.",
    setting: Some("set nodePortAddresses to the ranges that clients use, before and after"),
};

/// Node port on a load balancer or external address that is local.
pub const D02: About = About {
    title: "node port on a load balancer or external address that is local",
    meaning: "iptables serves node ports there; nftables does with nodePortAddresses `all` only; \
        ipvs does unless the address is on kube-ipvs0 alone.",
    source: "KEP-3866; pkg/proxy/ipvs/proxier.go",
    risk: Risk::Breaks,
    before: "Let clients use the Service's own port on that address.",
    after: "Try the node port on the load balancer address.",
    setting: None,
};

/// Node port on `127.0.0.1`.
pub const D03: About = About {
    title: "node port on 127.0.0.1",
    meaning: "iptables serves node ports on IPv4 loopback unless localhostNodePorts is false; \
        nftables and ipvs leave loopback to the processes of the node.",
    source: "KEP-3866; KEP-6032; kubernetes/kubernetes#96879",
    risk: Risk::Breaks,
    before: "Watch kubeproxy_iptables_localhost_nodeports_accepted_packets_total; move its clients \
        (registries, mirrors, agents) to the node's address or the cluster IP.",
    after: "Try the node's agents that dial 127.0.0.1.",
    setting: Some("set iptables.localhostNodePorts to false to have the new behaviour now"),
};

/// Node port on `::1`.
pub const D04: About = About {
    title: "node port on ::1",
    meaning: "No mode serves it by rules, but iptables drops or refuses there what it would on other \
        addresses for lack of endpoints; nftables may serve it by a proxy in user space (gate \
        KubeProxyNFTablesLocalhostNodePorts, alpha in 1.37).",
    source: "KEP-6032",
    risk: Risk::Opens,
    before: "Nothing, unless the gate is to be switched on.",
    after: "With the gate, try [::1] with the node port.",
    setting: Some("leave KubeProxyNFTablesLocalhostNodePorts off"),
};

/// Accept rules for health check node ports.
pub const D38: About = About {
    title: "accept rules for health check node ports",
    meaning: "iptables and ipvs accept packets to health check node ports in INPUT, ipvs on every \
        service address as well; nftables has no such rule.",
    source: "kubernetes.io, Virtual IPs and Service Proxies; pkg/proxy/iptables/proxier.go",
    risk: Risk::Breaks,
    before: "If a firewall drops input by default, open the health check node ports in it.",
    after: "See that the balancer takes the node for healthy.",
    setting: None,
};

/// Node port equal to the port of another Service's address.
pub const D39: About = About {
    title: "node port equal to the port of another Service's address",
    meaning: "ipvs keys node ports by number alone and its service addresses are local, so packets \
        to such a port are treated as those of the node port; the other modes tell them apart.",
    source: "kubernetes/kubernetes#132068",
    risk: Risk::Opens,
    before: "Change the node port or the Service's port.",
    after: "Look at the source that the endpoints see.",
    setting: None,
};

/// No address to serve node ports.
pub const D40: About = About {
    title: "no address to serve node ports",
    meaning: "Where no address of the node is in nodePortAddresses, iptables has no rule and \
        nftables an empty set; ipvs passes over the rest of the Service port, its health check port \
        included.",
    source: "pkg/proxy/ipvs/proxier.go",
    risk: Risk::Breaks,
    before: "Give nodePortAddresses a range that holds an address of each node.",
    after: "Try a node port and a health check on each node.",
    setting: Some("set nodePortAddresses so that each node has an address in it"),
};
