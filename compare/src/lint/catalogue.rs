//! Every lint: its id, how bad it is, what it means, where the fault was reported, what to do.

use std::fmt;

use kps_model::Severity;

/// What is said of a lint wherever it fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The stable name, as printed and searched for.
    pub id: &'static str,
    /// How bad a finding is.
    pub severity: Severity,
    /// What is the case where it fires.
    pub what: &'static str,
    /// Public reports, or the document that says what is right.
    pub source: &'static str,
    /// What to do.
    pub advice: &'static str,
}

/// Declares the lints: a closed enum with its data beside each value.
macro_rules! lints {
    ($($lint:ident = $id:literal, $severity:ident, $what:literal, $source:literal, $advice:literal;)*) => {
        /// A kind of finding. The order is that in which findings are told.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Lint {
            $(#[doc = $what] $lint,)*
        }

        impl Lint {
            /// All of them, in order.
            pub const ALL: &[Lint] = &[$(Lint::$lint),*];

            /// Returns what is said of the lint.
            #[must_use]
            pub const fn about(self) -> &'static About {
                match self {
                    $(Lint::$lint => &About {
                        id: $id,
                        severity: Severity::$severity,
                        what: $what,
                        source: $source,
                        advice: $advice,
                    },)*
                }
            }
        }
    };
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about().id)
    }
}

