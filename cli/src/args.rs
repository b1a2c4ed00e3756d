//! The command line, as typed.

mod check;
mod diff;
mod drift;
mod kernel;
mod test;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kps_model::{KubeVersion, Mode};

pub use check::{Check, CheckOutput};
pub use diff::{Diff, DiffOutput};
pub use drift::{Asked, Drift, Guess};
pub use kernel::Kernel;
pub use test::Test;

/// What kube-proxy's rules do with packets: exactly, without a cluster.
///
/// Give it what `kubectl get svc,endpointslices,nodes -A -o yaml` prints. It renders the rules that
/// kube-proxy installs on a node, walks any packet through them, and tells the exact share of each
/// endpoint.
#[derive(Debug, Parser)]
#[command(name = "sim", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the rules that kube-proxy installs on a node.
    Render(Render),
    /// Tell the story of one packet: hook by hook, rule by rule, and the final word first.
    Trace(Trace),
    /// Answer what happens to many packets, a JSON line for each.
    Walk(Walk),
    /// Show how connections spread over the endpoints of a Service: exact shares, and a draw.
    Balance(Balance),
    /// Look for what is wrong with Services: promises that rules break, and known faults.
    Check(Check),
    /// Hold the rules that a node has against those that it should have.
    Drift(Drift),
    /// Tell how large a node's rules would get, in each mode.
    Whatif(Whatif),
    /// Compare two modes, releases or configurations: what a move changes for packets, and why.
    Diff(Diff),
    /// Hold what was written down about packets against the rules: reachability as code.
    Test(Test),
    /// Send the same packets through the walker and through the kernel of this machine.
    #[cfg(target_os = "linux")]
    Kernel(Kernel),
    /// Answer what `sim kernel` asks of a kernel in user mode, as the init of that.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    KernelNode {
        /// Where requests are.
        folder: PathBuf,
    },
    /// Write completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Objects, and how to look at them.
#[derive(Debug, Clone, Args)]
pub struct ClusterArgs {
    /// Objects: files, directories, or `-` for standard input; YAML or JSON, as kubectl prints them
    #[arg(value_name = "CLUSTER")]
    pub cluster: Vec<PathBuf>,
    /// The mode of kube-proxy [default: that of the configuration, else iptables]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,
    /// The node to look at [default: hostnameOverride, else the only Node]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Look at every node, one after the other
    #[arg(long, conflicts_with = "node")]
    pub all_nodes: bool,
    /// A KubeProxyConfiguration, or some of its fields
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The release of kube-proxy: 1.34, 1.35, 1.36 or 1.37
    #[arg(long, value_name = "VERSION", default_value_t = KubeVersion::NEWEST)]
    pub kube_version: KubeVersion,
    /// Exit with 1 if anything was wrong with an object
    #[arg(long)]
    pub strict: bool,
}

/// Objects or dumps: whatever has rules.
#[derive(Debug, Clone, Args)]
pub struct NodeArgs {
    /// Objects.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// A directory with a node's dumps: nft.txt, iptables-save.txt, addr.txt, route.txt, …
    #[arg(long, value_name = "DIR", conflicts_with = "all_nodes")]
    pub dump: Option<PathBuf>,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// `sim render`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl get svc,endpointslices,nodes -A -o yaml | sim render - --mode nftables --node worker-1
  sim render cluster.yaml --mode nftables --node worker-1 --out rules/
  sim render cluster.yaml --mode nftables --node worker-1 --format script | sudo nft -c -f -")]
pub struct Render {
    /// Objects.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Write files named as in a node's dump into this directory; with all nodes, into DIR/NODE
    #[arg(long, value_name = "DIR", conflicts_with = "format")]
    pub out: Option<PathBuf>,
    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = Format::Dump)]
    pub format: Format,
}

/// The form of rendered rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// As the tool lists them.
    Dump,
    /// What kube-proxy feeds to the tool.
    Script,
    /// As the tool lists them in JSON (nftables).
    Json,
}

/// `sim trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Clients:
  pod           a pod on this node          pod:NS/NAME  that pod
  node          a process of the node       outside      somebody outside the cluster
  ADDRESS       whoever has that address

Examples:
  sim trace cluster.yaml --mode nftables --node worker-1 --from pod --to 10.96.0.10:53/UDP
  sim trace cluster.yaml --mode nftables --node worker-1 --from node --to svc:shop/web:http
  sim trace cluster.yaml --mode nftables --all-nodes --from outside --to 203.0.113.10:443
  sim trace --dump dumps/ --from 198.51.100.7 --to '[2001:db8::10]:30080'")]
