//! Differences of the node around the rules: firewall, sysctls, tools, syncs.

use super::{About, Risk};

/// Accept rules for a host firewall.
pub const D05: About = About {
    title: "accept rules for a host firewall",
    meaning: "iptables and ipvs accept marked and established packets in FORWARD; nftables has no accept \
        rule, and one would not override a drop in another table.",
    source: "KEP-3866; kubernetes.io, Virtual IPs and Service Proxies",
    risk: Risk::Breaks,
    before: "If a firewall drops forwarded packets by default, open the ranges of pods and Services in it.",
    after: "Reach a Service on another node from outside.",
    setting: None,
};

/// Packets that connection tracking takes for invalid.
pub const D06: About = About {
    title: "packets that connection tracking takes for invalid",
    meaning: "iptables drops them in KUBE-FORWARD unless nf_conntrack_tcp_be_liberal is set; nftables \
        and ipvs have no such rule.",
    source: "kubernetes/kubernetes#74839; kubernetes.io, Virtual IPs and Service Proxies",
    risk: Risk::Breaks,
    before: "Watch kubeproxy_iptables_ct_state_invalid_dropped_packets_total.",
    after: "If connections are reset (kernels before 6.1), set conntrack.tcpBeLiberal.",
    setting: Some("set conntrack.tcpBeLiberal to true"),
};

/// Path through the host's firewall.
pub const D26: About = About {
    title: "path through the host's firewall",
    meaning: "In ipvs mode packets to Services pass INPUT and OUTPUT as if for the node; in the other \
        modes FORWARD, with endpoint addresses.",
    source: "kubernetes/kubernetes#72236",
    risk: Risk::Breaks,
    before: "Review firewall rules and network policies that were written for one path.",
    after: "Test that policies still hold.",
    setting: None,
};

/// Sysctls that kube-proxy sets.
pub const D28: About = About {
    title: "sysctls that kube-proxy sets",
    meaning: "iptables sets route_localnet for localhost node ports; ipvs sets conntrack, \
        expire_nodest_conn, expire_quiescent_template and others of net.ipv4.vs, and with strictARP \
        those of ARP; nftables sets none.",
    source: "pkg/proxy/ipvs/proxier.go; pkg/proxy/iptables/proxier.go",
    risk: Risk::Opens,
    before: "Nothing.",
    after: "Reboot nodes, or set back route_localnet, arp_ignore and arp_announce: no mode does.",
    setting: None,
};

/// Table of connections.
pub const D29: About = About {
    title: "table of connections",
    meaning: "iptables and nftables rest on nf_conntrack alone; ipvs has a table of its own with its own \
        timeouts.",
    source: "kubernetes/kubernetes#120076; net/netfilter/ipvs/ip_vs_conn.c",
    risk: Risk::Breaks,
    before: "Find timeouts that were set for ipvs, and idle connections that rest on them.",
    after: "Set nf_conntrack timeouts for long idle connections.",
    setting: None,
};

/// Kernel and tools.
pub const D32: About = About {
    title: "kernel and tools",
    meaning: "nftables needs kernel 5.13 and nft 1.0.1; ipvs its kernel modules and ipset 6.0; iptables \
        runs anywhere.",
    source: "KEP-3866; KEP-5343; kubernetes.io, Virtual IPs and Service Proxies",
    risk: Risk::Breaks,
    before: "Check `uname -r` on every node.",
    after: "See that kube-proxy runs on every node.",
    setting: None,
};

/// Repair of rules that others damaged.
pub const D33: About = About {
    title: "repair of rules that others damaged",
    meaning: "iptables notices a flush by a canary chain, ipvs writes everything with each sync, nftables \
        fully syncs each hour or after a failure.",
    source: "KEP-3866",
    risk: Risk::Breaks,
    before: "Find software that flushes the whole ruleset (`nft flush ruleset` in a firewall's start).",
    after: "Restart the firewall and see that Services still work.",
    setting: None,
};

/// What is applied at once.
pub const D34: About = About {
    title: "what is applied at once",
    meaning: "iptables applies a table at a time, nftables a family, ipvs each operation by itself.",
    source: "pkg/proxy/ipvs/proxier.go; KEP-3866",
    risk: Risk::Harmless,
    before: "Nothing.",
    after: "Nothing.",
    setting: None,
};

/// What others may rely on.
pub const D35: About = About {
    title: "what others may rely on",
    meaning: "nftables has a table of its own with documented priorities; neither names of chains nor \
        the mark bit are an interface in any mode.",
    source: "pkg/proxy/nftables/README.md",
    risk: Risk::Breaks,
    before: "Find rules and scripts that name KUBE- chains, kube-ipvs0 or the mark.",
    after: "Test what these rules were for.",
    setting: None,
};

/// What is left of the old mode.
pub const D36: About = About {
    title: "what is left of the old mode",
    meaning: "nftables removes the state of iptables and ipvs mode at its start; the others remove the \
        nftables tables alone, and ipvs and iptables leave each other's state.",
    source: "KEP-3866; pkg/proxy",
    risk: Risk::Breaks,
    before: "Plan a reboot of each node, or run `kube-proxy --cleanup`.",
    after: "Look for the tables, sets and kube-ipvs0 of the old mode.",
    setting: None,
};

/// Section of the configuration.
pub const D37: About = About {
    title: "section of the configuration",
    meaning: "Each mode reads its own section; ipvs takes masqueradeBit and masqueradeAll from \
        iptables.",
    source: "KEP-5343; pkg/proxy/apis/config/types.go",
    risk: Risk::Breaks,
    before: "Copy masqueradeAll, masqueradeBit and sync periods to the section of the new mode.",
    after: "Compare the settings that kube-proxy logs.",
    setting: None,
};
