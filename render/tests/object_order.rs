//! The order in which objects arrive does not matter.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;

use kps_flow::Family;
use kps_model::{Cluster, Config, KubeVersion, Mode, NodeView, Source, read, view};
use kps_render::nftables;

#[test]
fn recorded_clusters_read_backwards_give_the_same_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/corpus");
    let mut clusters = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let file = entry.unwrap().path().join("cluster.yaml");
        if !file.is_file() {
            continue;
        }
        clusters += 1;
        let mut cluster = read(&[Source::Path(file.clone())]).cluster;
        let config = Config { mode: Mode::Nftables, ..Config::default() };
        let views = |cluster: &Cluster| -> Vec<NodeView> {
            let of = |family| view(cluster, &config, "node-a", KubeVersion::NEWEST, family);
            Family::BOTH.map(of).into()
        };
        let forwards = views(&cluster);
        cluster.services.reverse();
        cluster.slices.reverse();
        cluster.nodes.reverse();
        cluster.service_cidrs.reverse();
        let backwards = views(&cluster);
        for (forwards, backwards) in forwards.iter().zip(&backwards) {
            assert_eq!(nftables::plan(forwards), nftables::plan(backwards), "{}", file.display());
        }
    }
    assert!(clusters >= 26);
}
