//! The whole state of a node after kube-proxy's first sync.

use kps_flow::Family;
use kps_model::{Mode, NodeView};
use kps_ruleset::NodeState;
use kps_ruleset::nftables::ApplyError;
use thiserror::Error;

use crate::{host, iptables, ipvs, nftables};

/// A sync that fails, so that nothing of a family is installed.
#[derive(Debug, Clone, Error)]
#[error("the {family} sync fails, so no Service of that family works: {source}")]
pub struct SyncError {
    /// The family.
    pub family: Family,
    /// Why.
    pub source: ApplyError,
}

/// Returns the state of a node that had no rules, after the proxiers of all `views` have synced in
/// `mode`; and what went wrong with a family, which then has none.
#[must_use]
pub fn node_state(views: &[NodeView], mode: Mode) -> (NodeState, Vec<SyncError>) {
    let mut state = NodeState { host: host::host(views), ..NodeState::default() };
    let mut errors = Vec::new();
    for view in views {
        match mode {
            Mode::Iptables => install_iptables(view, &mut state),
            Mode::Ipvs => ipvs::plan(view).install(&mut state),
            Mode::Nftables => {
                if let Err(source) = nftables::plan(view).install(&mut state) {
                    errors.push(SyncError { family: view.family, source });
                }
            }
        }
    }
    (state, errors)
}

fn install_iptables(view: &NodeView, state: &mut NodeState) {
    if view.localhost_node_ports {
        state.host.sysctls.insert("net.ipv4.conf.all.route_localnet".into(), "1".into());
    }
    let family = iptables::ruleset_family(view.family);
    *state.iptables.family_mut(family) = iptables::plan(view).into_ruleset();
}
