//! The nodes of a drawn cluster: always the same.

use super::NODES;
use crate::objects::{Metadata, Node, NodeAddress, NodeSpec, NodeStatus};
use crate::view::node::ZONE;

/// Returns the nodes. Those but the last have both families; the last has no zone.
pub fn all() -> Vec<Node> {
    vec![
        node(0, Some("z1"), &["192.0.2.10", "2001:db8:1::a", "203.0.113.10"]),
        node(1, Some("z2"), &["192.0.2.11", "2001:db8:1::b"]),
        node(2, None, &["192.0.2.12"]),
    ]
}

/// The pod ranges of the first node are `10.244.0.0/24` and `fd00:10:244:0::/64`, and so on.
fn node(number: usize, zone: Option<&str>, addresses: &[&str]) -> Node {
    let zone = zone.map(|zone| (ZONE.to_owned(), zone.to_owned()));
    let pod_cidrs = vec![format!("10.244.{number}.0/24"), format!("fd00:10:244:{number}::/64")];
    let address = |text: &&str| NodeAddress {
        kind: if text.starts_with("203.") { "ExternalIP" } else { "InternalIP" }.to_owned(),
        address: (*text).to_owned(),
    };
    Node {
        metadata: Metadata {
            name: NODES.get(number).copied().unwrap_or_default().to_owned(),
            labels: zone.into_iter().collect(),
            ..Metadata::default()
        },
        spec: NodeSpec { pod_cidr: None, pod_cidrs },
        status: NodeStatus {
            addresses: addresses.iter().map(address).collect(),
            ..NodeStatus::default()
        },
    }
}
