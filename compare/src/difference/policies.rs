//! Differences of traffic policies and source ranges.

use super::{About, Risk};

/// Policy Local without a local endpoint.
pub const D11: About = About {
    title: "policy Local without a local endpoint",
    meaning: "iptables and nftables drop, iptables for node ports even on local addresses that do not \
        serve them; ipvs uses the endpoints of other nodes, except for internal policy Local on a \
        Service that only its cluster IP leads to, which it refuses.",
    source: "kubernetes/kubernetes#97081",
    risk: Risk::Breaks,
    before: "Keep balancers from nodes without endpoints by their health check.",
    after: "Expect drops where ipvs went to other nodes.",
    setting: None,
};

/// Pods and nodes that use the outside address of a Local Service.
pub const D12: About = About {
    title: "pods and nodes that use the outside address of a Local Service",
    meaning: "iptables and nftables send them to all endpoints (node processes masqueraded); ipvs has \
        no such short cut and sends them to local endpoints while there are any.",
    source: "kubernetes/kubernetes#115931",
    risk: Risk::ChangesBalance,
    before: "Let pods use the cluster IP.",
    after: "Look at the load of endpoints, and at sources that they see from nodes.",
    setting: None,
};

/// Endpoints by the client's place.
pub const D13: About = About {
    title: "endpoints by the client's place",
    meaning: "iptables and nftables may give one address different endpoints for clients on the node \
        and outside; ipvs has one list for each virtual server.",
    source: "pkg/proxy/ipvs/proxier.go",
    risk: Risk::ChangesBalance,
    before: "Do not rely on clients of all places having the same endpoints.",
    after: "Look at the load of endpoints.",
    setting: None,
};

/// Load balancer source ranges.
pub const D14: About = About {
    title: "load balancer source ranges",
    meaning: "All modes drop other sources. nftables does so before translation and even without \
        endpoints; iptables has the rules only while there are endpoints, and refuses then, but lets \
        a node process pass; ipvs drops by sets in INPUT and FORWARD, and in OUTPUT only what has the \
        load balancer address as source, which a process that binds an address of the node escapes.",
    source: "KEP-3866; kubernetes/kubernetes#119656",
    risk: Risk::Opens,
    before: "Do not rely on source ranges to keep processes of the node out.",
    after: "Expect a time-out instead of a refusal for clients outside of the ranges while no endpoint \
        is ready.",
    setting: None,
};

/// Hairpin set of ipvs.
pub const D41: About = About {
    title: "hairpin set of ipvs",
    meaning: "In ipvs mode KUBE-LOOP-BACK holds every local endpoint, even one that is not ready, and has \
        what such an endpoint sends to itself masqueraded, by whichever way; the other modes know \
        those alone that get traffic, and masquerade what comes through the Service.",
    source: "pkg/proxy/ipvs/proxier.go",
    risk: Risk::Harmless,
    before: "Nothing.",
    after: "Nothing.",
    setting: None,
};
