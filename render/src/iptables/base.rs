//! What is there whatever the Services are: the top-level chains, the jumps to them, and the rules
//! around those of the `ServicePort`s.

use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Family;
use kps_model::NodeView;
use kps_ruleset::iptables::{CtStates, Nat, Negatable, Network, Rule, Target, XMark};

use super::jumps::Jump;
use super::lines::{Lines, Part};
use super::matches::{counted, destination_is_local, marked, not_marked, not_states, states};

/// The counter of packets that are dropped since connection tracking cannot place them.
const INVALID_COUNTER: &str = "ct_state_invalid_dropped_pkts";
/// The counter of connections to node ports on loopback addresses.
pub(super) const LOCALHOST_COUNTER: &str = "localhost_nps_accepted_pkts";

const FORWARDING: &str = "kubernetes forwarding rules";
const NODE_PORTS: &str =
    "kubernetes service nodeports; NOTE: this must be the last rule in this chain";

/// Returns the sysctls that are set at the start.
pub(super) fn sysctls(view: &NodeView) -> Vec<(&'static str, &'static str)> {
    let route_localnet = ("net.ipv4.conf.all.route_localnet", "1");
    view.localhost_node_ports.then_some(route_localnet).into_iter().collect()
}

/// Returns the nfacct objects that the rules count in.
pub(super) fn counters(view: &NodeView) -> &'static [&'static str] {
    if view.nfacct { &[INVALID_COUNTER, LOCALHOST_COUNTER] } else { &[] }
}

/// Returns what is written before the `ServicePort`s.
pub(super) fn before(view: &NodeView) -> Part {
    let mut filter = Lines::of_chains(&[
        "KUBE-SERVICES",
        "KUBE-EXTERNAL-SERVICES",
        "KUBE-FORWARD",
        "KUBE-NODEPORTS",
        "KUBE-PROXY-FIREWALL",
    ]);
    if view.localhost_node_ports {
        filter.chains.push("KUBE-FIREWALL".into());
        filter.push("KUBE-FIREWALL", block_localnet());
    }
    let mut nat = Lines::of_chains(&[
        "KUBE-SERVICES",
        "KUBE-NODEPORTS",
        "KUBE-POSTROUTING",
        "KUBE-MARK-MASQ",
    ]);
    masquerading(view, &mut nat);
    Part { filter, nat }
}

/// Returns what is written after the `ServicePort`s.
pub(super) fn after(view: &NodeView) -> Part {
    let mut part = Part::default();
    for rule in node_port_jumps(view) {
        part.nat.push("KUBE-SERVICES", rule);
    }
    if !view.tcp_be_liberal {
        part.filter.push("KUBE-FORWARD", drop_invalid(view));
    }
    forwarding(view.mark, &mut part.filter);
    part
}

/// Writes the rules that masquerade marked packets, and the one that marks. Releases before 1.37
/// leave out `--random-fully` if the tool does not know it, as none older than 1.6.2 does.
pub(crate) fn masquerading(view: &NodeView, nat: &mut Lines) {
    let mark = |change| Rule::write().target(Target::Mark(change));
    let masquerade = Nat { random_fully: true, ..Nat::default() };
    nat.push(
        "KUBE-POSTROUTING",
        Rule::write().matching(not_marked(view.mark)).target(Target::Return),
    );
    nat.push("KUBE-POSTROUTING", mark(XMark::xor(view.mark)));
    nat.push(
        "KUBE-POSTROUTING",
        Rule::write()
            .comment("kubernetes service traffic requiring SNAT")
            .target(Target::Masquerade(Box::new(masquerade))),
    );
    nat.push("KUBE-MARK-MASQ", mark(XMark::or(view.mark)));
}

/// Writes the rules that let packets of Services be forwarded whatever other rules say.
pub(crate) fn forwarding(mark: u32, filter: &mut Lines) {
    filter.push(
        "KUBE-FORWARD",
        Rule::write().comment(FORWARDING).matching(marked(mark)).target(Target::Accept),
    );
    filter.push(
        "KUBE-FORWARD",
        Rule::write()
            .comment("kubernetes forwarding conntrack rule")
            .matching(states(CtStates::RELATED | CtStates::ESTABLISHED))
            .target(Target::Accept),
    );
}

