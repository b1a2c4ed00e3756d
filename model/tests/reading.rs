//! Objects are read alike, however they are written.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;

use kps_model::read::read_text;
use kps_model::{Cluster, Source, read};
use proptest::prelude::*;

fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/corpus");
    let entries = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.map(|folder| folder.join("cluster.yaml")).filter(|file| file.exists());
    files.map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

fn objects(text: &str) -> Vec<serde_json::Value> {
    let list: serde_json::Value = serde_norway::from_str(text).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// Reads a text that must have nothing wrong with it.
fn cluster(name: &str, text: &str) -> Cluster {
    let reading = read_text(name, text);
    assert_eq!(reading.diagnostics, [], "{name}");
    reading.cluster
}

#[test]
fn every_form_of_the_recorded_clusters_reads_the_same() {
    for text in corpus() {
        let items = objects(&text);
        let whole = cluster("cut list", &text);
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
        let documents: Vec<String> =
            items.iter().map(|item| serde_norway::to_string(item).unwrap()).collect();
        let stream: String = items.iter().map(ToString::to_string).collect();
        assert_eq!(whole, cluster("json list", &list.to_string()));
        assert_eq!(whole, cluster("pretty json list", &format!("{list:#}")));
        assert_eq!(whole, cluster("flow style", &format!("# not cut\n{list}")));
        assert_eq!(whole, cluster("documents", &documents.join("---\n")));
        assert_eq!(whole, cluster("json stream", &stream));
        assert_eq!(whole, cluster("crlf", &text.replace('\n', "\r\n")));
        assert_eq!(whole, cluster("byte order mark", &format!("\u{feff}{text}")));
    }
}

#[test]
fn a_directory_is_read_in_the_order_of_its_files() {
    let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/shop");
    let one = read(&[Source::Path(shop.join("cluster.yaml"))]);
    let all = read(&[Source::Path(shop)]);
    assert_eq!(one.cluster, all.cluster);
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in "\\PC*", prefix in 0usize..400) {
        let _ = read_text("noise", &text);
        let example = include_str!("../../examples/shop/cluster.yaml");
        let cut: String = example.chars().take(prefix * 20).chain(text.chars()).collect();
        let _ = read_text("cut example", &cut);
    }

    #[test]
    fn lines_in_any_order_are_read_or_reported(order in prop::collection::vec(0usize..300, 0..60)) {
        let lines: Vec<&str> = include_str!("../../examples/shop/cluster.yaml").lines().collect();
        let text: Vec<&str> = order.iter().filter_map(|at| lines.get(*at).copied()).collect();
        let _ = read_text("shuffled", &text.join("\n"));
    }
}
