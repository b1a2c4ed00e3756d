//! What `sim render --out` leaves in a directory: the files of a node dump, which `--dump` reads.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn sim(arguments: &[&str]) -> Output {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    Command::new(env!("CARGO_BIN_EXE_sim")).args(arguments).current_dir(root).output().unwrap()
}

fn rendered(mode: &str, node: &[&str]) -> PathBuf {
    // Tests run side by side, so each has a directory of its own.
    let name = format!("rendered-{mode}{}", node.concat());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    let out = directory.to_str().unwrap();
    let fixed = ["render", "examples/shop/cluster.yaml", "--mode", mode, "--out", out];
    let output = sim(&[&fixed, node].concat());
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    directory
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn each_mode_leaves_the_files_of_its_tools() {
    let of = |mode| names(&rendered(mode, &["--node", "worker-1"]));
    assert_eq!(of("nftables"), ["nft.json", "nft.txt"]);
    assert_eq!(of("iptables"), ["ip6tables-save.txt", "iptables-save.txt"]);
    assert_eq!(
        of("ipvs"),
        [
            "addr.txt",
            "ip6tables-save.txt",
            "ipset-save.txt",
            "iptables-save.txt",
            "ipvsadm-save.txt"
        ]
    );
}

#[test]
fn every_node_gets_a_directory() {
    let directory = rendered("nftables", &["--all-nodes"]);
    assert_eq!(names(&directory), ["worker-1", "worker-2", "worker-3"]);
    assert_eq!(names(&directory.join("worker-2")), ["nft.json", "nft.txt"]);
}

#[test]
fn rendered_files_answer_as_the_objects_do() {
    let directory = rendered("nftables", &["--node", "worker-3"]);
    let flows = ["--flows", "examples/shop/flows.jsonl"];
    let objects = ["examples/shop/cluster.yaml", "--mode", "nftables", "--node", "worker-3"];
    let dump = ["--dump", directory.to_str().unwrap()];
    let from_objects = sim(&[&["walk"][..], &objects, &flows].concat());
    let from_files = sim(&[&["walk"][..], &objects, &dump, &flows].concat());
    assert!(from_objects.status.success() && !from_objects.stdout.is_empty());
    assert_eq!(from_objects.stdout, from_files.stdout);
}
