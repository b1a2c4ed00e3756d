//! What real tools print is read and printed back byte for byte.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use std::fs;
use std::path::{Path, PathBuf};

use kps_ruleset::Name;
use kps_ruleset::iptables::{
    Chain, Family, Match, Ruleset, Target, parse_listing, parse_ruleset, print_listing,
    print_ruleset,
};

fn snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots")
}

/// Returns all files below a directory whose names pass a test, sorted.
fn files(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, wanted));
        } else if wanted(path.file_name().unwrap().to_str().unwrap()) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns whether a file's name ends so; the case of letters counts.
fn has_ending(name: &str, ending: &str) -> bool {
    name.ends_with(ending)
}

fn family(path: &Path) -> Family {
    let name = path.file_name().unwrap().to_str().unwrap();
    if name.contains("ip6") || name.contains("6.") { Family::Ipv6 } else { Family::Ipv4 }
}

fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect()
}

fn assert_same(path: &Path, expected: &str, printed: &str) {
    for (expected, printed) in expected.lines().zip(printed.lines()) {
        assert_eq!(expected, printed, "{}", path.display());
    }
    assert_eq!(expected, printed, "{}", path.display());
}

fn read(path: &Path) -> (String, Ruleset) {
    let text = fs::read_to_string(path).unwrap();
    let parsed = parse_ruleset(&text, family(path));
    assert_eq!(parsed.errors, [], "{}", path.display());
    (text, parsed.value)
}

fn chains(ruleset: &Ruleset) -> impl Iterator<Item = &Chain> {
    ruleset.tables.values().flat_map(|table| table.chains.values())
}

/// The extensions that were not understood, as `module options`.
fn unknown(ruleset: &Ruleset) -> Vec<String> {
    let mut unknown = Vec::new();
    for rule in chains(ruleset).flat_map(|chain| &chain.rules) {
        for m in &rule.matches {
            if let Match::Unknown(m) = m {
                unknown.push(format!("-m {} {}", m.module, m.options));
            }
        }
        if let Some(Target::Unknown(target)) = &rule.target {
            unknown.push(format!("-j {} {}", target.module, target.options));
        }
    }
    unknown.sort();
    unknown.dedup();
    unknown
}

#[test]
fn what_kube_proxy_installs_comes_back() {
    let saves = files(&snapshots().join("corpus"), &|name| has_ending(name, "tables-save.txt"));
    assert!(saves.len() >= 60, "{}", saves.len());
    for path in saves {
        let (text, ruleset) = read(&path);
        assert_same(&path, &without_comments(&text), &print_ruleset(&ruleset, false));
        assert_eq!(unknown(&ruleset), [""; 0], "{}", path.display());
    }
}

#[test]
fn tables_of_other_programs_come_back() {
    let saves = files(&snapshots().join("iptables/nodes"), &|name| {
        has_ending(name, ".save") && !has_ending(name, ".counters.save")
    });
    assert_eq!(saves.len(), 16);
    for path in saves {
        let (text, ruleset) = read(&path);
        assert_same(&path, &without_comments(&text), &print_ruleset(&ruleset, false));
    }
}

#[test]
fn counters_come_back() {
    let saves =
        files(&snapshots().join("iptables/nodes"), &|name| has_ending(name, ".counters.save"));
    assert_eq!(saves.len(), 16);
    for path in saves {
        let (text, ruleset) = read(&path);
        assert_same(&path, &without_comments(&text), &print_ruleset(&ruleset, true));
    }
}

#[test]
fn listings_come_back_with_and_without_counters() {
    let lists = files(&snapshots().join("iptables/nodes"), &|name| has_ending(name, ".list"));
    assert_eq!(lists.len(), 32);
    for path in lists {
        let text = fs::read_to_string(&path).unwrap();
        let parsed = parse_listing(&text, family(&path), "filter");
        assert_eq!(parsed.errors, [], "{}", path.display());
        let counters = path.to_str().unwrap().contains(".counters.");
        let printed =
            print_listing(&parsed.value.tables[&Name::new("filter")], family(&path), counters);
        assert_same(&path, &text, &printed);
    }
}

#[test]
fn what_is_loaded_reads_like_what_is_saved() {
    for path in files(&snapshots().join("iptables/nodes"), &|name| has_ending(name, ".rules")) {
        let (_, mut loaded) = read(&path);
        let (_, mut saved) = read(&path.with_extension("nft.save"));
        loaded.tables.sort_keys();
        saved.tables.sort_keys();
        assert_eq!(print_ruleset(&loaded, false), print_ruleset(&saved, false));
    }
}

#[test]
fn only_extensions_that_are_not_modelled_are_unknown() {
    let saves = files(&snapshots().join("iptables/nodes"), &|name| has_ending(name, ".nft.save"));
    let mut all: Vec<String> = saves.iter().flat_map(|path| unknown(&read(path).1)).collect();
    all.sort();
    insta::assert_snapshot!(all.join("\n"), @r#"
    -j NFQUEUE --queue-num 3
    -m bpf --bytecode "1,6 0 0 65535"
    -m connlimit --connlimit-above 3 --connlimit-mask 32 --connlimit-saddr
    -m hl --hl-eq 255
    -m quota --quota 1000
    -m rt --rt-type 0
    -m socket --transparent
    -m string --string "GET /x" --algo bm
    -m time --timestart 08:00:00 --timestop 17:00:00 --weekdays Mon,Tue --datestop 2038-01-19T03:14:07
    -m u32 --u32 "0x0&0xff=0x1"
    "#);
}
