//! Reported faults: what the lints say of each input is what `docs/faults.md` says, and its packets
//! end as the kernel had them end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kps_compare::lint::{Scene, Subject, about_cluster, about_node};
use kps_flow::{ClientClass, Family, Flow, Outcome};
use kps_model::{Cluster, Config, KubeVersion, Mode, NodeView, Source};
use kps_render::{SyncError, node_state};
use kps_ruleset::NodeState;
use kps_sim::{Options, Walker};
use serde_json::Value;

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
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                let line: Value = serde_json::from_str(line).unwrap();
                let Some(expected) = line["expect"].get(mode.as_str()) else { continue };
                if expected["outcome"] == "unknown" || expected.get("one_of").is_some() {
                    continue;
                }
                compared += 1;
                let flow = flow(&line);
                if let Some(why) = difference(&walker, &flow, expected) {
                    wrong.push(format!("{} {mode}: {flow}: {why}", name(&case)));
                }
            }
        }
    }
    assert!(compared > 500, "only {compared} packets are compared");
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn flow(line: &Value) -> Flow {
    let interface = line["in_iface"].as_str().unwrap();
    // The kernel chose the source of node processes, but for packets that were never sent.
    let is_free = line["client"] == "node" && line.get("rules_only").is_none();
    let source = line["src"].as_str().filter(|_| !is_free);
    let client: ClientClass = serde_json::from_value(line["client"].clone()).unwrap();
    Flow {
        client,
        interface: (!interface.is_empty()).then(|| interface.to_owned()),
        source: source.map(|text| text.parse().unwrap()),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: line["proto"].as_str().unwrap().parse().unwrap(),
        destination: line["dst"].as_str().unwrap().parse().unwrap(),
        port: u16::try_from(line["dport"].as_u64().unwrap()).unwrap(),
    }
}

/// Returns how a walk ends otherwise than recorded: its outcome, or its set of endpoints.
fn difference(walker: &Walker<'_>, flow: &Flow, expected: &Value) -> Option<String> {
    let walk = walker.walk(flow, &Options { fresh: true, ..Options::default() });
    let (mut words, mut endpoints) = (BTreeSet::new(), BTreeSet::new());
    for path in &walk.paths {
        words.insert(match &path.outcome {
            Outcome::Deliver(way) => {
                endpoints.insert(way.endpoint.to_string());
                "forwarded"
            }
            Outcome::Pass(_) => "passthrough",
            Outcome::Local => "local",
            Outcome::Reject(_) => "reject",
            Outcome::Drop => "drop",
            Outcome::Unknown(_) => "unknown",
        });
    }
    let recorded = expected["outcome"].as_str().unwrap();
    let listed = expected["endpoints"].as_array();
    let wanted: BTreeSet<String> =
        listed.into_iter().flatten().map(|e| e.as_str().unwrap().to_owned()).collect();
    let is_same = words.len() == 1 && words.contains(recorded) && endpoints == wanted;
    (!is_same).then(|| format!("recorded {recorded} {wanted:?}, walked {words:?} {endpoints:?}"))
}
