//! From arguments to objects and a configuration: read once for every subcommand.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use kps_flow::Family;
use kps_model::config::DetectLocal;
use kps_model::{Cluster, Config, Diagnostic, KubeVersion, Mode, NodeView, Place, Source, config};

use crate::Verdict;
use crate::args::ClusterArgs;
use crate::error::Failure;
use crate::report::diagnostics::Reporter;

/// The objects and configuration that were given, and the nodes that were asked about.
pub struct Objects {
    /// The objects.
    pub cluster: Cluster,
    /// The nodes to look at, in the order of their objects.
    pub nodes: Vec<String>,
    /// Whether anything was wrong with an object, and somebody asked.
    pub verdict: Verdict,
    /// Where each object was read, by its name as findings print it.
    pub places: HashMap<String, Place>,
    configs: Vec<Config>,
    version: KubeVersion,
}

/// What the proxiers of one node see.
pub struct Proxied<'a> {
    /// The objects.
    pub cluster: &'a Cluster,
    /// The node.
    pub node: &'a str,
    /// The mode.
    pub mode: Mode,
    /// The configuration.
    pub config: &'a Config,
    /// The view of each family.
    pub views: Vec<NodeView>,
}

impl Objects {
    /// Reads objects and configuration, and reports what was wrong with them on standard error.
    ///
    /// # Errors
    /// If nothing could be read, the configuration is refused, or the node is not clear.
    pub fn load(arguments: &ClusterArgs) -> Result<Objects, Failure> {
        Objects::load_in(arguments, &[arguments.mode])
    }

    /// Reads objects, and the configuration once for each mode; `None` is the configuration's own.
    ///
    /// # Errors
    /// As [`Objects::load`].
    pub fn load_in(arguments: &ClusterArgs, modes: &[Option<Mode>]) -> Result<Objects, Failure> {
        if arguments.cluster.is_empty() {
            return Err(Failure::NoInput);
        }
        let sources: Vec<Source> = arguments.cluster.iter().map(|path| source(path)).collect();
        let reading = kps_model::read(&sources);
        let mut reporter = Reporter::new(arguments.strict);
        reporter.report(&reading.diagnostics);
        let (configs, findings) = read_configs(arguments, modes)?;
        reporter.report(&findings);
        let (cluster, places) = (reading.cluster, reading.places);
        if cluster == Cluster::default() {
            return Err(Failure::NothingRead);
        }
        let nodes = nodes(arguments, &configs, &cluster)?;
        reporter.report(&unknown_nodes(&nodes, &cluster));
        let version = arguments.kube_version;
        Ok(Objects { cluster, nodes, verdict: reporter.verdict(), places, configs, version })
    }

    /// Takes objects that were made, and reads the configuration once for each mode. Where it names
    /// no range of pods, `pods` is it, as installers set it.
    ///
    /// # Errors
    /// If the configuration is refused.
    pub fn made(
        arguments: &ClusterArgs,
        modes: &[Option<Mode>],
        cluster: Cluster,
        node: &str,
        pods: IpNet,
    ) -> Result<Objects, Failure> {
        let mut reporter = Reporter::new(arguments.strict);
        let (mut configs, findings) = read_configs(arguments, modes)?;
        reporter.report(&findings);
        for detect in configs.iter_mut().map(|config| &mut config.detect_local) {
            if *detect == DetectLocal::ClusterCidr(Vec::new()) {
                *detect = DetectLocal::ClusterCidr(vec![pods]);
            }
        }
        let (nodes, version) = (vec![node.to_owned()], arguments.kube_version);
        let (places, verdict) = (HashMap::new(), reporter.verdict());
        Ok(Objects { cluster, nodes, verdict, places, configs, version })
    }

    /// Returns the same nodes and configuration with another cluster.
    pub fn with(&self, cluster: Cluster) -> Objects {
        let Objects { nodes, configs, .. } = self;
        Objects {
            cluster,
            nodes: nodes.clone(),
            verdict: self.verdict,
            places: HashMap::new(),
            configs: configs.clone(),
            version: self.version,
        }
    }

    /// Returns the configuration in each mode that was asked for.
    pub fn configs(&self) -> &[Config] {
        &self.configs
    }

    /// Returns what the proxiers of each node see, one node after the other.
    pub fn proxied(&self) -> impl Iterator<Item = Proxied<'_>> {
        self.nodes.iter().flat_map(|node| self.seen_by(node))
    }

    /// Returns what the proxiers of a node see, for each mode that was asked for.
    pub fn seen_by<'a>(&'a self, node: &'a str) -> impl Iterator<Item = Proxied<'a>> {
        self.configs.iter().map(move |config| {
            let view = |family| kps_model::view(&self.cluster, config, node, self.version, family);
            let views = Family::BOTH.map(view).into();
            Proxied { cluster: &self.cluster, node, mode: config.mode, config, views }
        })
    }

    /// Takes another IPVS scheduler than the configuration's.
    pub fn schedule_by(&mut self, scheduler: &str) {
        for config in &mut self.configs {
            scheduler.clone_into(&mut config.ipvs.scheduler);
        }
    }
}

fn source(path: &Path) -> Source {
    if path == Path::new("-") { Source::Stdin } else { Source::Path(path.to_owned()) }
}

/// Reads the configuration that arguments name.
///
/// # Errors
/// If it cannot be read or is refused.
pub fn read_config(arguments: &ClusterArgs) -> Result<(Config, Vec<Diagnostic>), Failure> {
    let (configs, findings) = read_configs(arguments, &[arguments.mode])?;
    let config = configs.into_iter().next().ok_or(Failure::NothingRead)?;
    Ok((config, findings))
}

fn read_configs(
    arguments: &ClusterArgs,
    modes: &[Option<Mode>],
) -> Result<(Vec<Config>, Vec<Diagnostic>), Failure> {
    let (file, text) = match &arguments.config {
        None => (PathBuf::new(), String::new()),
        Some(file) => (file.clone(), fs::read_to_string(file).map_err(Failure::file(file))?),
    };
    let (mut configs, mut findings) = (Vec::new(), Vec::new());
    for mode in modes {
        let (config, found) = config::read(&file.display().to_string(), &text, *mode)
            .map_err(|source| Failure::Config { file: file.clone(), source })?;
        configs.push(config);
        findings.extend(found);
    }
    findings.dedup();
    Ok((configs, findings))
}

fn nodes(
    arguments: &ClusterArgs,
    configs: &[Config],
    cluster: &Cluster,
) -> Result<Vec<String>, Failure> {
    let known: Vec<String> = cluster.node_names().map(str::to_owned).collect();
    let named = arguments
        .node
        .as_ref()
        .or_else(|| configs.iter().find_map(|config| config.hostname_override.as_ref()));
    match (named, known.len()) {
        _ if arguments.all_nodes && !known.is_empty() => Ok(known),
        (Some(name), _) if !arguments.all_nodes => Ok(vec![name.clone()]),
        (_, 0) => Err(Failure::NoNode),
        (_, 1) => Ok(known),
        _ => Err(Failure::WhichNode(known)),
    }
}

fn unknown_nodes(nodes: &[String], cluster: &Cluster) -> Vec<Diagnostic> {
    let unknown = nodes.iter().filter(|node| cluster.node(node).is_none());
    let finding = |node: &String| {
        Diagnostic::about_cluster(format!(
            "there is no Node {node}: kube-proxy goes on without one, takes its address to be \
             loopback and every endpoint to be elsewhere"
        ))
    };
    unknown.map(finding).collect()
}
