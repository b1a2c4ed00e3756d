//! The JSON form says the same as the text, and prints as nft prints it.
//!
//! `KPS_SNAPSHOTS` names another folder than `snapshots`, with recordings that were just made.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use kps_ruleset::nftables::{
    Change, Difference, Object, Ruleset, compare, parse_json, parse_ruleset, print_json,
};

fn listings(of: &str) -> Vec<(String, String, String)> {
    let stored = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots");
    let snapshots = env::var_os("KPS_SNAPSHOTS").map_or_else(stored, PathBuf::from);
    let root = snapshots.join("nftables");
    let dirs: Vec<PathBuf> = match of {
        "kube-proxy" => {
            fs::read_dir(root.join(of)).unwrap().map(|entry| entry.unwrap().path()).collect()
        }
        _ => vec![root.join(of)],
    };
    let read = |dir: PathBuf| {
        let text = fs::read_to_string(dir.join("nft.txt")).unwrap();
        let json = fs::read_to_string(dir.join("nft.json")).unwrap();
        (dir.file_name().unwrap().to_string_lossy().into_owned(), text, json)
    };
    let mut listings: Vec<_> = dirs.into_iter().map(read).collect();
    listings.sort();
    listings
}

/// Takes out what the JSON of nft 1.0.6 does not have.
fn without_what_json_lacks(mut ruleset: Ruleset) -> Ruleset {
    for table in &mut ruleset.tables {
        table.comment = None;
        table.chains.values_mut().for_each(|chain| chain.comment = None);
    }
    ruleset
}

#[test]
fn text_and_json_of_kube_proxy_are_one_tree() {
    for (name, text, json) in listings("kube-proxy") {
        let from_json = parse_json(&json);
        assert_eq!(from_json.errors, [], "{name}");
        let from_text = without_what_json_lacks(parse_ruleset(&text).value);
        assert_eq!(compare(&from_text, &from_json.value), [], "{name}");
    }
}

#[test]
fn json_of_kube_proxy_prints_byte_for_byte() {
    for (name, _, json) in listings("kube-proxy") {
        let printed = print_json(&parse_json(&json).value);
        assert_eq!(printed.len(), json.trim_end().len(), "{name}");
        assert!(printed == json.trim_end(), "{name}");
    }
}

#[test]
fn text_and_json_of_all_statements_are_one_tree() {
    let (_, text, json) = listings("statements").remove(0);
    let from_json = parse_json(&json);
    assert_eq!(from_json.errors, []);
    let from_text = without_what_json_lacks(parse_ruleset(&text).value);
    let differences = compare(&from_text, &from_json.value);
    let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn json_of_all_statements_prints_as_nft_prints_it() {
    let (_, _, json) = listings("statements").remove(0);
    let theirs: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ours: serde_json::Value =
        serde_json::from_str(&print_json(&parse_json(&json).value)).unwrap();
    let rules = |listing: &serde_json::Value| -> Vec<serde_json::Value> {
        let objects = listing["nftables"].as_array().unwrap();
        objects.iter().filter_map(|object| object.get("rule")).cloned().collect()
    };
    let (theirs, ours) = (rules(&theirs), rules(&ours));
    assert_eq!(theirs.len(), ours.len());
    let differ = |(a, b): &(&serde_json::Value, &serde_json::Value)| a["expr"] != b["expr"];
    let lines: Vec<String> = theirs
        .iter()
        .zip(&ours)
        .filter(differ)
        .map(|(a, b)| format!("nft:  {}\nours: {}", a["expr"], b["expr"]))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn broken_json_is_reported() {
    assert!(!parse_json("{\"nftables\": [").errors.is_empty());
    assert!(!parse_json("[]").errors.is_empty());
    let odd =
        r#"{"nftables": [{"rule": {"family": "ip"}}, {"table": {"family": "ip", "name": "t"}}]}"#;
    let parsed = parse_json(odd);
    assert_eq!(parsed.errors.len(), 1);
    assert_eq!(parsed.value.tables.len(), 1);
}

#[test]
fn a_missing_table_is_one_difference() {
    let full = parse_ruleset("table ip t {\n}\n").value;
    let difference = &compare(&full, &Ruleset::default())[0];
    let Difference { object: Object::Table, change: Change::Missing(_), .. } = difference else {
        panic!("{difference}")
    };
    assert_eq!(difference.to_string(), "missing table ip t");
}

/// The `nftables` crate models the same JSON. It knows no maps of verdicts, and no flags of a
/// translation that are one string; all else of ours it reads, and writes back the same.
#[test]
fn another_model_of_the_json_reads_ours() {
    let (mut read, mut foreign) = (0, 0);
    for (name, text, _) in listings("kube-proxy").into_iter().step_by(6) {
        let ours: serde_json::Value =
            serde_json::from_str(&print_json(&parse_ruleset(&text).value)).unwrap();
        for object in ours["nftables"].as_array().unwrap() {
            let text = object.to_string();
            if text.contains("\"flags\":\"") || object.get("map").is_some() {
                foreign += 1;
                continue;
            }
            let theirs: nftables::schema::NfObject<'_> = serde_json::from_value(object.clone())
                .unwrap_or_else(|e| panic!("{name}: {e}: {text}"));
            assert_eq!(
                &without_nulls(serde_json::to_value(&theirs).unwrap()),
                &without_nulls(object.clone()),
                "{name}"
            );
            read += 1;
        }
    }
    assert!(read > 10 * foreign, "{read} read, {foreign} not");
}

/// Takes out members that are null in one model and absent in the other.
fn without_nulls(json: serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::Object(members) if members.len() > 1 => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        serde_json::Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, without_nulls(value))).collect()
        }
        serde_json::Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
