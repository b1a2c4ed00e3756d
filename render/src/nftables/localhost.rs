//! Node ports on loopback addresses (KEP-6032; gate `KubeProxyNFTablesLocalhostNodePorts`).
//!
//! kube-proxy listens on them itself for TCP, if it is told a loopback address; what it does not
//! serve so it rejects and counts. Without the gate, what an earlier run may have left is removed.

use std::net::{Ipv4Addr, Ipv6Addr};

use kps_flow::{Family, Protocol};
use kps_model::NodeView;
use kps_ruleset::Name;
use kps_ruleset::nftables::{Data, DataType, Element, Expr, Statement, Value, Verdict};

use super::base::PORT_TYPE;
use super::matches::{daddr, equal, port_key, protocol_and_port, reject, verdict_map};
use super::writer::Writer;

const MAP: &str = "localhost-nodeport-reject-ports";

/// The loopback addresses of a family, as a constant.
pub(super) fn addresses(family: Family) -> Expr {
    Expr::Value(match family {
        Family::V4 => Value::Ipv4Prefix(Ipv4Addr::new(127, 0, 0, 0), 8),
        Family::V6 => Value::Ipv6(Ipv6Addr::LOCALHOST),
    })
}

/// Writes the common part.
pub(super) fn write(view: &NodeView, writer: &mut Writer) {
    let comment = "localhost NodePorts rejected by kube-proxy";
    writer.add_set(MAP, &PORT_TYPE, Some(DataType::Verdict), comment);
    if !view.localhost_node_port_gate {
        writer.delete_set(MAP, true);
    }
    for protocol in Protocol::OF_SERVICES {
        write_protocol(view, protocol, writer);
    }
    if view.localhost_node_port_gate {
        let to_loopback = equal(daddr(view.family), addresses(view.family));
        let to_port = verdict_map(protocol_and_port(), MAP);
        writer.rule("nodeport-endpoints-check", [to_loopback, to_port]);
    }
}

fn write_protocol(view: &NodeView, protocol: Protocol, writer: &mut Writer) {
    let counter = format!("localhost-nodeport-rejected-{}", protocol.lower());
    let chain = chain(protocol);
    if rejects(view, protocol) {
        writer.add_counter(&counter);
        writer.ensure_chain(chain);
        writer.rule(chain, [Statement::NamedCounter(counter.into()), reject()]);
    } else {
        writer.add_chain(chain);
        writer.delete_chain(chain);
        writer.add_counter(&counter);
        writer.delete_counter(&counter);
    }
}

/// Writes the element of a node port, if it is rejected.
pub(super) fn write_node_port(
    view: &NodeView,
    protocol: Protocol,
    node_port: u16,
    writer: &mut Writer,
) {
    if rejects(view, protocol) {
        let data = Some(Data::Verdict(Verdict::Goto(chain(protocol))));
        writer.add_element(MAP, Element { data, ..Element::new(port_key(protocol, node_port)) });
    }
}

fn rejects(view: &NodeView, protocol: Protocol) -> bool {
    let listens = view.node_ports.contains_explicit_loopback && protocol == Protocol::Tcp;
    view.localhost_node_port_gate && !listens
}

fn chain(protocol: Protocol) -> Name {
    format!("localhost-nodeport-reject-{}", protocol.lower()).into()
}
