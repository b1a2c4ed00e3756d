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
pub(super) fn claim(port: &Port<'_>, fragment: &mut Fragment) {
    let chains = &port.chains;
    for chain in [chains.cluster, chains.local, chains.external].into_iter().flatten() {
        fragment.chain(chain);
    }
    claim_cluster_ip(port, fragment);
    for address in &port.service.external_ips {
        claim_external(port, *address, fragment);
        claim_no_endpoint(port, *address, fragment);
    }
    claim_load_balancer(port, fragment);
    claim_node_port(port, fragment);
}

fn claim_cluster_ip(port: &Port<'_>, fragment: &mut Fragment) {
    let address = port.service.cluster_ip;
    fragment.element(Container::ClusterIps, Element::new(Key::One(Value::address(address))));
    let key = port.key(address);
    match port.internal_policy_chain() {
        Some(chain) => fragment.element(Container::ServiceIps, leading(key, chain)),
        None => fragment.element(Container::NoEndpointServices, port.no_endpoint(key)),
    }
}

fn claim_external(port: &Port<'_>, address: IpAddr, fragment: &mut Fragment) {
    if let Some(chain) = port.chains.external {
        fragment.element(Container::ServiceIps, leading(port.key(address), chain));
    }
}

fn claim_no_endpoint(port: &Port<'_>, address: IpAddr, fragment: &mut Fragment) {
    if port.external_policy_chain().is_none() {
        let element = port.no_endpoint(port.key(address));
        fragment.element(Container::NoEndpointServices, element);
    }
}

fn claim_load_balancer(port: &Port<'_>, fragment: &mut Fragment) {
    let vips = &port.service.load_balancer_vips;
    if let Some(chain) = port.chains.firewall {
        fragment.chain(chain);
    }
    for address in vips {
        claim_external(port, *address, fragment);
        if let Some(chain) = port.chains.firewall {
            fragment.element(Container::FirewallIps, leading(port.key(*address), chain));
        }
    }
    for address in vips {
        claim_no_endpoint(port, *address, fragment);
    }
}

fn claim_node_port(port: &Port<'_>, fragment: &mut Fragment) {
    let Some(number) = port.service.node_port else { return };
    let key = port_key(port.service.key.protocol, number);
    localhost::claim(port, &key, fragment);
    if let Some(chain) = port.chains.external {
        fragment.element(Container::ServiceNodePorts, leading(key.clone(), chain));
    }
    if port.external_policy_chain().is_none() {
        fragment.element(Container::NoEndpointNodePorts, port.no_endpoint(key));
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
        destination_key(address, self.service.key.protocol, self.service.port)
    }

    /// Returns the element for packets that no endpoint may have. They are refused if there is no
    /// endpoint at all, and dropped if only the policy stands in the way.
    fn no_endpoint(&self, key: Key) -> Element {
        let refuse = || Verdict::Goto("reject-chain".into());
        let verdict = if self.seen.has_any { Verdict::Drop } else { refuse() };
        let label = self.service.key.to_string();
        let comment = Some(self.layout.comment(&label).into());
        Element { comment, ..mapped(key, verdict) }
    }
}
