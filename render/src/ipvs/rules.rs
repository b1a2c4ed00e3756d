//! The rules, which look addresses and ports up in the sets. Their number does not depend on the
//! number of Services, but for those that refuse this node a load balancer IP.

use std::collections::BTreeSet;

use kps_model::NodeView;
use kps_ruleset::Protocol;
use kps_ruleset::iptables::{
    CtStates, Match, Negatable, Network, Physdev, Rule, RuleWriter, SetMatch, Side, Target,
};

use super::plan::Fragment;
use super::sets::SetKind;
use crate::iptables::{
    Jump, Lines, Part, destination_is_local, forwarding, if_not_local, loopback, masquerading,
    port_unreachable, source_is_not_local, states,
};

const SERVICES: &str = "kubernetes service portals";
const FIREWALL: &str = "kube-proxy firewall rules";
const ACCESS: &str = "kubernetes ipvs access filter";

/// The jumps to the top-level chains, in the order in which they are made.
pub(super) const JUMPS: [Jump; 9] = [
    Jump::all("nat", "OUTPUT", "KUBE-SERVICES", SERVICES),
    Jump::all("nat", "PREROUTING", "KUBE-SERVICES", SERVICES),
    Jump::all("nat", "POSTROUTING", "KUBE-POSTROUTING", "kubernetes postrouting rules"),
    Jump::all("filter", "FORWARD", "KUBE-FORWARD", "kubernetes forwarding rules"),
    Jump::all("filter", "INPUT", "KUBE-NODE-PORT", "kubernetes health check rules"),
    Jump::all("filter", "INPUT", "KUBE-PROXY-FIREWALL", FIREWALL),
    Jump::all("filter", "FORWARD", "KUBE-PROXY-FIREWALL", FIREWALL),
    Jump::all("filter", "INPUT", "KUBE-IPVS-FILTER", ACCESS),
    Jump::all("filter", "OUTPUT", "KUBE-IPVS-OUT-FILTER", ACCESS),
];

/// Which ends of a packet are looked up.
#[derive(Debug, Clone, Copy)]
enum Ends {
    Dst,
    DstDst,
    DstDstSrc,
    SrcDst,
}

/// Where a set's rule leads.
#[derive(Debug, Clone, Copy)]
enum To {
    Chain(&'static str),
    Return,
    Masquerade,
}

/// A rule that is written if its set has entries.
struct SetRule {
    set: SetKind,
    from: &'static str,
    protocol: Option<Protocol>,
    ends: Ends,
    to: To,
}

struct Writer<'a> {
    view: &'a NodeView,
    used: BTreeSet<SetKind>,
    part: Part,
}

/// Returns the rules, given what the `ServicePort`s have put into the sets.
pub(super) fn rules(view: &NodeView, fragments: &[Fragment]) -> Part {
    let entries = fragments.iter().flat_map(|fragment| &fragment.entries);
    let used = entries.map(|(kind, _)| *kind).collect();
    let mut writer = Writer { view, used, part: chains() };
    writer.return_loopback();
    writer.set_rules();
    writer.cluster_ips();
    writer.external_ips();
    writer.unconditional_jumps();
    writer.refusals(fragments);
    writer.accepts();
    forwarding(view.mark, &mut writer.part.filter);
    writer.health_checks();
    writer.access_filter();
    masquerading(view, &mut writer.part.nat);
    writer.part
}

fn chains() -> Part {
    Part {
        nat: Lines::of_chains(&[
            "KUBE-SERVICES",
            "KUBE-POSTROUTING",
            "KUBE-NODE-PORT",
            "KUBE-LOAD-BALANCER",
            "KUBE-MARK-MASQ",
        ]),
        filter: Lines::of_chains(&[
            "KUBE-FORWARD",
            "KUBE-NODE-PORT",
            "KUBE-PROXY-FIREWALL",
            "KUBE-SOURCE-RANGES-FIREWALL",
            "KUBE-IPVS-FILTER",
            "KUBE-IPVS-OUT-FILTER",
        ]),
    }
}

