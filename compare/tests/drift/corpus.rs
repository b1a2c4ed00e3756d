//! No dump that the real kube-proxy left drifts from its own cluster.

use std::path::{Path, PathBuf};

use kps_model::{KubeVersion, Source, config, read};
use kps_ruleset::NodeState;

use crate::{MODES, drift, rendered};

fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

#[test]
fn no_recorded_dump_drifts_from_its_own_cluster() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/corpus");
    let mut dumps = 0;
    for folder in folders(&root) {
        let cluster = read(&[Source::Path(folder.join("cluster.yaml"))]).cluster;
        let text = std::fs::read_to_string(folder.join("config.yaml")).unwrap();
        let configs = MODES.map(|mode| config::read("", &text, Some(mode)).unwrap().0);
        for release in folders(&folder) {
            let name = release.file_name().unwrap().to_str().unwrap();
            let version: KubeVersion = name.parse().unwrap();
            for mode in folders(&release) {
                let mut dump = NodeState::read_dump(&mode).unwrap().state;
                let own = configs.iter().find(|c| mode.ends_with(c.mode.as_str())).unwrap();
                complete(&mut dump, &rendered(&cluster, "node-a", own, version));
                let found = drift(&cluster, "node-a", &configs, &dump);
                assert_eq!(found.findings, [], "{}", mode.display());
                assert_eq!(found.fit.mode, own.mode, "{}", mode.display());
                assert!(found.fit.versions.contains(&version), "{}", mode.display());
                dumps += 1;
            }
        }
    }
    println!("{dumps} dumps without drift");
    assert!(dumps >= 100);
}

/// Gives a dump the routes that objects say.
fn complete(dump: &mut NodeState, assumed: &NodeState) {
    dump.host.routes.clone_from(&assumed.host.routes);
    dump.host.sysctls.clone_from(&assumed.host.sysctls);
}
