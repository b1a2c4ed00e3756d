//! Real listings are read and printed back byte for byte.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use std::fs;
use std::path::{Path, PathBuf};

use kps_ruleset::nftables::{
    Ruleset, Statement, compare, parse_ruleset, parse_script, print_ruleset, print_script,
};

fn snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/nftables")
}

/// The listings that kube-proxy made, by name.
fn kube_proxy_listings() -> Vec<(String, String)> {
    let mut listings: Vec<(String, String)> = fs::read_dir(snapshots().join("kube-proxy"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|dir| {
            let name = dir.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(dir.join("nft.txt")).unwrap())
        })
        .collect();
    listings.sort();
    assert!(listings.len() > 50, "the listings are there");
    listings
}

fn unsupported(ruleset: &Ruleset) -> Vec<String> {
    let rules = ruleset.tables.iter().flat_map(|t| t.chains.values()).flat_map(|c| &c.rules);
    rules
        .flat_map(|rule| &rule.statements)
        .filter_map(|statement| match statement {
            Statement::Unsupported(u) => Some(u.text.to_string()),
            _ => None,
        })
        .collect()
}

#[track_caller]
fn assert_same_lines(name: &str, theirs: &str, ours: &str) {
    for (number, (theirs, ours)) in theirs.lines().zip(ours.lines()).enumerate() {
        assert_eq!(ours, theirs, "{name}, line {}", number + 1);
    }
    assert_eq!(ours.len(), theirs.len(), "{name}");
}

#[test]
fn kube_proxy_listings_print_byte_for_byte() {
    for (name, text) in kube_proxy_listings() {
        let parsed = parse_ruleset(&text);
        assert_eq!(parsed.errors, [], "{name}");
        assert_eq!(unsupported(&parsed.value), [""; 0], "{name}");
        assert_same_lines(&name, &text, &print_ruleset(&parsed.value));
    }
}

#[test]
fn every_statement_prints_as_nft_prints_it() {
    let text = fs::read_to_string(snapshots().join("statements/nft.txt")).unwrap();
    let parsed = parse_ruleset(&text);
    assert_eq!(parsed.errors, []);
    insta::assert_snapshot!(unsupported(&parsed.value).join("\n"));
    assert_same_lines("statements", &text, &print_ruleset(&parsed.value));
}

#[test]
fn sets_and_priorities_print_as_nft_prints_them() {
    let text = fs::read_to_string(snapshots().join("sets/nft.txt")).unwrap();
    let parsed = parse_ruleset(&text);
    assert_eq!(parsed.errors, []);
    assert_same_lines("sets", &text, &print_ruleset(&parsed.value));
}

#[test]
fn scripts_of_listings_make_the_same_rule_set() {
    for (name, text) in kube_proxy_listings() {
        let listed = parse_ruleset(&text).value;
        let mut commands = Vec::new();
        for table in listed.tables.clone() {
            commands.extend(table.into_commands());
        }
        let script = parse_script(&print_script(&commands));
        assert_eq!(script.errors, [], "{name}");
        let mut ruleset = Ruleset::default();
        ruleset.apply(&script.value).unwrap();
        assert_eq!(compare(&listed, &ruleset), [], "{name}");
    }
}
