//! Differences of how endpoints are chosen, remembered and taken away.

use super::{About, Risk};

/// Scope of session affinity.
pub const D15: About = About {
    title: "scope of session affinity",
    meaning: "iptables and nftables remember a client for each Service port, whichever address it \
        dials; ipvs for each virtual server, so each address may lead to another endpoint.",
    source: "KEP-3866; kubernetes/kubernetes#123168",
    risk: Risk::ChangesBalance,
    before: "Find clients that use several addresses of one Service.",
    after: "Expect sessions to start anew once.",
    setting: None,
};

/// Limits of session affinity.
pub const D16: About = About {
    title: "limits of session affinity",
    meaning: "iptables remembers 100 clients an endpoint by default (ip_list_tot of xt_recent), \
        nftables 65535, ipvs has no limit of its own but keeps a client for about two minutes at \
        least.",
    source: "net/netfilter/xt_recent.c; net/netfilter/ipvs/ip_vs_conn.c",
    risk: Risk::ChangesBalance,
    before: "With more than 100 clients an endpoint, expect better affinity after iptables.",
    after: "Look at the load of endpoints.",
    setting: None,
};

/// Choice of endpoint.
pub const D17: About = About {
    title: "choice of endpoint",
    meaning: "iptables and nftables draw at random for each connection; ipvs has schedulers (rr by \
        default) which know connections, weights or hashes, and those that hash give a client the same \
        endpoint each time.",
    source: "kubernetes.io, Virtual IPs and Service Proxies",
    risk: Risk::ChangesBalance,
    before: "If a scheduler other than rr is set, find out why: no other mode has least connections or \
        hashes; for stickiness use sessionAffinity ClientIP.",
    after: "Look at the load of endpoints with few or long connections.",
    setting: None,
};

/// Shares of endpoints.
pub const D18: About = About {
    title: "shares of endpoints",
    meaning: "Random choice gives equal shares up to rounding (2^-31 in iptables, 2^-32 in nftables) and \
        uneven counts in short runs; rr gives turns exactly.",
    source: "net/netfilter/xt_statistic.c; net/netfilter/nft_numgen.c; net/netfilter/ipvs/ip_vs_rr.c",
    risk: Risk::ChangesBalance,
    before: "Nothing.",
    after: "Expect counts to scatter by about the root of their mean after rr.",
    setting: None,
};

/// Removal of an endpoint.
pub const D30: About = About {
    title: "removal of an endpoint",
    meaning: "iptables and nftables take the rule away and leave established TCP connections alone; \
        ipvs sets the weight of TCP servers to 0 and removes them once no connection is left, UDP and \
        SCTP servers at once.",
    source: "pkg/proxy/ipvs/graceful_termination.go",
    risk: Risk::Harmless,
    before: "Nothing.",
    after: "Nothing.",
    setting: None,
};
