//! `sim kernel`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::{NodeArgs, Output};

/// `sim kernel`.
#[derive(Debug, Args)]
#[command(after_help = "\
It makes network namespaces, and so takes root or `unshare -Urn`, and nft, iptables-restore and ip.
Nothing outside of these namespaces is touched, and nothing is left of them. Virtual servers take
ipset, ipvsadm and a kernel with IPVS, too; if that of this machine has none, one is booted in user
mode (linux.uml and modprobe; Debian packages user-mode-linux and kmod).

Without --flows, every address and port of every Service is dialled by every kind of client, and
addresses and ports beside them. A flow is a line as `sim walk` reads it.

Exit code 1 means a difference.

Examples:
  sim kernel cluster.yaml --mode nftables --node worker-1
  sim kernel --dump dumps/ --flows flows.jsonl
  sim kernel cluster.yaml --mode iptables --node worker-1 --flows one.jsonl --reproduce scripts/")]
pub struct Kernel {
    /// Objects or dumps.
    #[command(flatten)]
    pub node: NodeArgs,
    /// The flows, a JSON object a line; `-` for standard input [default: flows at every Service]
    #[arg(long, value_name = "FILE")]
    pub flows: Option<PathBuf>,
    /// Write a shell script for each difference into this directory; with --flows, for each flow
    #[arg(long, value_name = "DIR")]
    pub reproduce: Option<PathBuf>,
    /// How to write what was found
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}
