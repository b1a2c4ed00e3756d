//! The recorded clusters: objects, configuration, and what the real kube-proxy installed.
//!
//! `KPS_SNAPSHOTS` names another folder than `snapshots`, with recordings that were just made.

use std::env;
use std::path::{Path, PathBuf};

use kps_flow::Family;
use kps_model::{KubeVersion, Mode, NodeView, Source, config, read, view};

/// One recording: a cluster under one release in one mode.
pub struct Case {
    /// The folder with the dumps.
    pub dumps: PathBuf,
    /// What the two proxiers of the node see.
    pub views: Vec<NodeView>,
}

/// Returns all recordings of a mode, of which `stored` or more are kept in `snapshots`.
pub fn cases(mode: Mode, stored: usize) -> Vec<Case> {
    let other = env::var_os("KPS_SNAPSHOTS").map(PathBuf::from);
    let least = if other.is_some() { 1 } else { stored };
    let snapshots =
        other.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots"));
    let cases = recordings(&snapshots.join("corpus"), mode);
    assert!(cases.len() >= least, "there are only {} recordings", cases.len());
    cases
}

fn recordings(root: &Path, mode: Mode) -> Vec<Case> {
    let mut cases = Vec::new();
    for cluster in folders(root) {
        for release in folders(&cluster) {
            let dumps = release.join(mode.as_str());
            if dumps.is_dir() {
                let version = release.file_name().unwrap().to_str().unwrap().parse().unwrap();
                cases.push(Case { views: views(&cluster, mode, version), dumps });
            }
        }
    }
    cases
}

/// Returns what the proxiers of both families see on the node under test.
fn views(cluster: &Path, mode: Mode, version: KubeVersion) -> Vec<NodeView> {
    let reading = read(&[Source::Path(cluster.join("cluster.yaml"))]);
    assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    let text = std::fs::read_to_string(cluster.join("config.yaml")).unwrap();
    let (config, _) = config::read("config.yaml", &text, Some(mode)).unwrap();
    let of = |family| view(&reading.cluster, &config, "node-a", version, family);
    Family::BOTH.map(of).into()
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}
