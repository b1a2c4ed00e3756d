//! `sim diff`, as typed.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use kps_model::{KubeVersion, Mode};

use super::ClusterArgs;

/// `sim diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
What differs is told by cause, the worst first: what it is, where it is documented, the Services it
touches, a packet with what both sides do with it, what to do before and after moving, and settings
that would remove it, each tried. Docs: docs/diff.md, docs/diff.schema.json.

Exit code 1 means that packets fare differently, or may.

Examples:
  kubectl get svc,endpointslices,nodes -A -o yaml | sim diff - --from ipvs --to nftables --all-nodes
  sim diff cluster.yaml --from iptables@1.34 --to nftables@1.37 --node worker-1 --output html > move.html
  sim diff cluster.yaml --from nftables --to nftables --config old.yaml --to-config new.yaml
  sim diff cluster.yaml --from ipvs --to nftables --node worker-1 --dump dumps/")]
pub struct Diff {
    /// Objects: files, directories, or `-` for standard input; YAML or JSON, as kubectl prints them
    #[arg(value_name = "CLUSTER")]
    cluster: Vec<PathBuf>,
    /// The mode, and release, to move from [default mode: that of the configuration]
    #[arg(long, value_name = "MODE[@VERSION]")]
    from: Option<Stand>,
    /// The mode, and release, to move to [default mode: that of the configuration]
    #[arg(long, value_name = "MODE[@VERSION]")]
    to: Option<Stand>,
    /// The release to move from, if --from does not say it
    #[arg(long, value_name = "VERSION")]
    from_version: Option<KubeVersion>,
    /// The release to move to, if --to does not say it
    #[arg(long, value_name = "VERSION")]
    to_version: Option<KubeVersion>,
    /// A KubeProxyConfiguration, or some of its fields
    #[arg(long, value_name = "FILE", alias = "from-config")]
    config: Option<PathBuf>,
    /// The configuration to move to [default: that of --config]
    #[arg(long, value_name = "FILE")]
    to_config: Option<PathBuf>,
    /// Take the rules to move from out of a node's dumps
    #[arg(long, value_name = "DIR", conflicts_with = "all_nodes")]
    pub dump: Option<PathBuf>,
    /// Take the rules to move to out of a node's dumps
    #[arg(long, value_name = "DIR", conflicts_with = "all_nodes")]
    pub to_dump: Option<PathBuf>,
    /// Compare all packets, class by class, in place of samples: some six times slower
    #[arg(long)]
    pub proof: bool,
    /// The node to look at [default: hostnameOverride, else the only Node]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Look at every node, and tell once what is so on several
    #[arg(long, conflicts_with = "node")]
    all_nodes: bool,
    /// Exit with 1 if anything was wrong with an object
    #[arg(long)]
    strict: bool,
    /// How to write the report
    #[arg(long, value_enum, default_value_t = DiffOutput::Text)]
    pub output: DiffOutput,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffOutput {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// A page that needs nothing else.
    Html,
    /// For CI: a test case a cause, a failure if packets differ by it.
    Junit,
}

/// A mode, and the release if it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stand {
    mode: Mode,
    version: Option<KubeVersion>,
}

impl FromStr for Stand {
    type Err = String;

    /// Reads `MODE` or `MODE@VERSION`.
    fn from_str(text: &str) -> Result<Stand, String> {
        let (mode, version) = text.split_once('@').map_or((text, None), |(m, v)| (m, Some(v)));
        let mode = mode.parse().map_err(|error| format!("{error}"))?;
        let version: Option<Result<KubeVersion, _>> = version.map(str::parse);
        let version = version.transpose().map_err(|error| format!("{error}"))?;
        Ok(Stand { mode, version })
    }
}

impl Diff {
    /// Returns the objects with the side to move from, and the same with the side to move to.
    pub fn sides(&self) -> [ClusterArgs; 2] {
        let side =
            |stand: Option<Stand>, version: Option<KubeVersion>, config: &Option<PathBuf>| {
                let version = stand.and_then(|stand| stand.version).or(version);
                ClusterArgs {
                    cluster: self.cluster.clone(),
                    mode: stand.map(|stand| stand.mode),
                    node: self.node.clone(),
                    all_nodes: self.all_nodes,
                    config: config.clone(),
                    kube_version: version.unwrap_or(KubeVersion::NEWEST),
                    strict: self.strict,
                }
            };
        let to_config = if self.to_config.is_some() { &self.to_config } else { &self.config };
        [
            side(self.from, self.from_version, &self.config),
            side(self.to, self.to_version, to_config),
        ]
    }
}
