//! Differences of the source that endpoints see.

use super::{About, Risk};

/// How packets are masqueraded.
pub const D19: About = About {
    title: "how packets are masqueraded",
    meaning: "iptables and nftables masquerade by a mark, with random ports; ipvs by a mark and by sets, \
        and a hairpin without random ports. A process of the node that is an endpoint gets the packet \
        before ipvs would masquerade it.",
    source: "pkg/proxy/ipvs/proxier.go; pkg/proxy/nftables/proxier.go",
    risk: Risk::Harmless,
    before: "Nothing.",
    after: "Nothing.",
    setting: None,
};

/// Endpoint that reaches itself through its Service.
pub const D20: About = About {
    title: "endpoint that reaches itself through its Service",
    meaning: "iptables masquerades any endpoint to itself; nftables since 1.36 and ipvs only \
        endpoints that are known to be on this node.",
    source: "kubernetes/kubernetes#136499",
    risk: Risk::Breaks,
    before: "Make nodeName in slices that you write yourself the name of the node.",
    after: "Let a pod of such a slice dial its own Service.",
    setting: None,
};

/// Clients outside of the cluster on a cluster IP.
pub const D21: About = About {
    title: "clients outside of the cluster on a cluster IP",
    meaning: "All modes masquerade with a local detector or masqueradeAll. With neither, ipvs \
        masquerades packets whose source is itself a cluster IP, as those of node processes are that \
        bind no address.",
    source: "pkg/proxy/ipvs/proxier.go",
    risk: Risk::Breaks,
    before: "Give kube-proxy a local detector that covers the pods.",
    after: "Dial a cluster IP from the node.",
    setting: Some("set clusterCIDR or another detectLocalMode"),
};

/// What masqueradeAll covers.
pub const D22: About = About {
    title: "what masqueradeAll covers",
    meaning: "In iptables and ipvs mode the defined ports of cluster IPs, in nftables every packet to a \
        cluster IP.",
    source: "pkg/proxy/nftables/proxier.go",
    risk: Risk::Harmless,
    before: "Nothing.",
    after: "Nothing: such packets are refused.",
    setting: None,
};

/// External addresses with policy Cluster.
pub const D23: About = About {
    title: "external addresses with policy Cluster",
    meaning: "All modes masquerade; ipvs also accepts the packet in its nat chain by where it comes \
        from.",
    source: "pkg/proxy/ipvs/proxier.go",
    risk: Risk::Harmless,
    before: "Nothing.",
    after: "Nothing.",
    setting: None,
};
