//! The addresses and ports by which clients reach a `ServicePort`: elements of the shared maps.

use std::net::IpAddr;

use kps_ruleset::Name;
use kps_ruleset::nftables::{Data, Element, Key, Value, Verdict};

use super::containers::Container;
use super::localhost;
use super::matches::{destination_key, port_key};
use super::plan::Fragment;
use super::port::Port;

/// Claims the chains and elements of a `ServicePort`.
pub(super) fn claim(context: &Port<'_>, fragment: &mut Fragment) {
    let chains = &context.chains;
    for chain in [chains.cluster, chains.local, chains.external].into_iter().flatten() {
        fragment.chain(chain);
    }
    claim_cluster_ip(context, fragment);
    for address in &context.port.port.external_ips {
        claim_external(context, *address, fragment);
        claim_no_endpoint(context, *address, fragment);
    }
    claim_load_balancer(context, fragment);
    claim_node_port(context, fragment);
}

fn claim_cluster_ip(context: &Port<'_>, fragment: &mut Fragment) {
    let address = context.port.port.cluster_ip;
    fragment.element(Container::ClusterIps, Element::new(Key::One(Value::address(address))));
    let key = context.key(address);
    match context.internal_policy_chain() {
        Some(chain) => fragment.element(Container::ServiceIps, leading(key, chain)),
        None => fragment.element(Container::NoEndpointServices, context.no_endpoint(key)),
    }
}

fn claim_external(context: &Port<'_>, address: IpAddr, fragment: &mut Fragment) {
    if let Some(chain) = context.chains.external {
        fragment.element(Container::ServiceIps, leading(context.key(address), chain));
    }
}

fn claim_no_endpoint(context: &Port<'_>, address: IpAddr, fragment: &mut Fragment) {
    if context.external_policy_chain().is_none() {
        let element = context.no_endpoint(context.key(address));
        fragment.element(Container::NoEndpointServices, element);
    }
}

fn claim_load_balancer(context: &Port<'_>, fragment: &mut Fragment) {
    let vips = &context.port.port.load_balancer_vips;
    if let Some(chain) = context.chains.firewall {
        fragment.chain(chain);
    }
    for address in vips {
        claim_external(context, *address, fragment);
        if let Some(chain) = context.chains.firewall {
            fragment.element(Container::FirewallIps, leading(context.key(*address), chain));
        }
    }
    for address in vips {
        claim_no_endpoint(context, *address, fragment);
    }
}

fn claim_node_port(context: &Port<'_>, fragment: &mut Fragment) {
    let Some(number) = context.port.port.node_port else { return };
    let key = port_key(context.port.port.key.protocol, number);
    localhost::claim(context, &key, fragment);
    if let Some(chain) = context.chains.external {
        fragment.element(Container::ServiceNodePorts, leading(key.clone(), chain));
    }
    if context.external_policy_chain().is_none() {
        fragment.element(Container::NoEndpointNodePorts, context.no_endpoint(key));
    }
}

/// Returns the element that leads from a key to a chain.
pub(super) fn leading(key: Key, chain: Name) -> Element {
    mapped(key, Verdict::Goto(chain))
}

fn mapped(key: Key, verdict: Verdict) -> Element {
    Element { data: Some(Data::Verdict(verdict)), ..Element::new(key) }
}

impl Port<'_> {
    fn key(&self, address: IpAddr) -> Key {
        destination_key(address, self.port.port.key.protocol, self.port.port.port)
    }

    /// Returns the element for packets that no endpoint may have. They are refused if there is no
    /// endpoint at all, and dropped if only the policy stands in the way.
    fn no_endpoint(&self, key: Key) -> Element {
        let refuse = || Verdict::Goto("reject-chain".into());
        let verdict = if self.port.has_any { Verdict::Drop } else { refuse() };
        let label = self.port.port.key.to_string();
        let comment = Some(self.layout.comment(&label).into());
        Element { comment, ..mapped(key, verdict) }
    }
}
