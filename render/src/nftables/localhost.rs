//! Node ports on loopback addresses (KEP-6032; gate `KubeProxyNFTablesLocalhostNodePorts`).
//!
//! kube-proxy listens on them itself for TCP, if it is told a loopback address; what it does not
//! serve so it rejects and counts. Without the gate, what an earlier run may have left is removed.

use std::net::{Ipv4Addr, Ipv6Addr};

use kps_flow::{Family, Protocol};
use kps_model::NodeView;
use kps_ruleset::Name;
use kps_ruleset::nftables::{Expr, Key, Statement, Value};

use super::containers::Container;
use super::frontends::leading;
use super::matches::{daddr, equal, protocol_and_port, reject, verdict_map};
use super::plan::Fragment;
use super::port::Port;
use super::writer::Writer;

/// The loopback addresses of a family, as a constant.
pub(super) fn addresses(family: Family) -> Expr {
    Expr::Value(match family {
        Family::V4 => Value::Ipv4Prefix(Ipv4Addr::new(127, 0, 0, 0), 8),
        Family::V6 => Value::Ipv6(Ipv6Addr::LOCALHOST),
    })
}

/// Writes the common part.
pub(super) fn write(view: &NodeView, writer: &mut Writer) {
    let map = Container::LocalhostNodePorts;
    writer.add_container(map);
    if !view.localhost_node_port_gate {
        writer.delete_set(map.name(), true);
    }
    let (rejected, other): (Vec<_>, Vec<_>) =
        Protocol::OF_SERVICES.into_iter().partition(|protocol| rejects(view, *protocol));
    for protocol in rejected {
        write_rejection(protocol, writer);
    }
    if view.localhost_node_port_gate {
        let to_loopback = equal(daddr(view.family), addresses(view.family));
        let to_port = verdict_map(protocol_and_port(), map);
        writer.rule("nodeport-endpoints-check", [to_loopback, to_port]);
    }
    for protocol in other {
        remove_rejection(protocol, writer);
    }
}

fn write_rejection(protocol: Protocol, writer: &mut Writer) {
    let (chain, counter) = (chain(protocol), counter(protocol));
    writer.add_counter(counter);
    writer.ensure_chain(chain);
    writer.rule(chain, [Statement::NamedCounter(counter), reject()]);
}

fn remove_rejection(protocol: Protocol, writer: &mut Writer) {
    let (chain, counter) = (chain(protocol), counter(protocol));
    writer.add_chain(chain);
    writer.delete_chain(chain);
    writer.add_counter(counter);
    writer.delete_counter(counter);
}

/// Claims the element of a node port, if it is rejected.
pub(super) fn claim(port: &Port<'_>, node_port: &Key, fragment: &mut Fragment) {
    let protocol = port.service.key.protocol;
    if port.layout.has_localhost_node_ports() && rejects(port.view, protocol) {
        let element = leading(node_port.clone(), chain(protocol));
        fragment.element(Container::LocalhostNodePorts, element);
    }
}

fn rejects(view: &NodeView, protocol: Protocol) -> bool {
    let listens = view.node_ports.contains_explicit_loopback && protocol == Protocol::Tcp;
    view.localhost_node_port_gate && !listens
}

fn chain(protocol: Protocol) -> Name {
    format!("localhost-nodeport-reject-{}", protocol.lower()).into()
}

fn counter(protocol: Protocol) -> Name {
    format!("localhost-nodeport-rejected-{}", protocol.lower()).into()
}
