//! Endpoints: what kube-proxy makes of the addresses in EndpointSlices.

use std::net::SocketAddr;

/// An endpoint of a ServicePort (`pkg/proxy/endpoint.go`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Endpoint {
    /// Address and port.
    pub address: SocketAddr,
    /// Whether it is on this node.
    pub is_local: bool,
    /// Whether it takes new connections.
    pub ready: bool,
    /// Whether it still answers; may be true while it terminates.
    pub serving: bool,
    /// Whether it is being shut down.
    pub terminating: bool,
    /// The zones that it is meant for.
    pub zone_hints: Vec<String>,
    /// The nodes that it is meant for.
    pub node_hints: Vec<String>,
}
