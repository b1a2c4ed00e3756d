//! `sim drift`, as typed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use kps_model::{KubeVersion, Mode};

use super::{CheckOutput, ClusterArgs};

/// `sim drift`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --config, settings such as clusterCIDR or masqueradeBit are taken from the dump: those that
fit it best. With --config they are what should be.

Exit code 1 means that something is not as it should be. What another mode left over and changes
nothing for any Service counts with --strict.

Examples:
  kubectl get svc,endpointslices,nodes -A -o yaml | sim drift - --dump dumps/ --node worker-1
  sim drift cluster.yaml --dump dumps/ --node worker-1 --config kube-proxy.yaml --mode nftables
  sim drift cluster.yaml --dump dumps-of-nodes/ --all-nodes
  sim drift cluster.yaml --dump dumps/ --node worker-1 --traces --output junit > drift.xml")]
pub struct Drift {
    /// Objects: files, directories, or `-` for standard input; YAML or JSON, as kubectl prints them
    #[arg(value_name = "CLUSTER", required = true)]
    cluster: Vec<PathBuf>,
    /// The directory with the node's dumps: nft.txt, iptables-save.txt, addr.txt, route.txt, …; with
    /// all nodes, with such a directory for each, under its name
    #[arg(long, value_name = "DIR")]
    pub dump: PathBuf,
    /// The mode of kube-proxy, or auto: the one that fits the dump best
    #[arg(long, value_name = "MODE", default_value_t = Guess::Auto)]
    pub mode: Guess<Mode>,
    /// The node to look at [default: hostnameOverride, else the only Node]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Look at every node, and tell what is the same on several once
    #[arg(long, conflicts_with_all = ["node", "traces"])]
    pub all_nodes: bool,
    /// A KubeProxyConfiguration, or some of its fields
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The release of kube-proxy: 1.34 to 1.37, or auto: the one that fits the dump best
    #[arg(long, value_name = "VERSION", default_value_t = Guess::Auto)]
    pub kube_version: Guess<KubeVersion>,
    /// Which packets to ask: some of each class, or all that open a connection, which takes longer
    #[arg(long, value_enum, default_value_t = Asked::Sampled)]
    pub packets: Asked,
    /// Exit with 1 also for what is left over and harmless, and if anything was wrong with an object
    #[arg(long)]
    pub strict: bool,
    /// Tell the story of each witness, in the dump and as it should be
    #[arg(long)]
    pub traces: bool,
    /// How to write what was found
    #[arg(long, value_enum, default_value_t = CheckOutput::Text)]
    pub output: CheckOutput,
}

/// Which packets are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Asked {
    /// Some of each class, biased to the constants of the rules.
    Sampled,
    /// One of each class that differs, too, by a proof over all packets.
    All,
}

/// Something that is given, or to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess<T> {
    /// To be found.
    Auto,
    /// Given.
    Given(T),
}

impl<T: FromStr> FromStr for Guess<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == AUTO { Ok(Guess::Auto) } else { text.parse().map(Guess::Given) }
    }
}

impl<T: fmt::Display> fmt::Display for Guess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guess::Auto => f.write_str(AUTO),
            Guess::Given(given) => given.fmt(f),
        }
    }
}

/// The word for what is to be found.
const AUTO: &str = "auto";

impl Drift {
    /// Returns where objects come from.
    pub fn cluster(&self) -> ClusterArgs {
        ClusterArgs {
            cluster: self.cluster.clone(),
            mode: None,
            node: self.node.clone(),
            all_nodes: self.all_nodes,
            config: self.config.clone(),
            kube_version: KubeVersion::NEWEST,
            strict: self.strict,
        }
    }
}
