//! What a sync makes of the rules that are there. For the most part that is what a first sync would
//! make; the exceptions are here.

use kps_model::{Mode, NodeView};
use kps_render::{SyncError, node_state};
use kps_ruleset::NodeState;
use kps_ruleset::ipvs::RealServer;
use kps_ruleset::nftables::{Data, Table, Verdict};

use super::connections::Connections;

/// The chain that refuses node ports on loopback addresses, by the start of its name.
const LOOPBACK_REFUSAL: &str = "localhost-nodeport-reject-";

/// Returns the rules after a sync.
///
/// # Errors
/// Says why the sync fails; the node then keeps the rules that it has.
pub fn sync(
    old: &NodeState,
    views: &[NodeView],
    mode: Mode,
    connections: &Connections,
) -> Result<NodeState, Vec<String>> {
    let (mut state, errors) = node_state(views, mode);
    let mut failures: Vec<String> = errors
        .iter()
        .filter(|error| matches!(error, SyncError::Transaction { .. }))
        .map(ToString::to_string)
        .collect();
    failures.extend(busy(old, &state));
    if !failures.is_empty() {
        return Err(failures);
    }
    drain(old, &mut state, connections);
    Ok(state)
}

/// Finds a chain that the sync deletes while elements still lead to it, which the kernel answers
/// with EBUSY for the whole transaction. kube-proxy deletes the elements of a map in the order of
/// what changed, but this chain first (kubernetes/kubernetes#142183).
fn busy(old: &NodeState, new: &NodeState) -> Option<String> {
    old.nftables.tables.iter().filter(|table| table.name == "kube-proxy").find_map(|table| {
        let next = new.nftables.table(table.family, &table.name)?;
        let mut gone = table.chains.keys().filter(|name| !next.chains.contains_key(*name));
        let chain =
            gone.find(|name| name.starts_with(LOOPBACK_REFUSAL) && is_led_to(table, name))?;
        Some(format!(
            "the transaction deletes the chain {chain} to which elements still lead: Device or \
             resource busy. Nothing is changed, with every sync"
        ))
    })
}

fn is_led_to(table: &Table, chain: &str) -> bool {
    let mut elements = table.sets.values().flat_map(|set| set.elements.values());
    elements.any(|element| match element.data {
        Some(Data::Verdict(Verdict::Goto(to) | Verdict::Jump(to))) => to == *chain,
        _ => false,
    })
}

/// Keeps real servers that are no endpoints any more, with weight 0, while TCP connections to them
/// are open (`pkg/proxy/ipvs/graceful_termination.go`). UDP and SCTP ones go at once.
fn drain(old: &NodeState, new: &mut NodeState, connections: &Connections) {
    for (id, server) in &mut new.ipvs.services {
        let Some(before) = old.ipvs.services.get(id) else { continue };
        for real in &before.real_servers {
            let is_there =
                |other: &RealServer| (other.address, other.port) == (real.address, real.port);
            let is_open = connections.has_open_tcp(real.address, real.port);
            if is_open && !server.real_servers.iter().any(is_there) {
                server.real_servers.push(RealServer { weight: 0, ..real.clone() });
            }
        }
    }
}
