//! Everything on a node that decides what happens to a packet.

use crate::host::Host;
use crate::nftables;

/// The state of one node: its rule sets, and the host around them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    /// What `nft list ruleset` shows.
    pub nftables: nftables::Ruleset,
    /// Addresses, links, routes, policy rules and sysctls.
    pub host: Host,
}
