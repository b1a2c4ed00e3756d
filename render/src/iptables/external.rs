//! The chains for traffic from outside: `KUBE-EXT-X`, and `KUBE-FW-X` for source ranges.

use kps_ruleset::iptables::{Negatable, Network, Rule, RuleWriter, Target};

use super::detector::if_local;
use super::lines::Lines;
use super::matches::source_is_local;
use super::port::Port;

/// Writes both chains, as far as they are used.
pub(super) fn write(port: &Port, nat: &mut Lines) {
    if port.uses_external_chain() {
        external_chain(port, nat);
    }
    if port.uses_firewall_chain() {
        firewall_chain(port, nat);
    }
}

fn external_chain(port: &Port, nat: &mut Lines) {
    let chain = port.chains.external;
    nat.chains.push(chain);
    if port.service.external_local {
        short_circuits(port, nat);
    } else {
        nat.push(chain, port.external("masquerade traffic").target(port.mark_for_masquerade()));
    }
    if port.seen.has_external() {
        nat.push(chain, Rule::write().target(Target::Jump(port.external_policy_chain())));
    }
}

/// Traffic of this node and its pods does not leave the cluster, so policy Local is not for it.
fn short_circuits(port: &Port, nat: &mut Lines) {
    let chain = port.chains.external;
    let cluster = || Target::Jump(port.chains.cluster);
    if let Some(detector) = &port.view.detector {
        let rule = if_local(detector, port.external("pod traffic"));
        nat.push(chain, rule.target(cluster()));
    }
    let masquerade = port.external("masquerade LOCAL traffic").matching(source_is_local());
    nat.push(chain, masquerade.target(port.mark_for_masquerade()));
    let route = port.external("route LOCAL traffic").matching(source_is_local());
    nat.push(chain, route.target(cluster()));
}

fn firewall_chain(port: &Port, nat: &mut Lines) {
    let chain = port.chains.firewall;
    let service = port.service;
    nat.chains.push(chain);
    for range in &service.source_ranges {
        let rule = port.load_balancer().source(Negatable::is(Network::from(*range)));
        nat.push(chain, rule.target(Target::Jump(port.chains.external)));
    }
    // A packet from the node to the load balancer may have the load balancer's own address as
    // source, since that may be bound to the node.
    if service.source_ranges.iter().any(|range| range.contains(&port.view.node_ip)) {
        for address in &service.load_balancer_vips {
            let rule = port.load_balancer().source_host(*address);
            nat.push(chain, rule.target(Target::Jump(port.chains.external)));
        }
    }
    nat.push(chain, port.other_traffic());
}

impl Port<'_> {
    fn external(&self, what: &str) -> RuleWriter {
        Rule::write().comment(format!("{what} for {} external destinations", self.label))
    }

    fn load_balancer(&self) -> RuleWriter {
        Rule::write().comment(format!("{} loadbalancer IP", self.label))
    }

    /// Returns the last rule of the firewall chain. It has no target: the drop is in `filter`,
    /// since table `nat` must not drop.
    fn other_traffic(&self) -> Rule {
        let label = &self.label;
        let text = format!("other traffic to {label} will be dropped by KUBE-PROXY-FIREWALL");
        Rule::write().comment(text).end()
    }
}
