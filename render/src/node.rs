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
            Mode::Iptables => iptables::plan(view).install(&mut state),
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
