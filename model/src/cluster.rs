//! The objects of a cluster that kube-proxy looks at.

use crate::objects::{EndpointSlice, Node, Service, ServiceCidr};

/// The objects of a cluster, each kind in the order in which it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Services of all namespaces.
    pub services: Vec<Service>,
    /// EndpointSlices of all namespaces.
    pub slices: Vec<EndpointSlice>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// ServiceCIDRs.
    pub service_cidrs: Vec<ServiceCidr>,
}

impl Cluster {
    /// Returns the Node of this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.metadata.name == name)
    }

    /// Returns the names of all Nodes, in the order in which they were read.
    pub fn node_names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.metadata.name.as_str())
    }
}
