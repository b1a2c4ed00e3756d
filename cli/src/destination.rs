//! Where a packet goes: from text to an address, a protocol and a port.

use std::net::{IpAddr, SocketAddr};

use kps_flow::Protocol;

use crate::error::Failure;
use crate::node::Node;
use crate::services;

/// Where a packet goes.
pub struct Destination {
    /// The address.
    pub address: IpAddr,
    /// The port; 0 for ICMP.
    pub port: u16,
    /// The protocol.
    pub protocol: Protocol,
}

/// Reads `ADDR:PORT`, `ADDR:PORT/PROTO` or `ADDR/ICMP`; or `svc:NS/NAME[:PORT]`, the cluster IP of
/// a Service.
///
/// # Errors
/// If it is none of these, or there is no such Service; `option` says where the text was given.
pub fn find(option: &str, text: &str, node: &Node<'_>) -> Result<Destination, Failure> {
    match text.strip_prefix("svc:") {
        Some(name) => service(option, name, node),
        None => address(option, text),
    }
}

fn service(option: &str, name: &str, node: &Node<'_>) -> Result<Destination, Failure> {
    let Some(proxied) = &node.proxied else {
        return Err(Failure::Usage(format!(
            "{option} svc:{name}: only objects say where Services are; give an address"
        )));
    };
    let (_, found) = services::find(option, name, &proxied.views)?;
    let port = &found.port;
    Ok(Destination { address: port.cluster_ip, port: port.port, protocol: port.key.protocol })
}

fn address(option: &str, text: &str) -> Result<Destination, Failure> {
    let wrong = || {
        Failure::Usage(format!(
            "{option} {text}: expected ADDR:PORT or ADDR:PORT/PROTO, such as 10.96.0.10:53/UDP or \
             [fd00::10]:80, or svc:NS/NAME:PORT"
        ))
    };
    let (place, protocol) = match text.rsplit_once('/') {
        None => (text, Protocol::Tcp),
        Some((place, name)) => (place, name.parse().map_err(|_| wrong())?),
    };
    if protocol.has_ports() {
        let socket: SocketAddr = place.parse().map_err(|_| wrong())?;
        return Ok(Destination { address: socket.ip(), port: socket.port(), protocol });
    }
    let address: IpAddr = place.trim_matches(['[', ']']).parse().map_err(|_| wrong())?;
    let protocol = if address.is_ipv6() { Protocol::Icmpv6 } else { Protocol::Icmp };
    Ok(Destination { address, port: 0, protocol })
}