impl Writer<'_> {
    fn return_loopback(&mut self) {
        let loopback = Network::from(loopback(self.view.family));
        let rule = Rule::write().source(Negatable::is(loopback));
        self.part.nat.push("KUBE-SERVICES", rule.target(Target::Return));
    }

    fn set_rules(&mut self) {
        for rule in &NAT_RULES {
            if self.used.contains(&rule.set) {
                self.part.nat.push(rule.from, self.set_rule(rule));
            }
        }
        for rule in &FILTER_RULES {
            if self.used.contains(&rule.set) {
                self.part.filter.push(rule.from, self.set_rule(rule));
            }
        }
    }

    fn set_rule(&self, rule: &SetRule) -> Rule {
        let start = match rule.protocol {
            Some(protocol) => Rule::write().protocol(protocol),
            None => Rule::write(),
        };
        self.commented(start, rule.set, rule.ends).target(rule.to.target())
    }

    /// Marks traffic to cluster IPs that must be masqueraded. Without a way to tell pods apart that
    /// is at least what a node sends from a cluster IP of its own.
    fn cluster_ips(&mut self) {
        if !self.used.contains(&SetKind::ClusterIp) {
            return;
        }
        let start = |ends| self.commented(Rule::write(), SetKind::ClusterIp, ends);
        let rule = match &self.view.detector {
            _ if self.view.masquerade_all => start(Ends::DstDst),
            Some(detector) => if_not_local(detector, start(Ends::DstDst)),
            None => start(Ends::SrcDst),
        };
        self.part.nat.push("KUBE-SERVICES", rule.target(mark_for_masquerade()));
    }

    fn external_ips(&mut self) {
        if self.used.contains(&SetKind::ExternalIp) {
            let rule = self.commented(Rule::write(), SetKind::ExternalIp, Ends::DstDst);
            self.part.nat.push("KUBE-SERVICES", rule.target(mark_for_masquerade()));
            self.accept_external_ips(SetKind::ExternalIp);
        }
        if self.used.contains(&SetKind::ExternalIpLocal) {
            self.accept_external_ips(SetKind::ExternalIpLocal);
        }
    }

    /// Accepts what comes from outside, and what the node sends to an address of its own.
    fn accept_external_ips(&mut self, kind: SetKind) {
        let start = || self.commented(Rule::write(), kind, Ends::DstDst);
        let from_outside = start().matching(not_bridged()).matching(source_is_not_local());
        let to_node = start().matching(destination_is_local());
        let rules = [from_outside, to_node].map(|rule| rule.target(Target::Accept));
        for rule in rules {
            self.part.nat.push("KUBE-SERVICES", rule);
        }
    }

    fn unconditional_jumps(&mut self) {
        let node_port = Target::Jump("KUBE-NODE-PORT".into());
        let rule = Rule::write().matching(destination_is_local()).target(node_port);
        self.part.nat.push("KUBE-SERVICES", rule);
        let rule = Rule::write().target(mark_for_masquerade());
        self.part.nat.push("KUBE-LOAD-BALANCER", rule);
        let rule = Rule::write().target(Target::Drop);
        self.part.filter.push("KUBE-SOURCE-RANGES-FIREWALL", rule);
    }

    fn refusals(&mut self, fragments: &[Fragment]) {
        for rule in fragments.iter().flat_map(|fragment| &fragment.refusals) {
            self.part.filter.push("KUBE-IPVS-OUT-FILTER", rule.clone());
        }
    }

    fn accepts(&mut self) {
        for kind in [SetKind::ClusterIp, SetKind::LoadBalancer] {
            if self.used.contains(&kind) {
                let rule = Rule::write().matching(self.in_set(kind, Ends::DstDst));
                self.part.nat.push("KUBE-SERVICES", rule.target(Target::Accept));
            }
        }
    }

    fn health_checks(&mut self) {
        let rule = self.commented(Rule::write(), SetKind::HealthCheckNodePort, Ends::Dst);
        self.part.filter.push("KUBE-NODE-PORT", rule.target(Target::Accept));
    }

    /// Rejects what is sent to an address on kube-ipvs0 but not to a Service there: it must not
    /// reach the node's own sockets.
    fn access_filter(&mut self) {
        let services = [
            (SetKind::LoadBalancer, Ends::DstDst),
            (SetKind::ClusterIp, Ends::DstDst),
            (SetKind::ExternalIp, Ends::DstDst),
            (SetKind::ExternalIpLocal, Ends::DstDst),
            (SetKind::HealthCheckNodePort, Ends::Dst),
        ];
        for (kind, ends) in services {
            let rule = Rule::write().matching(self.in_set(kind, ends));
            self.part.filter.push("KUBE-IPVS-FILTER", rule.target(Target::Return));
        }
        let rule = Rule::write()
            .matching(states(CtStates::NEW))
            .matching(self.in_set(SetKind::IpvsIps, Ends::Dst))
            .target(Target::Reject(port_unreachable(self.view.family)));
        self.part.filter.push("KUBE-IPVS-FILTER", rule);
    }

    /// Adds a look-up in a set, with the set's comment before it.
    fn commented(&self, rule: RuleWriter, kind: SetKind, ends: Ends) -> RuleWriter {
        rule.comment(kind.comment()).matching(self.in_set(kind, ends))
    }

    fn in_set(&self, kind: SetKind, ends: Ends) -> Match {
        Match::Set(Box::new(SetMatch {
            negated: false,
            set: kind.name(self.view.family),
            sides: ends.sides().into(),
            return_nomatch: false,
            counters: None,
        }))
    }
}

