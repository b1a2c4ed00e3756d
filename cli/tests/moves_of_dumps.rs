//! `sim diff` with the rules that a node was found to have: those of others count, and are told.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CLUSTER: [&str; 5] =
    ["examples/shop/cluster.yaml", "--config", "examples/shop/config.yaml", "--node", "worker-1"];

fn sim(arguments: &[&str]) -> (Option<i32>, String) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output =
        Command::new(env!("CARGO_BIN_EXE_sim")).args(arguments).current_dir(root).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Leaves a node's dumps in a directory, with a rule more at the end of its filter table.
fn dumped(name: &str, rule: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    let out = directory.to_str().unwrap();
    let render = [&["render"], &CLUSTER[..], &["--mode", "iptables", "--out", out]].concat();
    assert_eq!(sim(&render).0, Some(0));
    let file = directory.join("iptables-save.txt");
    let text = fs::read_to_string(&file).unwrap();
    let (before, filter) = text.split_once("*filter").unwrap();
    let filter = filter.replacen("COMMIT", &format!("{rule}\nCOMMIT"), 1);
    fs::write(&file, format!("{before}*filter{filter}")).unwrap();
    directory
}

fn moved(directory: &Path, more: &[&str]) -> (Option<i32>, String) {
    let dump = ["--dump", directory.to_str().unwrap()];
    sim(&[&["diff"], &CLUSTER[..], &dump, more].concat())
}

#[test]
fn rules_that_are_kube_proxys_own_are_no_cause() {
    let directory = dumped("own", "");
    let (code, text) = moved(&directory, &["--from", "iptables", "--to", "iptables"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("no difference in "), "{text}");
}

#[test]
fn rules_of_others_are_a_cause() {
    let rule = "-A FORWARD -d 10.244.0.12/32 -p tcp -m tcp --dport 8443 -j DROP";
    let directory = dumped("others", rule);
    let (code, text) = moved(&directory, &["--from", "iptables", "--to", "nftables"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("from iptables 1.37, as dumped to nftables 1.37"), "{text}");
    let told = text.split("opens rules: ").nth(1).unwrap();
    assert!(told.contains("-p tcp -m tcp --dport 8443 -j DROP - drops the packet"), "{told}");
    assert!(!text.contains("unexplained"), "{text}");
}

#[test]
fn rules_of_others_that_name_kube_proxys_chains_are_told() {
    let rule = "-A INPUT -s 198.51.100.7/32 -j KUBE-FORWARD";
    let directory = dumped("naming", rule);
    let (_, text) = moved(&directory, &["--from", "iptables", "--to", "nftables"]);
    let told = text.split("D35: ").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(told.contains("here: filter INPUT -s 198.51.100.7/32 -j KUBE-FORWARD"), "{told}");
    assert_eq!(told.matches("here: ").count(), 1, "{told}");
}
