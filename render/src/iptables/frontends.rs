//! The rules that lead from the shared chains to those of a `ServicePort`, or tell that it has no
//! endpoints.

use std::net::IpAddr;

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::iptables::{Negatable, Network, Rule, RuleWriter, Target};

use super::base::loopback;
use super::detector::if_not_local;
use super::matches::{counted, destination_is_local, destination_port, port_unreachable};
use super::plan::{Lines, Part};
use super::port::Port;

/// The counter of connections to node ports on loopback addresses.
const LOCALHOST_COUNTER: &str = "localhost_nps_accepted_pkts";

const TCP: kps_ruleset::Protocol = kps_ruleset::Protocol::TCP;

/// Writes the rules in the shared chains, then that which marks traffic to the cluster IP.
pub(super) fn write(port: &Port, part: &mut Part) {
    cluster_ip(port, part);
    external_ips(port, part);
    load_balancer_vips(port, part);
    node_port(port, part);
    health_check(port, &mut part.filter);
    cluster_ip_masquerade(port, &mut part.nat);
}

fn cluster_ip(port: &Port, part: &mut Part) {
    let address = port.port.port.cluster_ip;
    if port.port.has_internal() {
        part.nat
            .push("KUBE-SERVICES", port.lead("cluster IP", address, port.internal_policy_chain()));
    } else {
        let rule = port.to(address, port.no_endpoints());
        part.filter.push("KUBE-SERVICES", rule.target(port.no_endpoints_target()));
    }
}

fn external_ips(port: &Port, part: &mut Part) {
    for address in &port.port.port.external_ips {
        if port.port.has_any {
            let rule = port.lead("external IP", *address, port.chains.external);
            part.nat.push("KUBE-SERVICES", rule);
        }
        no_external_endpoints(port, *address, part);
    }
}

fn load_balancer_vips(port: &Port, part: &mut Part) {
    let vips = &port.port.port.load_balancer_vips;
    let firewall = port.uses_firewall_chain();
    let chain = if firewall { port.chains.firewall } else { port.chains.external };
    for address in vips {
        if port.port.has_any {
            part.nat.push("KUBE-SERVICES", port.lead("loadbalancer IP", *address, chain));
        }
        if firewall {
            part.filter.push("KUBE-PROXY-FIREWALL", port.not_accepted(*address));
        }
    }
    for address in vips {
        no_external_endpoints(port, *address, part);
    }
}

fn no_external_endpoints(port: &Port, address: IpAddr, part: &mut Part) {
    if !port.port.has_external() {
        let rule = port.to(address, port.no_endpoints());
        part.filter.push("KUBE-EXTERNAL-SERVICES", rule.target(port.no_endpoints_target()));
    }
}

fn node_port(port: &Port, part: &mut Part) {
    let Some(number) = port.port.port.node_port else { return };
    if port.port.has_any {
        if port.view.localhost_node_ports && port.view.nfacct {
            part.nat.push("KUBE-NODEPORTS", port.localhost_node_port(number));
        }
        part.nat.push("KUBE-NODEPORTS", port.node_port(number));
    }
    if !port.port.has_external() {
        let rule = port.no_endpoints().matching(destination_is_local());
        let rule = port.to_port(number, rule).options().target(port.no_endpoints_target());
        part.filter.push("KUBE-EXTERNAL-SERVICES", rule);
    }
}

fn health_check(port: &Port, filter: &mut Lines) {
    let Some(number) = port.port.port.health_check_node_port else { return };
    let rule = Rule::write()
        .comment(format!("{} health check node port", port.label))
        .load_ports(TCP, destination_port(number))
        .protocol(TCP)
        .options()
        .target(Target::Accept);
    filter.push("KUBE-NODEPORTS", rule);
}

fn cluster_ip_masquerade(port: &Port, nat: &mut Lines) {
    if !port.port.has_internal() {
        return;
    }
    let rule = Rule::write().comment(format!("{} cluster IP", port.label));
    let rule = port.to(port.port.port.cluster_ip, rule);
    let rule = match &port.view.detector {
        _ if port.view.masquerade_all => rule,
        Some(detector) => if_not_local(detector, rule),
        None => return,
    };
    nat.push(port.internal_policy_chain(), rule.target(Target::Jump("KUBE-MARK-MASQ".into())));
}

impl Port<'_> {
    /// Returns the rule that leads from an address to a chain.
    fn lead(&self, what: &str, address: IpAddr, chain: Name) -> Rule {
        let rule = Rule::write().comment(format!("{} {what}", self.label));
        self.to(address, rule).target(Target::Jump(chain))
    }

    /// Returns the rule that drops what the firewall chain has not accepted.
    fn not_accepted(&self, address: IpAddr) -> Rule {
        let chain = self.chains.firewall;
        let rule = Rule::write().comment(format!("{} traffic not accepted by {chain}", self.label));
        self.to(address, rule).target(Target::Drop)
    }

    /// Starts a rule for traffic that has nowhere to go.
    fn no_endpoints(&self) -> RuleWriter {
        let what = if self.port.has_any { "no local endpoints" } else { "no endpoints" };
        Rule::write().comment(format!("{} has {what}", self.label))
    }

    /// Returns the target of a rule for traffic that has nowhere to go. It is dropped if other
    /// nodes could take it, so that the client tries again.
    fn no_endpoints_target(&self) -> Target {
        if self.port.has_any {
            Target::Drop
        } else {
            Target::Reject(port_unreachable(self.view.family))
        }
    }

    fn node_port(&self, number: u16) -> Rule {
        let rule = Rule::write().comment(self.label.as_str());
        self.to_port(number, rule).options().target(Target::Jump(self.chains.external))
    }

    fn localhost_node_port(&self, number: u16) -> Rule {
        let rule = Rule::write().comment(self.label.as_str());
        self.to_port(number, rule)
            .destination(Negatable::is(Network::from(loopback(Family::V4))))
            .options()
            .matching(counted(LOCALHOST_COUNTER))
            .target(Target::Jump(self.chains.external))
    }

    /// Adds the start of a test for packets to a port.
    fn to_port(&self, number: u16, rule: RuleWriter) -> RuleWriter {
        rule.load_ports(self.protocol, destination_port(number)).protocol(self.protocol)
    }
}
