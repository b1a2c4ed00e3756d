//! Client classes: who sends the packet. A class stands for a set of sources and the interface by
//! which they reach the node under test.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who sends a packet, seen from the node under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientClass {
    /// A pod on this node; its packets come in by its own (virtual) interface.
    #[serde(alias = "endpoint")]
    Pod,
    /// A pod on another node; its packets come in by the uplink with the pod's address.
    RemotePod,
    /// A process in the node's own network namespace; its packets start at the output hook.
    Node,
    /// Anything outside the cluster; comes in by the uplink.
    #[serde(alias = "external", alias = "external2")]
    Outside,
}

impl fmt::Display for ClientClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientClass::Pod => "pod on this node",
            ClientClass::RemotePod => "pod elsewhere",
            ClientClass::Node => "node process",
            ClientClass::Outside => "outside client",
        })
    }
}