/// Node ports on loopback addresses need `route_localnet`, which would let neighbours reach what
/// only listens on loopback.
fn block_localnet() -> Rule {
    let loopback = Network::from(loopback(Family::V4));
    Rule::write()
        .comment("block incoming localnet connections")
        .destination(Negatable::is(loopback.clone()))
        .source(Negatable::not(loopback))
        .matching(not_states(CtStates::RELATED | CtStates::ESTABLISHED | CtStates::DNAT))
        .target(Target::Drop)
}

/// Packets that connection tracking cannot place are not translated back; forwarded as they are,
/// they would make the client reset its connection.
fn drop_invalid(view: &NodeView) -> Rule {
    let rule = Rule::write().matching(states(CtStates::INVALID));
    let rule = if view.nfacct { rule.matching(counted(INVALID_COUNTER)) } else { rule };
    rule.target(Target::Drop)
}

fn node_port_jumps(view: &NodeView) -> Vec<Rule> {
    let to_node_ports = Target::Jump("KUBE-NODEPORTS".into());
    let comment = || Rule::write().comment(NODE_PORTS);
    if view.node_ports.match_all {
        let rule = comment().matching(destination_is_local());
        let rule = match excluded(view) {
            Some(network) => rule.destination(Negatable::not(network)),
            None => rule,
        };
        return vec![rule.target(to_node_ports)];
    }
    let addresses = view.node_ports.serving(&view.interface_addresses);
    let served = addresses.into_iter().filter(|address| serves(view, *address));
    served
        .map(|address| comment().destination_host(address).target(to_node_ports.clone()))
        .collect()
}

fn serves(view: &NodeView, address: IpAddr) -> bool {
    view.localhost_node_ports || !address.is_loopback()
}

/// Returns the local addresses that serve no node ports although all do.
fn excluded(view: &NodeView) -> Option<Network> {
    (!view.localhost_node_ports).then(|| match view.family {
        Family::V4 => Network::from(loopback(Family::V4)),
        Family::V6 => Network::from(loopback(Family::V6)),
    })
}

/// Returns the loopback addresses of a family.
pub(crate) fn loopback(family: Family) -> IpNet {
    match family {
        Family::V4 => IpNet::new_assert(IpAddr::from([127, 0, 0, 0]), 8),
        Family::V6 => IpNet::new_assert(IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), 128),
    }
}

/// The jumps to the top-level chains, in the order in which they are made. `KUBE-FIREWALL` is shared
/// with kubelet and is there even if it is empty.
pub(super) const JUMPS: [Jump; 14] = [
    Jump::new_connections(
        "INPUT",
        "KUBE-EXTERNAL-SERVICES",
        "kubernetes externally-visible service portals",
    ),
    Jump::new_connections(
        "FORWARD",
        "KUBE-EXTERNAL-SERVICES",
        "kubernetes externally-visible service portals",
    ),
    Jump::all("filter", "INPUT", "KUBE-NODEPORTS", "kubernetes health check service ports"),
    Jump::new_connections("FORWARD", "KUBE-SERVICES", "kubernetes service portals"),
    Jump::new_connections("OUTPUT", "KUBE-SERVICES", "kubernetes service portals"),
    Jump::all("filter", "FORWARD", "KUBE-FORWARD", FORWARDING),
    Jump::new_connections("INPUT", "KUBE-PROXY-FIREWALL", "kubernetes load balancer firewall"),
    Jump::new_connections("OUTPUT", "KUBE-PROXY-FIREWALL", "kubernetes load balancer firewall"),
    Jump::new_connections("FORWARD", "KUBE-PROXY-FIREWALL", "kubernetes load balancer firewall"),
    Jump::all("nat", "OUTPUT", "KUBE-SERVICES", "kubernetes service portals"),
    Jump::all("nat", "PREROUTING", "KUBE-SERVICES", "kubernetes service portals"),
    Jump::all("nat", "POSTROUTING", "KUBE-POSTROUTING", "kubernetes postrouting rules"),
    Jump::all("filter", "INPUT", "KUBE-FIREWALL", ""),
    Jump::all("filter", "OUTPUT", "KUBE-FIREWALL", ""),
];
