//! From objects and dumps to nodes with rules.

use std::path::PathBuf;

use kps_render::node_state;
use kps_ruleset::NodeState;
use kps_sim::Walker;

use crate::Verdict;
use crate::args::NodeArgs;
use crate::cluster::{Objects, Proxied};
use crate::dump::read_dump;
use crate::error::Failure;
use crate::report::diagnostics::error;

/// What was given: objects, the dumps of a node, or both.
pub struct Given {
    /// The objects.
    objects: Option<Objects>,
    /// The directory of dumps.
    dump: Option<PathBuf>,
}

/// A node with rules: rendered, or dumped.
pub struct Node<'a> {
    /// What its proxiers see, if objects were given.
    pub proxied: Option<Proxied<'a>>,
    /// Its state.
    pub state: NodeState,
}

impl Given {
    /// Reads the objects.
    ///
    /// # Errors
    /// If neither objects nor dumps were given, or the objects cannot be read.
    pub fn load(arguments: &NodeArgs) -> Result<Given, Failure> {
        let dump = arguments.dump.clone();
        let objects = match (&dump, arguments.cluster.cluster.is_empty()) {
            (Some(_), true) => None,
            _ => Some(Objects::load(&arguments.cluster)?),
        };
        Ok(Given { objects, dump })
    }

    /// Returns what the findings about objects came to.
    pub fn verdict(&self) -> Verdict {
        self.objects.as_ref().map_or(Verdict::Fine, |objects| objects.verdict)
    }

    /// Returns the nodes, each with its rules made when it is its turn. With dumps and objects,
    /// rules come from the dumps and what the dumps lack of the host from the objects.
    pub fn nodes(&self) -> impl Iterator<Item = Result<Node<'_>, Failure>> {
        let proxied = self.objects.iter().flat_map(Objects::proxied).map(Some);
        let alone = self.objects.is_none().then_some(None);
        proxied.chain(alone).map(|proxied| self.node(proxied))
    }

    fn node<'a>(&self, proxied: Option<Proxied<'a>>) -> Result<Node<'a>, Failure> {
        let state = match (&self.dump, &proxied) {
            (Some(dir), _) => read_dump(dir, proxied.as_ref())?,
            (None, Some(proxied)) => rendered(proxied),
            (None, None) => return Err(Failure::NoInput),
        };
        Ok(Node { proxied, state })
    }
}

impl Node<'_> {
    /// Returns the node's name, if objects say it.
    pub fn name(&self) -> Option<&str> {
        self.proxied.as_ref().map(|proxied| proxied.node)
    }

    /// Prepares walks through the node's rules.
    pub fn walker(&self) -> Walker<'_> {
        Walker::new(&self.state)
    }
}

/// Renders a node's state. A sync that fails is reported as an error: it takes every Service of a
/// family with it, or at least all changes to them.
pub fn rendered(proxied: &Proxied<'_>) -> NodeState {
    let (state, errors) = node_state(&proxied.views, proxied.mode);
    for failure in errors {
        error(&failure.to_string());
    }
    state
}
