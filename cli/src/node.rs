//! From objects and dumps to nodes with rules.

use std::path::{Path, PathBuf};

use kps_model::Diagnostic;
use kps_render::node_state;
use kps_ruleset::NodeState;
use kps_ruleset::host::Host;
use kps_sim::Walker;

use crate::Verdict;
use crate::args::NodeArgs;
use crate::cluster::{Objects, Proxied};
use crate::error::Failure;
use crate::report::diagnostics::{Reporter, warn};
use crate::walkable::not_walked;

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
    ///
    /// # Errors
    /// If it has rules that are not walked: an answer without them would be wrong.
    pub fn walker(&self) -> Result<Walker<'_>, Failure> {
        walker(&self.state)
    }
}

/// Prepares walks through a state.
///
/// # Errors
/// If it has rules that are not walked: an answer without them would be wrong.
pub fn walker(state: &NodeState) -> Result<Walker<'_>, Failure> {
    match not_walked(state) {
        Some(what) => Err(Failure::NotWalked(what)),
        None => Ok(Walker::new(state)),
    }
}

/// Renders a node's state; a sync that fails is reported.
pub fn rendered(proxied: &Proxied<'_>) -> NodeState {
    let (state, errors) = node_state(&proxied.views, proxied.mode);
    for error in errors {
        Reporter::new(false).report(&[Diagnostic::about_cluster(error.to_string())]);
    }
    state
}

/// The files of a dump that have rules.
const RULES: [&str; 4] = ["nft.txt", "iptables-save.txt", "ip6tables-save.txt", "ipvsadm-save.txt"];

fn read_dump(dir: &Path, proxied: Option<&Proxied<'_>>) -> Result<NodeState, Failure> {
    let dump = NodeState::read_dump(dir).map_err(Failure::file(dir))?;
    for error in &dump.errors {
        warn(&format!("{}: {error}", dir.display()));
    }
    if RULES.iter().all(|file| dump.missing.contains(file)) {
        let (dir, files) = (dir.display(), RULES.join(", "));
        return Err(Failure::Usage(format!("{dir} holds no rules: {files}")));
    }
    let mut state = dump.state;
    match proxied {
        Some(proxied) => complete(&mut state.host, &kps_render::host(&proxied.views)),
        None if dump.missing.contains(&"addr.txt") => warn(&format!(
            "{dir}: addr.txt is missing, so the node is taken to have no address and no route; add \
             what `ip -o addr show` prints, or give the objects, too",
            dir = dir.display()
        )),
        None => {}
    }
    Ok(state)
}

/// Fills in what a dump does not say of the host.
fn complete(host: &mut Host, assumed: &Host) {
    if host.addresses.is_empty() {
        host.addresses.clone_from(&assumed.addresses);
    }
    if host.routes.is_empty() {
        host.routes.clone_from(&assumed.routes);
    }
    for (name, value) in &assumed.sysctls {
        host.sysctls.entry(name.clone()).or_insert_with(|| value.clone());
    }
}