impl Ends {
    fn sides(self) -> &'static [Side] {
        match self {
            Ends::Dst => &[Side::Destination],
            Ends::DstDst => &[Side::Destination, Side::Destination],
            Ends::DstDstSrc => &[Side::Destination, Side::Destination, Side::Source],
            Ends::SrcDst => &[Side::Source, Side::Destination],
        }
    }
}

impl To {
    fn target(self) -> Target {
        match self {
            To::Chain(name) => Target::Jump(name.into()),
            To::Return => Target::Return,
            To::Masquerade => Target::Masquerade(Box::default()),
        }
    }
}

fn mark_for_masquerade() -> Target {
    Target::Jump("KUBE-MARK-MASQ".into())
}

/// `-m physdev ! --physdev-is-in`: it did not come in by a bridge port.
fn not_bridged() -> Match {
    Match::Physdev(Box::new(Physdev { is_in: Some(false), ..Physdev::default() }))
}

const fn rule(
    set: SetKind,
    from: &'static str,
    protocol: Option<Protocol>,
    ends: Ends,
    to: To,
) -> SetRule {
    SetRule { set, from, protocol, ends, to }
}

const TCP: Option<Protocol> = Some(Protocol::TCP);
const UDP: Option<Protocol> = Some(Protocol::UDP);
const SCTP: Option<Protocol> = Some(Protocol::SCTP);
const MARK: To = To::Chain("KUBE-MARK-MASQ");
const NODE_PORT: &str = "KUBE-NODE-PORT";
const RANGES: &str = "KUBE-SOURCE-RANGES-FIREWALL";

const NAT_RULES: [SetRule; 9] = [
    rule(SetKind::LoopBack, "KUBE-POSTROUTING", None, Ends::DstDstSrc, To::Masquerade),
    rule(
        SetKind::LoadBalancer,
        "KUBE-SERVICES",
        None,
        Ends::DstDst,
        To::Chain("KUBE-LOAD-BALANCER"),
    ),
    rule(SetKind::LoadBalancerLocal, "KUBE-LOAD-BALANCER", None, Ends::DstDst, To::Return),
    rule(SetKind::NodePortLocalTcp, NODE_PORT, TCP, Ends::Dst, To::Return),
    rule(SetKind::NodePortTcp, NODE_PORT, TCP, Ends::Dst, MARK),
    rule(SetKind::NodePortLocalUdp, NODE_PORT, UDP, Ends::Dst, To::Return),
    rule(SetKind::NodePortUdp, NODE_PORT, UDP, Ends::Dst, MARK),
    rule(SetKind::NodePortLocalSctp, NODE_PORT, SCTP, Ends::DstDst, To::Return),
    rule(SetKind::NodePortSctp, NODE_PORT, SCTP, Ends::DstDst, MARK),
];

const FILTER_RULES: [SetRule; 3] = [
    rule(
        SetKind::LoadBalancerFirewall,
        "KUBE-PROXY-FIREWALL",
        None,
        Ends::DstDst,
        To::Chain(RANGES),
    ),
    rule(SetKind::LoadBalancerSourceCidr, RANGES, None, Ends::DstDstSrc, To::Return),
    rule(SetKind::LoadBalancerSourceIp, RANGES, None, Ends::DstDstSrc, To::Return),
];
