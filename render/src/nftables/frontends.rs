//! The addresses and ports by which clients reach a `ServicePort`: elements of the shared maps.

use std::net::IpAddr;

use kps_ruleset::nftables::{Data, Element, Key, Value, Verdict};

use super::localhost;
use super::matches::{destination_key, port_key};
use super::port::Port;
use super::writer::Writer;

/// Writes the elements of a `ServicePort`.
pub(super) fn write(context: &Port<'_>, writer: &mut Writer) {
    write_cluster_ip(context, writer);
    for address in &context.port.port.external_ips {
        write_external(context, *address, writer);
        write_no_endpoint(context, *address, writer);
    }
    write_load_balancer(context, writer);
    write_node_port(context, writer);
}

fn write_cluster_ip(context: &Port<'_>, writer: &mut Writer) {
    let address = context.port.port.cluster_ip;
    writer.add_element("cluster-ips", Element::new(Key::One(Value::address(address))));
    if context.port.has_internal() {
        let chain = Verdict::Goto(context.internal_policy_chain());
        writer.add_element("service-ips", mapped(context.key(address), chain));
    } else {
        writer.add_element("no-endpoint-services", context.no_endpoint(context.key(address)));
    }
}

fn write_load_balancer(context: &Port<'_>, writer: &mut Writer) {
    let port = &context.port.port;
    if context.uses_firewall_chain() {
        writer.ensure_chain(context.chains.firewall);
    }
    for address in &port.load_balancer_vips {
        write_external(context, *address, writer);
        if context.uses_firewall_chain() {
            let chain = Verdict::Goto(context.chains.firewall);
            writer.add_element("firewall-ips", mapped(context.key(*address), chain));
        }
    }
    for address in &port.load_balancer_vips {
        write_no_endpoint(context, *address, writer);
    }
}

fn write_external(context: &Port<'_>, address: IpAddr, writer: &mut Writer) {
    if context.port.has_any {
        let chain = Verdict::Goto(context.chains.external);
        writer.add_element("service-ips", mapped(context.key(address), chain));
    }
}

fn write_no_endpoint(context: &Port<'_>, address: IpAddr, writer: &mut Writer) {
    if !context.port.has_external() {
        writer.add_element("no-endpoint-services", context.no_endpoint(context.key(address)));
    }
}

fn write_node_port(context: &Port<'_>, writer: &mut Writer) {
    let Some(node_port) = context.port.port.node_port else { return };
    let protocol = context.port.port.key.protocol;
    let key = || port_key(protocol, node_port);
    localhost::write_node_port(context.view, protocol, node_port, writer);
    if context.port.has_any {
        let chain = Verdict::Goto(context.chains.external);
        writer.add_element("service-nodeports", mapped(key(), chain));
    }
    if !context.port.has_external() {
        writer.add_element("no-endpoint-nodeports", context.no_endpoint(key()));
    }
}

fn mapped(key: Key, verdict: Verdict) -> Element {
    Element { data: Some(Data::Verdict(verdict)), ..Element::new(key) }
}

impl Port<'_> {
    fn key(&self, address: IpAddr) -> Key {
        destination_key(address, self.port.port.key.protocol, self.port.port.port)
    }

    fn no_endpoint(&self, key: Key) -> Element {
        let label = self.port.port.key.to_string();
        let comment = Some(self.layout.comment(&label).into());
        Element { comment, ..mapped(key, self.no_endpoint_verdict()) }
    }
}
