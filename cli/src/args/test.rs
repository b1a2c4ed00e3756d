//! `sim test`, as typed.

use std::path::PathBuf;

use clap::Args;
use kps_model::{KubeVersion, Mode};

use super::{CheckOutput, ClusterArgs};

/// `sim test`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file of expectations:
  clusters: [cluster.yaml]          # relative to the file; also config, kubeVersion
  modes: [iptables, nftables]
  nodes: [worker-1]
  expectations:
  - name: pods reach the catalogue
    from: pod                       # as --from of sim trace
    to: svc:shop/catalog:http       # as --to of sim trace
    expect: endpoints               # or refused, dropped, host, onward
    endpoints: ['pod:shop/catalog-0', '10.244.1.21:8080']   # these, and no other
    shares: even                    # or {'10.244.1.21:8080': 1/2, ...}
    source: kept                    # or masqueraded, or an address

What is given here wins over the file; --mode and --node leave out what is expected of others.

Examples:
  sim test expectations.yaml
  kubectl get svc,endpointslices,nodes -A -o yaml | sim test expectations.yaml -
  sim test expectations.yaml --mode nftables --all-nodes --output junit > test.xml")]
pub struct Test {
    /// The expectations, in YAML or JSON
    #[arg(value_name = "EXPECTATIONS")]
    pub expectations: PathBuf,
    /// Objects: files, directories, or `-` for standard input [default: `clusters` of the file]
    #[arg(value_name = "CLUSTER")]
    cluster: Vec<PathBuf>,
    /// Hold them in this mode only [default: `modes` of the file, else the configuration's]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,
    /// Hold them on this node only [default: `nodes` of the file, else the only Node]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Hold those that name no node on every one
    #[arg(long, conflicts_with = "node")]
    all_nodes: bool,
    /// A KubeProxyConfiguration, or some of its fields
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The release of kube-proxy: 1.34, 1.35, 1.36 or 1.37
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<KubeVersion>,
    /// Exit with 1 if anything was wrong with an object
    #[arg(long)]
    strict: bool,
    /// How to write what was found
    #[arg(long, value_enum, default_value_t = CheckOutput::Text)]
    pub output: CheckOutput,
}

impl Test {
    /// Returns where objects come from: what was typed, else what the file says. `all_nodes` is for
    /// a file in which every expectation names its nodes.
    pub fn cluster(&self, suite: &kps_compare::expect::Suite, all_nodes: bool) -> ClusterArgs {
        let beside = |path: &PathBuf| self.expectations.with_file_name("").join(path);
        let cluster = match self.cluster.as_slice() {
            [] => suite.clusters.iter().map(beside).collect(),
            typed => typed.to_vec(),
        };
        ClusterArgs {
            cluster,
            mode: self.mode,
            node: self.node.clone(),
            all_nodes: self.node.is_none() && (self.all_nodes || all_nodes),
            config: self.config.clone().or_else(|| suite.config.as_ref().map(beside)),
            kube_version: self.kube_version.or(suite.kube_version).unwrap_or(KubeVersion::NEWEST),
            strict: self.strict,
        }
    }
}
