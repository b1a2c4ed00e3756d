//! Proofs at scale: two modes of a cluster compared for all packets, in memory; beside them what the
//! tools of the rule languages take to check the same rules without loading them. They need a network
//! namespace of their own, and are left out where there is none.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]
#![allow(clippy::unwrap_used, reason = "a benchmark may fail")]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kps_benches::spread_yaml;
use kps_flow::Family;
use kps_model::read::read_text;
use kps_model::{Config, KubeVersion, Mode, NodeView, view};
use kps_render::{iptables, nftables, node_state};
use kps_ruleset::NodeState;
use kps_ruleset::iptables::{Family as Stack, print_restore};
use kps_ruleset::nftables::print_script;
use kps_sim::Walker;
use kps_sim::prove::prove;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SCALES: [u32; 3] = [100, 1_000, 10_000];
const ENDPOINTS: u32 = 10;
const PAIRS: [(Mode, Mode); 3] =
    [(Mode::Iptables, Mode::Nftables), (Mode::Ipvs, Mode::Nftables), (Mode::Iptables, Mode::Ipvs)];

fn seen(text: &str, mode: Mode) -> NodeView {
    let cluster = read_text("cluster", text).cluster;
    let config = Config { mode, ..Config::default() };
    // The tools know no nfacct objects that are not there.
    let view = view(&cluster, &config, "node-a", KubeVersion::NEWEST, Family::V4);
    NodeView { nfacct: false, ..view }
}

fn state(text: &str, mode: Mode) -> NodeState {
    node_state(&[seen(text, mode)], mode).0
}

fn proving(c: &mut Criterion) {
    let mut group = c.benchmark_group("prove");
    group.sample_size(10);
    for services in SCALES {
        let text = spread_yaml(services, ENDPOINTS);
        group.throughput(Throughput::Elements(u64::from(services)));
        for (from, to) in PAIRS {
            let (left, right) = (state(&text, from), state(&text, to));
            let id = BenchmarkId::new(format!("{from}-{to}"), services);
            group.bench_function(id, |b| {
                b.iter(|| prove(&Walker::new(black_box(&left)), &Walker::new(&right)));
            });
        }
    }
}

/// Runs a tool on a file in a network namespace of its own; false if it does not take it.
fn takes(tool: &[&str], file: &Path) -> bool {
    let mut command = Command::new("unshare");
    command.arg("-n").args(tool).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn checking(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    group.sample_size(10);
    for services in SCALES {
        let text = spread_yaml(services, ENDPOINTS);
        let script = print_script(&nftables::plan(&seen(&text, Mode::Nftables)).into_commands());
        let transactions = iptables::plan(&seen(&text, Mode::Iptables)).into_restore();
        let restore = print_restore(&transactions, Stack::Ipv4);
        let peers: [(&str, &[&str], String); 2] = [
            ("nft -c", &["nft", "-c", "-f"], script),
            ("iptables-restore --test", &["iptables-restore", "--test"], restore),
        ];
        group.throughput(Throughput::Elements(u64::from(services)));
        for (name, tool, rules) in peers {
            let file = written(services, tool, &rules);
            if takes(tool, &file) {
                let id = BenchmarkId::new(name, services);
                group.bench_function(id, |b| b.iter(|| takes(tool, &file)));
            } else {
                eprintln!("left out: {name} does not take {}", file.display());
            }
        }
    }
}

fn written(services: u32, tool: &[&str], rules: &str) -> PathBuf {
    let name = format!("kps-{}-{services}.rules", tool.first().unwrap());
    let file = std::env::temp_dir().join(name);
    fs::write(&file, rules).unwrap();
    file
}

criterion_group!(proofs, proving, checking);
criterion_main!(proofs);
