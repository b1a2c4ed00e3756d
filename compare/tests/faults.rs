//! Reported faults: what the lints say of each input is what `docs/faults.md` says, and its packets
//! end as the kernel had them end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod recorded;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kps_compare::lint::{Lint, Scene, Subject, about_cluster, about_node};
use kps_flow::Family;
use kps_model::{Cluster, Config, KubeVersion, Mode, NodeView, Source};
use kps_render::{SyncError, node_state};
use kps_ruleset::NodeState;
use kps_sim::Walker;
use recorded::differences;

const MODES: [Mode; 3] = [Mode::Iptables, Mode::Nftables, Mode::Ipvs];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folders of the faults, in order.
fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("snapshots/faults")).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    cases
}

fn name(case: &Path) -> String {
    case.file_name().unwrap().to_string_lossy().into_owned()
}

/// A fault's input as a proxier of a mode sees it.
struct Given {
    cluster: Cluster,
    config: Config,
    views: Vec<NodeView>,
    state: NodeState,
}

const NODE: &str = "node-a";

fn given(case: &Path, mode: Mode) -> Given {
    let cluster = kps_model::read(&[Source::Path(case.join("cluster.yaml"))]).cluster;
    let text = fs::read_to_string(case.join("config.yaml")).unwrap();
    let (config, _) = kps_model::config::read("config.yaml", &text, Some(mode)).unwrap();
    let seen = |family| kps_model::view(&cluster, &config, NODE, KubeVersion::NEWEST, family);
    let mut views = Family::BOTH.map(seen).to_vec();
    // A node that kube-proxy knows by another name has its interfaces all the same.
    if cluster.node(NODE).is_none() {
        let named = cluster.node_names().next().unwrap();
        for view in &mut views {
            let real = kps_model::view(&cluster, &config, named, KubeVersion::NEWEST, view.family);
            view.interface_addresses = real.interface_addresses;
            view.pod_cidrs = real.pod_cidrs;
        }
    }
    let (state, errors) = node_state(&views, mode);
    // What iptables-nft refuses, the state has as iptables-legacy takes it.
    let fails = |error: &SyncError| !matches!(error, SyncError::Variant { .. });
    assert!(!errors.iter().any(fails), "{}: {errors:?}", name(case));
    Given { cluster, config, views, state }
}

fn found(case: &Path) -> BTreeSet<String> {
    let of_mode = |mode| {
        let given = given(case, mode);
        let scene = Scene::new(Subject {
            cluster: &given.cluster,
            config: &given.config,
            node: NODE,
            views: &given.views,
            state: &given.state,
            failures: &[],
        });
        let findings = [about_cluster(&scene), about_node(&scene)].concat();
        findings.into_iter().map(|finding| finding.lint.to_string()).collect::<Vec<_>>()
    };
    MODES.into_iter().flat_map(of_mode).collect()
}

#[test]
fn the_table_of_faults_says_what_is_found() {
    let table = fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let mut wrong = Vec::new();
    for case in cases() {
        let ids: Vec<String> = found(&case).into_iter().collect();
        let start = format!("| {} | {} |", name(&case), ids.join(", "));
        if !table.lines().any(|line| line.starts_with(&start)) {
            wrong.push(start);
        }
    }
    assert!(wrong.is_empty(), "docs/faults.md lacks:\n{}", wrong.join("\n"));
}

#[test]
fn packets_end_as_recorded() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases() {
        let text = fs::read_to_string(case.join("flows.jsonl")).unwrap();
        for mode in MODES {
            let given = given(&case, mode);
            let walker = Walker::new(&given.state);
            let (number, differing) = differences(&text, mode, &walker);
            compared += number;
            let named = |why| format!("{} {mode}: {why}", name(&case));
            wrong.extend(differing.into_iter().map(named));
        }
    }
    assert!(compared > 500, "only {compared} packets are compared");
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_lint_has_its_place_in_the_table_of_what_is_asked() {
    let text = fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let (_, table) = text.split_once("## What is asked").unwrap();
    let words: BTreeSet<&str> = table.split(|c: char| !(c.is_alphanumeric() || c == '-')).collect();
    let absent: Vec<_> =
        Lint::ALL.iter().map(|lint| lint.about().id).filter(|id| !words.contains(id)).collect();
    assert!(absent.is_empty(), "docs/faults.md lacks {absent:?}");
}
