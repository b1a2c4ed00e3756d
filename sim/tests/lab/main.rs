//! Flows that a real kernel decided while the real kube-proxy ran, walked again: the same outcome,
//! no endpoint that the walk thinks impossible, the same source translation for each.
//!
//! The rules are those that kube-proxy installed, not rendered ones, so that a difference is the
//! walker's.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken snapshot fails the test")]

mod record;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kps_flow::{Answer, Dataplane, Outcome, SourceNat};
use kps_ruleset::NodeState;
use kps_ruleset::host::parse::parse_routes;
use kps_sim::Walker;
use record::Record;

#[test]
fn nftables_walks_agree_with_the_kernel() {
    agrees("nftables");
}

#[test]
fn iptables_walks_agree_with_the_kernel() {
    agrees("iptables");
}

#[test]
fn ipvs_walks_agree_with_the_kernel() {
    agrees("ipvs");
}

/// Walks every recorded flow of a mode.
fn agrees(mode: &str) {
    let (mut compared, mut contested) = (0, 0);
    let mut differences = Vec::new();
    for name in clusters() {
        let state = state(&name, mode);
        let walker = Walker::new(&state);
        for record in records(&name, mode) {
            if record.contested {
                contested += 1;
                continue;
            }
            compared += 1;
            if let Err(difference) = agree(&walker, &record) {
                differences.push(format!("{name}: {record:?}: {difference}"));
            }
        }
    }
    assert!(compared > 7000 && contested < 10, "{compared} flows, {contested} contested");
    let shown: Vec<_> = differences.iter().take(20).collect();
    assert!(differences.is_empty(), "{} of {compared} differ: {shown:#?}", differences.len());
}

fn agree(walker: &Walker, record: &Record) -> Result<(), String> {
    let Answer::Exact(distribution) = walker.decide(&record.flow()) else {
        return Err("no exact answer".to_owned());
    };
    let outcomes = distribution.merged();
    let total: num_rational::BigRational = outcomes.values().sum();
    if total != num_rational::BigRational::from_integer(1.into()) {
        return Err(format!("the shares sum to {total}"));
    }
    let kinds: BTreeSet<&str> = outcomes.keys().map(|outcome| record::kind(outcome)).collect();
    if kinds.iter().copied().ne([record.outcome.as_str()]) {
        return Err(format!("walked: {outcomes:?}"));
    }
    let outcomes: Vec<&Outcome> = outcomes.into_keys().collect();
    outcomes.iter().try_for_each(|outcome| same_refusal(outcome, record))?;
    same_endpoints(&outcomes, record)
}

fn same_refusal(outcome: &Outcome, record: &Record) -> Result<(), String> {
    let Outcome::Reject(kind) = outcome else { return Ok(()) };
    if record.reject_with.iter().all(|seen| *seen == kind.to_string()) {
        return Ok(());
    }
    Err(format!("walked: {kind}"))
}

fn same_endpoints(outcomes: &[&Outcome], record: &Record) -> Result<(), String> {
    for (endpoint, seen) in &record.endpoints {
        let source = outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Deliver(d) if d.endpoint.to_string() == *endpoint => Some(d.source),
            _ => None,
        });
        let source = source.ok_or_else(|| format!("{endpoint} is not possible"))?;
        let expected = match (seen.is_translated(), source) {
            (false, SourceNat::Kept) => true,
            (true, SourceNat::Rewritten(address)) => {
                address.is_none_or(|a| seen.src.iter().all(|s| *s == a.to_string()))
            }
            _ => false,
        };
        if !expected {
            return Err(format!("{endpoint}: {source}"));
        }
    }
    Ok(())
}

/// The state that kube-proxy left, on the node of the recorded run.
fn state(name: &str, mode: &str) -> NodeState {
    let installed = snapshots().join("corpus").join(name).join("1.37.2").join(mode);
    let dump = NodeState::read_dump(&installed).unwrap();
    assert!(dump.errors.is_empty(), "{name}: {:?}", dump.errors);
    let routes = read(&snapshots().join("lab").join(name).join("route.txt"));
    let mut state = dump.state;
    state.host.routes = parse_routes(&routes).value;
    state.host.sysctls.extend(changed_sysctls(name, mode));
    state
}

/// The sysctls that kube-proxy changed: `NAME: OLD -> NEW`, one a line.
fn changed_sysctls(name: &str, mode: &str) -> Vec<(String, String)> {
    let file = snapshots().join("lab").join(name).join(format!("{mode}-sysctls.txt"));
    let text = fs::read_to_string(file).unwrap_or_default();
    let changes = text.lines().filter_map(|line| line.split_once(": "));
    let new = |values: &str| values.split_once(" -> ").unwrap().1.to_owned();
    changes.map(|(name, values)| (name.replace('/', "."), new(values))).collect()
}

fn records(name: &str, mode: &str) -> Vec<Record> {
    let file = snapshots().join("lab").join(name).join(format!("{mode}.jsonl"));
    read(&file).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the names of the clusters: each has a directory.
fn clusters() -> Vec<String> {
    let entries = fs::read_dir(snapshots().join("lab")).unwrap().map(Result::unwrap);
    let directories = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> =
        directories.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
