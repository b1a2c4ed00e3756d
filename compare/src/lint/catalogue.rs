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
    ArpForServiceAddress = "arp-for-service-address", Warning,
        "In ipvs mode every node answers ARP for a Service's address on its own network, so any node may attract the traffic.",
        "metallb/metallb#153, kubernetes/kubernetes#59976",
        "Set ipvs.strictARP.";
    BalancerProbesDiscarded = "balancer-probes-discarded", Note,
        "In ipvs mode a load balancer address is the node's own: packets that come from it, such as health probes, are discarded.",
        "KEP-1860, kubernetes/kubernetes#66607, #79783",
        "Have the balancer set ipMode Proxy or probe from another address.";
}
