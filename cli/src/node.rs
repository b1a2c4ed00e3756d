//! From arguments to a node: objects, configuration and dumps, read once for every subcommand.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use kps_flow::Family;
use kps_model::{Cluster, Config, Diagnostic, Mode, NodeView, Severity, Source, config};
use kps_render::node_state;
use kps_ruleset::NodeState;

use crate::Verdict;
use crate::args::{ClusterArgs, NodeArgs};
use crate::error::Failure;

/// What the proxiers of one node see.
pub struct Proxied {
    /// The objects.
    pub cluster: Cluster,
    /// The mode.
    pub mode: Mode,
    /// The view of each family.
    pub views: Vec<NodeView>,
    /// Whether nothing was wrong with the objects, or nobody asked.
    pub verdict: Verdict,
}

/// A node with rules: rendered, or dumped.
pub struct Node {
    /// What its proxiers see, if objects were given.
    pub proxied: Option<Proxied>,
    /// Its state.
    pub state: NodeState,
}

impl Proxied {
    /// Reads objects and configuration, and reports what was wrong with them on standard error.
    ///
    /// # Errors
    /// If nothing could be read, the configuration is refused, or the node is not clear.
    pub fn load(arguments: &ClusterArgs) -> Result<Proxied, Failure> {
        if arguments.cluster.is_empty() {
            return Err(Failure::NoInput);
        }
        let sources: Vec<Source> = arguments.cluster.iter().map(|path| source(path)).collect();
        let reading = kps_model::read(&sources);
        let (config, mut findings) = read_config(arguments)?;
        findings.splice(0..0, reading.diagnostics);
        let mut verdict = report(&findings, arguments.strict);
        let cluster = reading.cluster;
        if cluster == Cluster::default() {
            return Err(Failure::NothingRead);
        }
        let node = node_name(arguments, &config, &cluster)?;
        if cluster.node(&node).is_none() {
            let finding = Diagnostic::about_cluster(format!(
                "there is no Node {node}: kube-proxy goes on without one, takes its address to be \
                 loopback and every endpoint to be elsewhere"
            ));
            verdict = worse(verdict, report(&[finding], arguments.strict));
        }
        let view =
            |family| kps_model::view(&cluster, &config, &node, arguments.kube_version, family);
        let views = Family::BOTH.map(view).into();
        Ok(Proxied { mode: config.mode, views, cluster, verdict })
    }
}

impl Node {
    /// Loads a node from objects, dumps or both: with both, rules come from the dumps and what the
    /// dumps lack of the host from the objects.
    ///
    /// # Errors
    /// If there is nothing to load, or it cannot be read.
    pub fn load(arguments: &NodeArgs) -> Result<Node, Failure> {
        let has_objects = !arguments.cluster.cluster.is_empty();
        let proxied = match (&arguments.dump, has_objects) {
            (Some(_), false) => None,
            _ => Some(Proxied::load(&arguments.cluster)?),
        };
        let state = match (&arguments.dump, &proxied) {
            (Some(dir), _) => read_dump(dir, proxied.as_ref())?,
            (None, Some(proxied)) => rendered(proxied),
            (None, None) => return Err(Failure::NoInput),
        };
        Ok(Node { proxied, state })
    }

    /// Returns what the diagnostics on objects came to.
    pub fn verdict(&self) -> Verdict {
        self.proxied.as_ref().map_or(Verdict::Fine, |proxied| proxied.verdict)
    }
}

/// Renders a node's state; a sync that fails is reported.
pub fn rendered(proxied: &Proxied) -> NodeState {
    let (state, errors) = node_state(&proxied.views, proxied.mode);
    for error in errors {
        let _ = writeln!(anstream::stderr(), "warning: {error}");
    }
    state
}

fn source(path: &Path) -> Source {
    if path == Path::new("-") { Source::Stdin } else { Source::Path(path.to_owned()) }
}

fn read_config(arguments: &ClusterArgs) -> Result<(Config, Vec<Diagnostic>), Failure> {
    let (file, text) = match &arguments.config {
        None => (PathBuf::new(), String::new()),
        Some(file) => (file.clone(), fs::read_to_string(file).map_err(Failure::file(file))?),
    };
    config::read(&file.display().to_string(), &text, arguments.mode)
        .map_err(|source| Failure::Config { file, source })
}

fn node_name(
    arguments: &ClusterArgs,
    config: &Config,
    cluster: &Cluster,
) -> Result<String, Failure> {
    if let Some(name) = arguments.node.as_ref().or(config.hostname_override.as_ref()) {
        return Ok(name.clone());
    }
    let names: Vec<String> = cluster.node_names().map(str::to_owned).collect();
    match names.as_slice() {
        [] => Err(Failure::NoNode),
        [only] => Ok(only.clone()),
        _ => Err(Failure::WhichNode(names)),
    }
}

/// Writes findings to standard error.
fn report(findings: &[Diagnostic], strict: bool) -> Verdict {
    let mut err = anstream::stderr().lock();
    for finding in findings {
        let _ = writeln!(err, "{finding}");
    }
    let wrong = findings.iter().any(|finding| finding.severity >= Severity::Warning);
    if strict && wrong { Verdict::Findings } else { Verdict::Fine }
}

fn worse(a: Verdict, b: Verdict) -> Verdict {
    if a == Verdict::Findings { a } else { b }
}

fn read_dump(dir: &Path, proxied: Option<&Proxied>) -> Result<NodeState, Failure> {
    let dump = NodeState::read_dump(dir).map_err(Failure::file(dir))?;
    let mut err = anstream::stderr().lock();
    for error in &dump.errors {
        let _ = writeln!(err, "warning: {}: {error}", dir.display());
    }
    let rules = ["nft.txt", "iptables-save.txt", "ip6tables-save.txt", "ipvsadm-save.txt"];
    if rules.iter().all(|file| dump.missing.contains(file)) {
        return Err(Failure::Usage(format!(
            "{} holds no rules: {}",
            dir.display(),
            rules.join(", ")
        )));
    }
    let mut state = dump.state;
    if let Some(proxied) = proxied {
        complete(&mut state, &kps_render::host(&proxied.views));
    }
    Ok(state)
}

/// Fills in what a dump does not say of the host.
fn complete(state: &mut NodeState, host: &kps_ruleset::host::Host) {
    if state.host.addresses.is_empty() {
        state.host.addresses.clone_from(&host.addresses);
    }
    if state.host.routes.is_empty() {
        state.host.routes.clone_from(&host.routes);
    }
    for (name, value) in &host.sysctls {
        state.host.sysctls.entry(name.clone()).or_insert_with(|| value.clone());
    }
}
