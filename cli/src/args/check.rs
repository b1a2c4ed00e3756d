//! `sim check`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::NodeArgs;

/// `sim check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 1 means a finding that is a warning or an error; notes count with --strict.

Examples:
  kubectl get svc,endpointslices,nodes -A -o yaml | sim check - --mode nftables --all-nodes
  sim check cluster.yaml --mode ipvs --node worker-1 --output junit > check.xml
  sim check cluster.yaml --node worker-1 --sysctl net.ipv4.ip_local_port_range='32768 60999'
  sim check cluster.yaml --mode nftables --node worker-1 --events events.yaml
  sim check --list")]
pub struct Check {
    /// Objects, and dumps to take the rules from.
    #[command(flatten)]
    pub node: NodeArgs,
    /// A sysctl of the node, in the place of what is assumed or dumped; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub sysctl: Vec<(String, String)>,
    /// What happens after the first sync: a list of `apply: OBJECT`, `delete: {kind, namespace, name}`,
    /// `stop: {}` and `restart: {config: {}}`. Tells what each event brings that was not found before
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dump", "all_nodes", "sysctl"])]
    pub events: Option<PathBuf>,
    /// How to write findings
    #[arg(long, value_enum, default_value_t = CheckOutput::Text)]
    pub output: CheckOutput,
    /// List every lint with what it means, and stop
    #[arg(long)]
    pub list: bool,
}

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckOutput {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For CI: a test case a lint, a failure a finding.
    Junit,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, as sysctl takes it")?;
    Ok((name.trim().replace('/', "."), value.trim().to_owned()))
}