pub struct Trace {
    /// Objects or dumps.
    #[command(flatten)]
    pub node: NodeArgs,
    /// Who sends the packet
    #[arg(long, value_name = "CLIENT")]
    pub from: String,
    /// Where to: ADDR:PORT or ADDR:PORT/PROTO, IPv6 in brackets; ADDR/ICMP; svc:NS/NAME:PORT
    #[arg(long, value_name = "ADDR:PORT[/PROTO]")]
    pub to: String,
    /// The interface by which the packet comes in [default: that of the route to the client]
    #[arg(long, value_name = "NAME")]
    pub iface: Option<String>,
    /// Which way to tell where the rules choose at random: a number from 0, or an endpoint
    #[arg(long, value_name = "N|ENDPOINT")]
    pub pick: Option<String>,
    /// What connection tracking says of the packet
    #[arg(long, value_enum, default_value_t = Tracked::New)]
    pub ct: Tracked,
    /// How to write the answer
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// What connection tracking says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tracked {
    /// The first of a connection.
    New,
    /// A later one from the client.
    Established,
    /// One from the endpoint.
    Reply,
    /// Of a connection that another one announced, or an ICMP error.
    Related,
    /// Of no connection that there can be.
    Invalid,
    /// Not looked at.
    Untracked,
}

/// `sim walk`.
#[derive(Debug, Args)]
#[command(after_help = "\
A flow is a line such as
  {\"client\": \"pod\", \"src\": \"10.244.0.7\", \"in_iface\": \"veth1\", \"proto\": \"TCP\", \
\"dst\": \"10.96.0.10\", \"dport\": 53}
`src` is null for a node process that lets the kernel choose, `in_iface` empty for any node process.
The answer is a line with outcome (forwarded, passthrough, local, reject, drop, mixed or unknown),
the exact share of each endpoint, and whether its source is rewritten.

Examples:
  sim walk cluster.yaml --mode nftables --node worker-1 --flows flows.jsonl
  sim walk --dump dumps/ --flows recorded.jsonl --expect")]
pub struct Walk {
    /// Objects or dumps.
    #[command(flatten)]
    pub node: NodeArgs,
    /// The flows, a JSON object a line; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub flows: PathBuf,
    /// Compare with the outcomes in the file; exit with 1 if any differs
    #[arg(long)]
    pub expect: bool,
}

/// `sim balance`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --mode, the three modes stand side by side: numgen of nftables, statistic of iptables, and
the scheduler of IPVS, each with exact shares and with connections drawn. IPVS draws nothing at
random: its scheduler is run, connection by connection.

Examples:
  sim balance cluster.yaml --node worker-1 --service shop/web --connections 300
  sim balance cluster.yaml --mode ipvs --scheduler mh --clients 100 --service shop/web
  sim balance cluster.yaml --mode nftables --node worker-1 --service shop/web --connections 300 \
--observed 94,99,107")]
pub struct Balance {
    /// Objects.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The Service, and its port by name or number if it has several
    #[arg(long, value_name = "NS/NAME[:PORT]")]
    pub service: String,
    /// The scheduler of IPVS [default: that of the configuration, else rr]
    #[arg(long, value_name = "NAME", value_parser = SCHEDULERS)]
    pub scheduler: Option<String>,
    /// How many connections to draw
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub connections: u64,
    /// How many clients open them, in turn; with session affinity, each client stays where it is
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub clients: u64,
    /// The seed of the draw: the same seed gives the same connections
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// How often to draw, each time with the next seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub runs: u64,
    /// Counts that were seen elsewhere, to be judged by the exact shares
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    pub observed: Vec<u64>,
    /// How to write the answer
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// The schedulers of IPVS whose choices follow from what was before.
const SCHEDULERS: [&str; 13] =
    ["rr", "wrr", "lc", "wlc", "lblc", "lblcr", "sh", "dh", "sed", "nq", "mh", "fo", "ovf"];

/// `sim whatif`.
#[derive(Debug, Args)]
#[command(after_help = "\
A generated cluster has Services of type ClusterIP with one port; its growth is measured from one
Service on. With --scale, every Service of the cluster is there K times, each with its own addresses
and node ports, and all on the same pods.

Examples:
  sim whatif --services 10000 --endpoints 10
  sim whatif --services 301 --endpoints 3 --same-pods
  sim whatif cluster.yaml --node worker-1 --scale 20")]
pub struct Whatif {
    /// Objects.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// How often each Service of the cluster is there
    #[arg(long, value_name = "K", conflicts_with = "services", requires = "cluster",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub scale: Option<u32>,
    /// Generate a cluster with so many Services
    #[arg(long, value_name = "N", conflicts_with = "cluster",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub services: Option<u32>,
    /// How many endpoints each generated Service has
    #[arg(long, value_name = "E", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(..=5_000))]
    pub endpoints: u32,
    /// All generated Services have the same endpoints
    #[arg(long)]
    pub same_pods: bool,
    /// Leave the times out: the same input gives the same output
    #[arg(long)]
    pub no_times: bool,
    /// How to write the answer
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}
