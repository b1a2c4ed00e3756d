//! How kube-proxy is set up on one side of a move, and what that installs on a node.

use kps_flow::Family;
use kps_model::{Cluster, Config, KubeVersion, Mode, NodeView};
use kps_render::node_state;
use kps_ruleset::NodeState;

/// A configuration with its mode, and a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The configuration.
    pub config: Config,
    /// The release.
    pub version: KubeVersion,
}

/// What a setup installs on a node, or what the node was found to have.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The setup.
    pub setup: Setup,
    /// What its proxiers see, one view a family.
    pub views: Vec<NodeView>,
    /// The node's rules and what is around them.
    pub state: NodeState,
    /// Syncs that failed, as they say it.
    pub failures: Vec<String>,
    /// Whether the rules are those of a dump.
    pub is_found: bool,
}

impl Setup {
    /// Returns the mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.config.mode
    }

    /// Returns what the proxiers of a node see.
    #[must_use]
    pub fn views(&self, cluster: &Cluster, node: &str) -> Vec<NodeView> {
        let view = |family| kps_model::view(cluster, &self.config, node, self.version, family);
        Family::BOTH.map(view).into()
    }

    /// Installs the rules of a node that had none.
    #[must_use]
    pub fn install(&self, cluster: &Cluster, node: &str) -> Installed {
        let views = self.views(cluster, node);
        let (state, errors) = node_state(&views, self.mode());
        let failures = errors.iter().map(ToString::to_string).collect();
        Installed { setup: self.clone(), views, state, failures, is_found: false }
    }

    /// Takes the rules that a node was found to have.
    #[must_use]
    pub fn found(&self, cluster: &Cluster, node: &str, state: NodeState) -> Installed {
        let views = self.views(cluster, node);
        Installed { setup: self.clone(), views, state, failures: Vec::new(), is_found: true }
    }
}

impl Installed {
    /// Returns what the proxier of a family sees.
    #[must_use]
    pub fn view(&self, family: Family) -> Option<&NodeView> {
        self.views.iter().find(|view| view.family == family)
    }
}
