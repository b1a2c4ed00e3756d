//! The rules that lead from the shared chains to those of a `ServicePort`, or tell that it has no
//! endpoints.

use std::net::IpAddr;

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::iptables::{Negatable, Network, Rule, RuleWriter, Target};

use super::base::{LOCALHOST_COUNTER, loopback};
use super::detector::if_not_local;
use super::lines::{Lines, Part};
use super::matches::{counted, destination_is_local, destination_port, port_unreachable};
use super::port::Port;

const TCP: kps_ruleset::Protocol = kps_ruleset::Protocol::TCP;

/// Writes the rules in the shared chains, then that which marks traffic to the cluster IP.
pub(super) fn write(port: &Port, out: &mut Part) {
    cluster_ip(port, out);
    external_ips(port, out);
    load_balancer_vips(port, out);
    node_port(port, out);
    health_check(port, &mut out.filter);
    cluster_ip_masquerade(port, &mut out.nat);
}

fn cluster_ip(port: &Port, out: &mut Part) {
    let address = port.service.cluster_ip;
    if port.seen.has_internal() {
        out.nat
            .push("KUBE-SERVICES", port.lead("cluster IP", address, port.internal_policy_chain()));
    } else {
        let rule = port.to(address, port.no_endpoints());
        out.filter.push("KUBE-SERVICES", rule.target(port.no_endpoints_target()));
    }
}

fn external_ips(port: &Port, out: &mut Part) {
    for address in &port.service.external_ips {
        if port.seen.has_any {
            let rule = port.lead("external IP", *address, port.chains.external);
            out.nat.push("KUBE-SERVICES", rule);
        }
        no_external_endpoints(port, *address, out);
    }
}

fn load_balancer_vips(port: &Port, out: &mut Part) {
    let vips = &port.service.load_balancer_vips;
    let firewall = port.uses_firewall_chain();
    let chain = if firewall { port.chains.firewall } else { port.chains.external };
    for address in vips {
        if port.seen.has_any {
            out.nat.push("KUBE-SERVICES", port.lead("loadbalancer IP", *address, chain));
        }
        if firewall {
            out.filter.push("KUBE-PROXY-FIREWALL", port.not_accepted(*address));
        }
    }
    for address in vips {
        no_external_endpoints(port, *address, out);
    }
}

fn no_external_endpoints(port: &Port, address: IpAddr, out: &mut Part) {
    if !port.seen.has_external() {
        let rule = port.to(address, port.no_endpoints());
        out.filter.push("KUBE-EXTERNAL-SERVICES", rule.target(port.no_endpoints_target()));
    }
}

fn node_port(port: &Port, out: &mut Part) {
    let Some(number) = port.service.node_port else { return };
    if port.seen.has_any {
        if port.view.localhost_node_ports && port.view.nfacct {
            out.nat.push("KUBE-NODEPORTS", port.localhost_node_port(number));
        }
        out.nat.push("KUBE-NODEPORTS", port.node_port(number));
    }
    if !port.seen.has_external() {
        let rule = port.no_endpoints().matching(destination_is_local());
        let rule = port.to_port(number, rule).options().target(port.no_endpoints_target());
        out.filter.push("KUBE-EXTERNAL-SERVICES", rule);
    }
}

fn health_check(port: &Port, filter: &mut Lines) {
    let Some(number) = port.service.health_check_node_port else { return };
    let rule = Rule::write()
        .comment(format!("{} health check node port", port.label))
        .load_ports(TCP, destination_port(number))
        .protocol(TCP)
        .options()
        .target(Target::Accept);
    filter.push("KUBE-NODEPORTS", rule);
}

fn cluster_ip_masquerade(port: &Port, nat: &mut Lines) {
    if !port.seen.has_internal() {
        return;
    }
    let rule = Rule::write().comment(format!("{} cluster IP", port.label));
    let rule = port.to(port.service.cluster_ip, rule);
    let rule = match &port.view.detector {
        _ if port.view.masquerade_all => rule,
        Some(detector) => if_not_local(detector, rule),
        None => return,
    };
    nat.push(port.internal_policy_chain(), rule.target(port.mark_for_masquerade()));
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
        let what = if self.seen.has_any { "no local endpoints" } else { "no endpoints" };
        Rule::write().comment(format!("{} has {what}", self.label))
    }

    /// Returns the target of a rule for traffic that has nowhere to go. It is dropped if other
    /// nodes could take it, so that the client tries again.
    fn no_endpoints_target(&self) -> Target {
        if self.seen.has_any {
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
