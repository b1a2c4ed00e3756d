//! Proofs at scale: two modes of a cluster compared for all packets, in memory.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]
#![allow(clippy::unwrap_used, reason = "a benchmark may fail")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kps_benches::spread_yaml;
use kps_flow::Family;
use kps_model::read::read_text;
use kps_model::{Config, KubeVersion, Mode, view};
use kps_render::node_state;
use kps_ruleset::NodeState;
use kps_sim::Walker;
use kps_sim::prove::prove;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SCALES: [u32; 3] = [100, 1_000, 10_000];
const ENDPOINTS: u32 = 10;
const PAIRS: [(Mode, Mode); 3] =
    [(Mode::Iptables, Mode::Nftables), (Mode::Ipvs, Mode::Nftables), (Mode::Iptables, Mode::Ipvs)];

fn state(text: &str, mode: Mode) -> NodeState {
    let cluster = read_text("cluster", text).cluster;
    let config = Config { mode, ..Config::default() };
    let view = view(&cluster, &config, "node-a", KubeVersion::NEWEST, Family::V4);
    node_state(&[view], mode).0
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

criterion_group!(proofs, proving);
criterion_main!(proofs);
