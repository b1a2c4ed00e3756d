//! No dump that the real kube-proxy left drifts from its own cluster.

use std::path::{Path, PathBuf};

use kps_compare::drift::{Packets, Settings, Subject, find};
use kps_model::{Cluster, Config, KubeVersion, Mode, Source, config, read};
use kps_ruleset::NodeState;

use crate::{MODES, drift, rendered};

fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// A dump that the real kube-proxy left, with what it was made from.
pub struct Recorded {
    pub name: String,
    pub cluster: Cluster,
    /// In each mode.
    pub configs: [Config; 3],
    pub mode: Mode,
    pub version: KubeVersion,
    pub dump: NodeState,
}

impl Recorded {
    pub const NODE: &str = "node-a";

    /// Returns the configuration in the mode of the dump.
    pub fn config(&self) -> &Config {
        self.configs.iter().find(|config| config.mode == self.mode).unwrap()
    }
}

/// Returns all recorded dumps.
pub fn recorded() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/corpus");
    let mut all = Vec::new();
    for folder in folders(&root) {
        let cluster = read(&[Source::Path(folder.join("cluster.yaml"))]).cluster;
        let text = std::fs::read_to_string(folder.join("config.yaml")).unwrap();
        let configs = MODES.map(|mode| config::read("", &text, Some(mode)).unwrap().0);
        for release in folders(&folder) {
            let version = last(&release).parse().unwrap();
            for dir in folders(&release) {
                let mode: Mode = last(&dir).parse().unwrap();
                let (cluster, configs) = (cluster.clone(), configs.clone());
                let dump = NodeState::read_dump(&dir).unwrap().state;
                let name = dir.display().to_string();
                let mut recorded = Recorded { name, cluster, configs, mode, version, dump };
                complete(&mut recorded);
                all.push(recorded);
            }
        }
    }
    assert!(all.len() >= 100);
    all
}

fn last(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Gives a dump the routes that objects say.
fn complete(recorded: &mut Recorded) {
    let config = recorded.config();
    let assumed = rendered(&recorded.cluster, Recorded::NODE, config, recorded.version);
    let host = &mut recorded.dump.host;
    (host.routes, host.sysctls) = (assumed.host.routes, assumed.host.sysctls);
}

#[test]
fn no_recorded_dump_drifts_from_its_own_cluster() {
    for recorded in recorded() {
        let Recorded { name, cluster, configs, mode, version, dump } = &recorded;
        let found = drift(cluster, Recorded::NODE, configs, dump);
        assert_eq!(found.findings, [], "{name}");
        assert_eq!(found.fit.mode, *mode, "{name}");
        assert!(found.fit.versions.contains(version), "{name}");
    }
}

#[test]
fn the_settings_of_recorded_dumps_are_found() {
    let configs = MODES.map(|mode| config::read("", "", Some(mode)).unwrap().0);
    let versions: Vec<KubeVersion> = KubeVersion::ALL.into_iter().rev().collect();
    // A cluster has the same settings in every release.
    let newest = |recorded: &Recorded| recorded.version == KubeVersion::NEWEST;
    for recorded in recorded().into_iter().filter(newest) {
        let Recorded { name, cluster, mode, version, dump, .. } = &recorded;
        let found = find(&Subject {
            cluster,
            node: Recorded::NODE,
            configs: &configs,
            settings: Settings::Found,
            versions: &versions,
            dump,
            unseen: &[],
            packets: Packets::Sampled,
        });
        let found = found.unwrap();
        assert_eq!(found.findings, [], "{name}: {:#?}", found.fit);
        assert_eq!(found.fit.mode, *mode, "{name}");
        assert!(found.fit.versions.contains(version), "{name}");
    }
}
