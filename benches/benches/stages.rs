//! Each stage at scale: reading, the view, rules in each mode, printing, parsing, walking.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]
#![allow(clippy::unwrap_used, reason = "a benchmark may fail")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kps_benches::yaml;
use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_model::read::read_text;
use kps_model::{Config, KubeVersion, Mode, NodeView, view};
use kps_render::{iptables, ipvs, nftables, node_state};
use kps_ruleset::nftables::{parse_ruleset, print_ruleset, print_script};
use kps_sim::{Options, Walker};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SCALES: [u32; 2] = [1_000, 10_000];
const ENDPOINTS: u32 = 10;

fn name(services: u32) -> String {
    format!("{}k-services-x{ENDPOINTS}", services / 1000)
}

fn seen(text: &str, mode: Mode) -> NodeView {
    let cluster = read_text("cluster", text).cluster;
    let config = Config { mode, ..Config::default() };
    view(&cluster, &config, "node-a", KubeVersion::NEWEST, Family::V4)
}

fn reading(c: &mut Criterion) {
    let mut group = c.benchmark_group("model");
    group.sample_size(10);
    for services in SCALES {
        let text = yaml(services, ENDPOINTS);
        let cluster = read_text("cluster", &text).cluster;
        let config = Config::default();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("read-yaml", name(services)), |b| {
            b.iter(|| read_text("cluster", black_box(&text)));
        });
        group.throughput(Throughput::Elements(u64::from(services)));
        group.bench_function(BenchmarkId::new("view", name(services)), |b| {
            b.iter(|| view(&cluster, &config, "node-a", KubeVersion::NEWEST, Family::V4));
        });
    }
}

fn rendering(c: &mut Criterion) {
    let mut group = c.benchmark_group("render");
    group.sample_size(10);
    for services in SCALES {
        let view = seen(&yaml(services, ENDPOINTS), Mode::Nftables);
        group.throughput(Throughput::Elements(u64::from(services)));
        group.bench_function(BenchmarkId::new("nftables", name(services)), |b| {
            b.iter(|| nftables::plan(black_box(&view)));
        });
        group.bench_function(BenchmarkId::new("iptables", name(services)), |b| {
            b.iter(|| iptables::plan(black_box(&view)));
        });
        group.bench_function(BenchmarkId::new("ipvs", name(services)), |b| {
            b.iter(|| ipvs::plan(black_box(&view)));
        });
    }
}

fn language(c: &mut Criterion) {
    let mut group = c.benchmark_group("nftables");
    group.sample_size(10);
    for services in SCALES {
        let view = seen(&yaml(services, ENDPOINTS), Mode::Nftables);
        let commands = nftables::plan(&view).into_commands();
        let ruleset = nftables::plan(&view).into_ruleset().unwrap();
        let text = print_ruleset(&ruleset);
        group.throughput(Throughput::Elements(commands.len() as u64));
        group.bench_function(BenchmarkId::new("apply", name(services)), |b| {
            b.iter(|| nftables::plan(&view).into_ruleset().unwrap());
        });
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("print-list", name(services)), |b| {
            b.iter(|| print_ruleset(black_box(&ruleset)));
        });
        group.bench_function(BenchmarkId::new("print-script", name(services)), |b| {
            b.iter(|| print_script(black_box(&commands)));
        });
        group.bench_function(BenchmarkId::new("parse", name(services)), |b| {
            b.iter(|| parse_ruleset(black_box(&text)));
        });
    }
}

fn walking(c: &mut Criterion) {
    let mut group = c.benchmark_group("walk");
    for services in SCALES {
        let view = seen(&yaml(services, ENDPOINTS), Mode::Nftables);
        let destination = view.ports[view.ports.len() / 2].port.cluster_ip;
        let (state, _) = node_state(&[view], Mode::Nftables);
        let walker = Walker::new(&state);
        let flow = Flow {
            client: ClientClass::Pod,
            interface: Some("veth0".into()),
            source: "10.128.255.1".parse().ok(),
            source_port: Flow::DEFAULT_SOURCE_PORT,
            protocol: Protocol::Tcp,
            destination,
            port: 80,
        };
        let options = Options::default();
        group.bench_function(BenchmarkId::new("nftables", name(services)), |b| {
            b.iter(|| walker.walk(black_box(&flow), &options));
        });
    }
}

criterion_group!(stages, reading, rendering, language, walking);
criterion_main!(stages);
