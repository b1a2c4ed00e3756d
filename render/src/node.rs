//! The whole state of a node after kube-proxy's first sync.

use kps_flow::Family;
use kps_model::{Mode, NodeView};
use kps_ruleset::NodeState;
use kps_ruleset::nftables::ApplyError;
use thiserror::Error;

use crate::iptables::Refusal;
use crate::{host, iptables, ipvs, nftables};

/// A sync that fails.
#[derive(Debug, Clone, Error)]
pub enum SyncError {
    /// The kernel refuses the transaction, so that nothing of a family is installed.
    #[error("the {family} sync fails, so no Service of that family works: {source}")]
    Transaction {
        /// The family.
        family: Family,
        /// Why.
        source: ApplyError,
    },
    /// One variant of the tools refuses a rule. Which one a node uses is not known: the state is what
    /// the other variant makes.
    #[error(
        "the {family} sync fails on nodes with iptables-nft: {source}. The rules here are those of \
         iptables-legacy, which takes the rule. Set clusterCIDR to the ranges of pods"
    )]
    Variant {
        /// The family.
        family: Family,
        /// What is refused.
        source: Refusal,
    },
}

/// Returns the state of a node that had no rules, after the proxiers of all `views` have synced in
/// `mode`; and what went wrong with a family.
#[must_use]
pub fn node_state(views: &[NodeView], mode: Mode) -> (NodeState, Vec<SyncError>) {
    let mut state = NodeState { host: host::host(views), ..NodeState::default() };
    let errors = views.iter().filter_map(|view| sync(view, mode, &mut state).err()).collect();
    (state, errors)
}

fn sync(view: &NodeView, mode: Mode, state: &mut NodeState) -> Result<(), SyncError> {
    let family = view.family;
    let refusal = match mode {
        Mode::Iptables => {
            let plan = iptables::plan(view);
            let refusal = plan.refusal();
            plan.install(state);
            refusal
        }
        Mode::Ipvs => {
            let plan = ipvs::plan(view);
            let refusal = plan.refusal();
            plan.install(state);
            refusal
        }
        Mode::Nftables => {
            let done = nftables::plan(view).install(state);
            return done.map_err(|source| SyncError::Transaction { family, source });
        }
    };
    refusal.map_or(Ok(()), |source| Err(SyncError::Variant { family, source }))
}
