//! Everything on a node that decides what happens to a packet.

use crate::host::Host;
use crate::{ipset, iptables, ipvs, nftables};

/// The state of one node: its rule sets, and the host around them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    /// What `nft list ruleset` shows.
    pub nftables: nftables::Ruleset,
    /// What `iptables-save` and `ip6tables-save` show.
    pub iptables: iptables::DualStack,
    /// What `ipset save` shows.
    pub ipset: ipset::Sets,
    /// What `ipvsadm-save -n` shows.
    pub ipvs: ipvs::Table,
    /// Addresses, links, routes, policy rules and sysctls.
    pub host: Host,
}