lints! {
    SyncFails = "sync-fails", Error,
        "A sync of the rules fails as a whole, so no Service gets updates.",
        "kubernetes/kubernetes#139515, #138427",
        "Take away what the error names; until then the node keeps the rules it had.";
    PromiseBroken = "promise-broken", Error,
        "The rules do something else than Kubernetes promises for a packet.",
        "Service API; kubernetes.io, Virtual IPs and Service Proxies",
        "Trace the packet with `sim trace`; for a dump, compare with `sim drift` or have kube-proxy sync again.";
    ForeignRuleDecides = "foreign-rule-decides", Error,
        "A rule that is not kube-proxy's decides over packets to a Service, and otherwise than Kubernetes promises.",
        "kubernetes/kubernetes#20391, #66103; siderolabs/talos#10354",
        "Have whoever wrote the rule leave Service traffic alone, or put it behind kube-proxy's rules.";
    SharesLost = "shares-lost", Error,
        "Some packets to a ServicePort reach an endpoint and others do not: the shares of its endpoints sum below one, or a share goes elsewhere.",
        "kubernetes/kubernetes#37932, #83599",
        "Compare the rules with `sim drift`, or have kube-proxy write them again.";
    SharesUneven = "shares-uneven", Warning,
        "Endpoints that should get the same share of packets do not, or some get none.",
        "kubernetes/kubernetes#37932, #83599",
        "Compare the rules with `sim drift`, or have kube-proxy write them again.";
    RuleUnreachable = "rule-unreachable", Warning,
        "A rule is never reached: an earlier one takes all its packets, or nothing leads to its chain.",
        "kubernetes/kubernetes#109826",
        "Look at the rule that is in front; if both are kube-proxy's, two Services claim the same packets.";
    HealthCheckHidesHole = "health-check-hides-hole", Error,
        "The health check of a Service says that the node has a ready endpoint, but its rules do not deliver there what a balancer sends.",
        "kubernetes/kubernetes#115825, #134648",
        "Compare the rules with `sim drift`; until then take the node out of the balancer.";
    ValueNotStorable = "value-not-storable", Error,
        "A set is asked to hold what it cannot: more entries than it has room for, or a value that its type does not take; Services without their entry fail.",
        "kubernetes/kubernetes#132719; ipset(8), maxelem",
        "Use fewer Services a node or another mode; write ranges without length 0.";
    InterfaceNameTooLong = "interface-name-too-long", Error,
        "An interface name in the configuration is longer than any interface's, so the tools refuse the rules.",
        "kubernetes/kubernetes#134024; IFNAMSIZ",
        "Write the name, or the start of it, as `ip link` shows it.";
    MarkBitShared = "mark-bit-shared", Warning,
        "A rule that is not kube-proxy's sets or clears the bit by which kube-proxy marks packets for masquerading.",
        "KEP-3866; kubernetes.io, masqueradeBit",
        "Have that rule use a mask that leaves the bit alone, or set another masqueradeBit.";
    SysctlBreaksServices = "sysctl-breaks-services", Error,
        "A sysctl of the node is 0, and packets to Services need it.",
        "kubernetes.io, Container Runtimes; kubernetes/kubernetes#36835",
        "Set it to 1, and find out what sets it to 0.";
    BridgeBypassesRules = "bridge-bypasses-rules", Warning,
        "Frames from one pod to another on the same bridge pass no rules, so the answer of an endpoint there comes from the wrong address.",
        "kubernetes/kubernetes#134884, #85877",
        "Load br_netfilter and set net.bridge.bridge-nf-call-iptables (and ip6tables) to 1.";
    NodePortInLocalRange = "node-port-in-local-range", Warning,
        "The kernel may give the number of a node port to a connection of the node itself; in ipvs mode the answers to it are taken for new connections to the Service.",
        "kubernetes/kubernetes#139276, #111682",
        "Add the range of node ports to net.ipv4.ip_local_reserved_ports.";
    StaleConnection = "stale-connection", Error,
        "A client that goes on sending is led elsewhere than a new one, and kube-proxy leaves it so.",
        "kubernetes/kubernetes#141371, #105657, #98305",
        "Delete the entries: `conntrack -D -p udp --orig-dst ADDRESS --orig-port-dst PORT`.";
    AffinityToUnchosen = "affinity-to-unchosen", Error,
        "A remembered client is sent to an endpoint that new clients do not get.",
        "kubernetes/kubernetes#106182, #106030",
        "Have kube-proxy sync again; compare the rules with `sim drift`.";
    OutcomeUnknown = "outcome-unknown", Note,
        "The model cannot tell what the rules do with a packet.",
        "the rule itself",
        "Look at the rule that is named; nothing is claimed about this packet.";
    ReplyMissesNode = "reply-misses-node", Error,
        "A packet is sent to another node with its source kept, so the answer does not come back through this node and the client discards it.",
        "kubernetes/kubernetes#71596, #97081",
        "Give the node an endpoint, use externalTrafficPolicy Cluster, or keep the balancer from nodes without endpoints.";
    HairpinNotMasqueraded = "hairpin-not-masqueraded", Error,
        "An endpoint that reaches itself by the Service keeps its source and answers itself, past the translation.",
        "kubernetes/kubernetes#53775, #136499",
        "Make kube-proxy take the endpoint for local: nodeName of the slice must be the node's name.";
    SharedAddress = "shared-address", Error,
        "Several Services claim one address, port and protocol; which one gets the packets is chance, and may differ by node and sync.",
        "kubernetes/kubernetes#69599, metallb/metallb#271",
        "Give each Service an address or port of its own.";
    SharedNodePort = "shared-node-port", Error,
        "A node port is claimed twice on the addresses of a node.",
        "kubernetes/kubernetes#69599",
        "Give each Service a node port of its own, and no external address that is a node's.";
    TakesNodeAddress = "takes-node-address", Error,
        "An external or load balancer address is a node's own: its traffic is captured, and in ipvs mode every other port of it is cut off from the other nodes.",
        "kubernetes/kubernetes#66966, #75290, #97076 (CVE-2020-8554)",
        "Use an address that no node has; in ipvs mode at once, before nodes are lost.";
    TakesEndpointAddress = "takes-endpoint-address", Error,
        "An external or load balancer address is that of an endpoint, whose direct traffic is captured.",
        "kubernetes/kubernetes#97076 (CVE-2020-8554)",
        "Use another address; forbid externalIPs by admission, or switch AllowServiceExternalIPs off.";
    TakesClusterIp = "takes-cluster-ip", Error,
        "An external or load balancer address is the cluster IP of another Service.",
        "kubernetes/kubernetes#97076 (CVE-2020-8554), #69599",
        "Use another address; forbid externalIPs by admission, or switch AllowServiceExternalIPs off.";
    TakesClusterRange = "takes-cluster-range", Warning,
        "An external or load balancer address lies in a range of pods or cluster IPs, so it may belong to somebody else at any time.",
        "kubernetes/kubernetes#97076 (CVE-2020-8554)",
        "Use an address outside of the cluster's ranges.";
    TakesPublicAddress = "takes-public-address", Note,
        "An external IP is a public address, and nothing proves that it is this cluster's: its traffic from pods and nodes is captured.",
        "kubernetes/kubernetes#97076 (CVE-2020-8554)",
        "Make sure that the address is yours; limit externalIPs by admission.";
    RangesOverlap = "ranges-overlap", Error,
        "Ranges of pods, nodes and cluster IPs overlap, so an address means two things.",
        "kubernetes.io, Cluster Networking",
        "Give pods, nodes and Services ranges that do not meet.";
    UnknownNode = "unknown-node", Error,
        "kube-proxy's node name is no Node: it takes every endpoint to be elsewhere and its own address to be loopback.",
        "kubernetes/kubernetes#71851, #57518; kubernetes-sigs/kubespray#3610",
        "Set hostnameOverride to the name of the Node object.";
    EndpointOnUnknownNode = "endpoint-on-unknown-node", Error,
        "EndpointSlices name a node that does not exist, so those endpoints are local nowhere.",
        "kubernetes/kubernetes#71851, #57518; rancher/rancher#30363",
        "Make nodeName in the slices the name of the Node object.";
    EndpointWithoutNode = "endpoint-without-node", Warning,
        "An endpoint in a node's pod range names no node: it is local nowhere, so Local policies pass it over and nftables and ipvs do not masquerade its hairpin.",
        "kubernetes/kubernetes#85877, #134884",
        "Set nodeName in the slice.";
    EndpointOnOtherNode = "endpoint-on-other-node", Warning,
        "An endpoint lies in the pod range of another node than the one that its slice names.",
        "kubernetes/kubernetes#71851",
        "Find out which is right: nodeName of the slice or podCIDR of the Node.";
    DetectorMissesPods = "detector-misses-pods", Error,
        "The local detector does not cover the pods, so they count as outside clients.",
        "kubernetes/kubernetes#112820",
        "Set clusterCIDR to the ranges that the network plugin gives to pods, or choose another detectLocalMode.";
    DetectorCoversNodes = "detector-covers-nodes", Warning,
        "The local detector takes nodes for pods: their forwarded traffic to cluster IPs is not masqueraded.",
        "kubernetes/kubernetes#36835",
        "Set clusterCIDR to the ranges of pods alone.";
    DetectorCoversAll = "detector-covers-all", Error,
        "clusterCIDR has length 0: every client counts as a pod, and iptables-nft refuses the rule with every sync.",
        "kubernetes/kubernetes#36652, #79866",
        "Set clusterCIDR to the ranges of pods.";
    NoDetector = "no-detector", Warning,
        "There is no local detector: outside clients of a cluster IP are not masqueraded, and pods do not get the short cut to Local Services.",
        "kubernetes/kubernetes#36835, #79866; projectcalico/calico#8812",
        "Set clusterCIDR for the family, or choose another detectLocalMode.";
    MasqueradeAll = "masquerade-all", Note,
        "masqueradeAll hides the pods' addresses from every endpoint, and from network policies there.",
        "kubernetes/kubernetes#36835; projectcalico/calico#8812",
        "Switch masqueradeAll off once the local detector is right.";
    SourceRangeOpen = "source-range-open", Warning,
        "A source range of length 0 lifts the restriction: the other ranges of the family are moot.",
        "kubernetes/kubernetes#132719, #132722",
        "Remove the range, or all of them.";
    SourceRangeBypass = "source-range-bypass", Warning,
        "Source ranges guard the load balancer addresses only: clients outside of them get in by another address of the Service.",
        "Service API, loadBalancerSourceRanges; KEP-3866",
        "Set allocateLoadBalancerNodePorts to false and drop the node ports and external IPs, or filter them elsewhere.";
    SourceRangeWithoutCluster = "source-range-without-cluster", Note,
        "Source ranges do not hold the cluster's pods or nodes, so these cannot use the load balancer address; up to 1.24 they could.",
        "kubernetes/kubernetes#109575, #110289",
        "Add the ranges of pods and nodes if they need the address; the cluster IP is open to them.";
    SourceRangesOneFamily = "source-ranges-one-family", Warning,
        "Source ranges are all of one family, and a load balancer address of the other is open to everybody.",
        "Service API, loadBalancerSourceRanges",
        "Add ranges of that family; one that holds nobody closes it.";
    SourceRangesMoot = "source-ranges-moot", Note,
        "Source ranges are set where no node enforces them: only packets to load balancer addresses that nodes serve are held against them.",
        "Service API, loadBalancerSourceRanges; KEP-1860",
        "Make sure that the balancer itself enforces them.";
    ProxyAddressServed = "proxy-address-served", Error,
        "A load balancer address with ipMode Proxy is served by the node, so its clients pass the balancer by.",
        "KEP-1860; kubernetes/kubernetes#79783",
        "Take the address off externalIPs and off other Services; on a node, have kube-proxy sync again.";
    BalancerWithoutWay = "balancer-without-way", Note,
        "A load balancer whose addresses nodes do not serve has no node port to send to.",
        "KEP-1860; Service API, allocateLoadBalancerNodePorts",
        "Set allocateLoadBalancerNodePorts, unless the balancer sends to pods.";
    SourceRangeBlank = "source-range-blank", Note,
        "A source range has blanks around it; old releases failed on it as a whole.",
        "kubernetes/kubernetes#94107, #40590",
        "Write it without blanks.";
    NodePortAddressesOneFamily = "node-port-addresses-one-family", Warning,
        "nodePortAddresses lists one family only, so node ports of the other are served on every address.",
        "kubernetes/kubernetes#123105, #122899, #111863",
        "List ranges of both families, or `primary`.";
    NodePortAddressesNone = "node-port-addresses-none", Warning,
        "No address of the node is in nodePortAddresses, so it serves no node port.",
        "kubernetes/kubernetes#89923, #123105",
        "List a range that holds an address of each node, or `primary`.";
    NodePortShadowsDaemon = "node-port-shadows-daemon", Warning,
        "A node port is that of a daemon which nodes usually run; packets to it go to the Service or are refused.",
        "kubernetes/kubernetes#97360",
        "Use a node port from 30000 to 32767.";
    NodePortOnServiceAddress = "node-port-on-service-address", Warning,
        "A Service's port is the node port of another, and ipvs keys node ports by number alone: packets to the first are treated as those of the second.",
        "kubernetes/kubernetes#132068, #65459",
        "Change the node port, or leave ipvs.";
    PortWithoutSlicePort = "port-without-slice-port", Error,
        "No EndpointSlice has a port of the Service port's name and protocol with a number, so it has no endpoints.",
        "kubernetes/kubernetes#109627, #129886; kubernetes/ingress-nginx#9149",
        "Give the port the same name and protocol in the Service, its pods and its slices; targetPort is not read.";
    PortOnSomeSlices = "port-on-some-slices", Warning,
        "Some EndpointSlices of a Service lack a port that others have: their endpoints get none of its packets.",
        "kubernetes/kubernetes#109627, #132646",
        "Give all pods behind the Service a port of that name.";
    PortWithSeveralNumbers = "port-with-several-numbers", Note,
        "Endpoints of one Service port listen on several numbers.",
        "kubernetes/kubernetes#132646; Service API, targetPort",
        "Nothing, if pods name different ports so; else make targetPort a number.";
    EndpointExtraAddresses = "endpoint-extra-addresses", Warning,
        "An endpoint has several addresses, and only the first is used.",
        "EndpointSlice API, endpoints.addresses",
        "Write an endpoint for each address.";
    NoUsableEndpoint = "no-usable-endpoint", Warning,
        "A Service port has no usable endpoint: its clients are refused.",
        "kubernetes/kubernetes#72534",
        "Find out why no pod is ready, or whether the selector is right.";
    SliceWithoutService = "slice-without-service", Warning,
        "An EndpointSlice counts for no Service, so its endpoints get no packets.",
        "kubernetes/kubernetes#129886",
        "Set the label kubernetes.io/service-name to a Service of its namespace; drop service.kubernetes.io/headless if that is not headless.";
    EndpointTwice = "endpoint-twice", Warning,
        "An address is twice among the endpoints of a Service with different state; which entry counts differs by release.",
        "kubernetes/kubernetes#135266, #135334, #121231",
        "Wait for the terminating pod to go, or use 1.36 or later.";
    ReadyNotServing = "ready-not-serving", Warning,
        "Endpoints are published as ready that do not serve or are terminating: connections to them may fail.",
        "kubernetes/kubernetes#124914, #118952",
        "Switch publishNotReadyAddresses off, unless clients can take the failures.";
    LocalPolicyNowhere = "local-policy-nowhere", Error,
        "A Service with a Local policy has endpoints, but on no Node of the cluster.",
        "kubernetes/kubernetes#71851",
        "Make nodeName in the slices the name of a Node, or use policy Cluster.";
    LocalPolicyUnserved = "local-policy-unserved", Warning,
        "A Local policy leaves clients of this node without an endpoint.",
        "kubernetes/kubernetes#85397, #99317; KEP-2086",
        "Run an endpoint on each node that is dialled, use policy Cluster, or keep clients to nodes with endpoints.";
    OtherFamily = "other-family", Warning,
        "A value is of a family that the Service does not have; it is never programmed.",
        "kubernetes/kubernetes#73157, #88316, #96468",
        "Remove it, or give the Service both families (ipFamilyPolicy).";
    NodeWithoutFamily = "node-without-family", Warning,
        "Services have cluster IPs of a family in which the node has no address.",
        "kubernetes/kubernetes#133694, #73157",
        "Give the node an address of the family, or the Services only the other one.";
    LeftToOtherProxy = "left-to-other-proxy", Note,
        "A label leaves the Service to another proxy: kube-proxy makes nothing of it.",
        "kubernetes/kubernetes#129886",
        "Remove service.kubernetes.io/service-proxy-name if there is no such proxy.";
    AffinityByPort = "affinity-by-port", Note,
        "ClientIP affinity holds for each port by itself (in ipvs for each address, too): a client may get different endpoints.",
        "kubernetes/kubernetes#103000, #118784, #123168",
        "Do not rely on one endpoint a client across ports or addresses.";
    AffinityTimeoutDiffers = "affinity-timeout-differs", Error,
        "Rules remember clients for another time than the Service says.",
        "kubernetes/kubernetes#35677; cloudnativelabs/kube-router#910",
        "Have kube-proxy sync again; in nftables mode a kernel may keep the old timeout of a set until that is made anew.";
    AffinityTooShort = "affinity-too-short", Note,
        "In ipvs mode a client is remembered for about two minutes at least, whatever the Service says.",
        "ip_vs_conn.c, ip_vs_conn_expire",
        "Do not rely on a shorter time.";
    AffinityForgetsClients = "affinity-forgets-clients", Note,
        "In iptables mode an endpoint remembers 100 clients, the oldest is forgotten first; the objects show more that may come.",
        "xt_recent.c, ip_list_tot",
        "Raise ip_list_tot of xt_recent, or use nftables mode, which remembers 65535.";
    HealthPortOnServiceAddress = "health-port-on-service-address", Note,
        "In ipvs mode the port of the health check is let through on every Service address, to the node's own sockets.",
        "kubernetes/kubernetes#82163, #61953",
        "Set nodePortAddresses, so that the listener is not a wildcard one.";
    ArpForServiceAddress = "arp-for-service-address", Warning,
        "In ipvs mode every node answers ARP for a Service's address on its own network, so any node may attract the traffic.",
        "metallb/metallb#153, kubernetes/kubernetes#59976",
        "Set ipvs.strictARP.";
    BalancerProbesDiscarded = "balancer-probes-discarded", Note,
        "In ipvs mode a load balancer address is the node's own: packets that come from it, such as health probes, are discarded.",
        "KEP-1860, kubernetes/kubernetes#66607, #79783",
        "Have the balancer set ipMode Proxy or probe from another address.";
}
