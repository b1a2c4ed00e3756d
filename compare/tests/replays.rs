//! Reported faults that need time: what is found after each event is what `docs/faults.md` says, and
//! packets after the last one end as recorded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use kps_compare::lint::Lint;
use kps_compare::replay::{Event, Replay, Step, event};
use kps_model::{KubeVersion, Mode, Source};
use kps_sim::Walker;
use recorded::differences;

const MODES: [Mode; 3] = [Mode::Iptables, Mode::Nftables, Mode::Ipvs];
const NODE: &str = "node-a";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names of the faults that have events, in order.
fn cases() -> Vec<String> {
    let entries = fs::read_dir(root().join("snapshots/faults")).unwrap();
    let with_events =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.join("events.yaml").exists());
    let mut cases: Vec<String> =
        with_events.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    cases.sort();
    cases
}

fn folder(case: &str) -> PathBuf {
    root().join("snapshots/faults").join(case)
}

fn events(case: &str) -> Vec<Event> {
    event::read(&fs::read_to_string(folder(case).join("events.yaml")).unwrap()).unwrap()
}

fn start(case: &str, mode: Mode, version: KubeVersion) -> (Replay, Step) {
    let cluster = kps_model::read(&[Source::Path(folder(case).join("cluster.yaml"))]).cluster;
    let config = fs::read_to_string(folder(case).join("config.yaml")).unwrap();
    Replay::start(cluster, &config, mode, NODE, version).unwrap()
}

/// Replays all events; the first step is the start.
fn steps(case: &str, mode: Mode, version: KubeVersion) -> (Replay, Vec<Step>) {
    let (mut replay, first) = start(case, mode, version);
    let mut steps = vec![first];
    for event in events(case) {
        steps.push(replay.advance(&event).unwrap());
    }
    (replay, steps)
}

fn lints(step: &Step) -> BTreeSet<Lint> {
    step.findings.iter().map(|finding| finding.lint).collect()
}

/// Returns what each event brings, `N: lint, lint`, with the mode where it is not so in all.
fn told(case: &str) -> String {
    let mut by_event: BTreeMap<usize, BTreeMap<Lint, Vec<&str>>> = BTreeMap::new();
    for mode in MODES {
        let (_, steps) = steps(case, mode, KubeVersion::NEWEST);
        for (number, step) in steps.iter().enumerate().skip(1) {
            for lint in lints(step) {
                by_event.entry(number).or_default().entry(lint).or_default().push(mode.as_str());
            }
        }
    }
    let word = |(lint, modes): (Lint, Vec<&str>)| match modes.len() {
        3 => lint.to_string(),
        _ => format!("{lint} ({})", modes.join(", ")),
    };
    let of_event = |(number, lints): (usize, BTreeMap<Lint, Vec<&str>>)| {
        let words: Vec<String> = lints.into_iter().map(word).collect();
        format!("{number}: {}", words.join(", "))
    };
    by_event.into_iter().map(of_event).collect::<Vec<_>>().join("; ")
}

#[test]
fn the_table_of_replays_says_what_is_found_after_each_event() {
    let table = fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let mut wrong = Vec::new();
    for case in cases() {
        let start = format!("| {case} | {} events | {} |", events(&case).len(), told(&case));
        if !table.lines().any(|line| line.starts_with(&start)) {
            wrong.push(start);
        }
    }
    assert!(wrong.is_empty(), "docs/faults.md lacks:\n{}", wrong.join("\n"));
}

#[test]
fn packets_after_the_last_event_end_as_recorded() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases() {
        let Ok(text) = fs::read_to_string(folder(&case).join("flows-after.jsonl")) else {
            continue;
        };
        for mode in MODES {
            let (replay, _) = steps(&case, mode, KubeVersion::NEWEST);
            let (number, differing) = differences(&text, mode, &Walker::new(&replay.state));
            compared += number;
            wrong.extend(differing.into_iter().map(|why| format!("{case} {mode}: {why}")));
        }
    }
    assert!(compared > 100, "only {compared} packets are compared");
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn connections_of_a_deleted_service_end_at_whoever_has_the_address_next() {
    for mode in MODES {
        let (_, steps) = steps("64-deleted-udp-service-conntrack", mode, KubeVersion::NEWEST);
        let stale = steps[4].findings.iter().find(|f| f.lint == Lint::StaleConnection).unwrap();
        assert_eq!(stale.objects, ["Service default/dns"]);
        assert!(
            stale.detail.contains("which is of Service default/reuse by now"),
            "{}",
            stale.detail
        );
        assert!(steps.iter().skip(1).all(|step| step.deleted.is_empty()), "{mode}");
    }
}

#[test]
fn only_connections_to_the_removed_endpoint_are_deleted() {
    for mode in MODES {
        let (_, steps) = steps("65-conntrack-cleanup-ignores-port", mode, KubeVersion::NEWEST);
        let old = "10.244.1.5:5353".parse().unwrap();
        let deleted = &steps[1].deleted;
        assert!(deleted.iter().all(|open| open.endpoint == Some(old)), "{mode}: {deleted:?}");
        let ports: BTreeSet<u16> = deleted.iter().map(|open| open.flow.port).collect();
        assert_eq!(ports, [53, 30165].into(), "{mode}");
    }
}

#[test]
fn untranslated_connections_are_deleted_once_there_is_an_endpoint() {
    let (_, steps) =
        steps("67-udp-cleanup-on-endpoint-change", Mode::Nftables, KubeVersion::NEWEST);
    let count = |step: &Step, port| {
        let untranslated = step.deleted.iter().filter(|open| open.endpoint.is_none());
        untranslated.filter(|open| open.flow.port == port).count()
    };
    assert!(count(&steps[1], 53) > 0 && count(&steps[1], 30167) == 0);
    assert!(count(&steps[2], 53) == 0 && count(&steps[2], 30167) > 0);
    assert!(steps[3].deleted.is_empty());
    let dead = "10.244.1.5:5353".parse().unwrap();
    assert!(steps[4].deleted.iter().any(|open| open.endpoint == Some(dead)));
}

#[test]
fn a_restart_deletes_no_connection_and_changes_no_rule() {
    for mode in MODES {
        let (mut replay, _) = start("71-restart-flushes-udp", mode, KubeVersion::NEWEST);
        let before = replay.state.clone();
        for event in events("71-restart-flushes-udp") {
            assert!(replay.advance(&event).unwrap().deleted.is_empty(), "{mode}");
        }
        assert_eq!(before, replay.state, "{mode}");
    }
}

#[test]
fn a_real_server_drains_and_has_its_weight_again_after_a_restart() {
    let case = "74-ipvs-weight-zero-after-restart";
    let (mut replay, _) = start(case, Mode::Ipvs, KubeVersion::NEWEST);
    let weights = |replay: &Replay| -> Vec<u32> {
        let servers = replay.state.ipvs.services.values().flat_map(|server| &server.real_servers);
        servers.map(|real| real.weight).collect()
    };
    let mut seen = vec![weights(&replay)];
    for event in events(case) {
        replay.advance(&event).unwrap();
        seen.push(weights(&replay));
    }
    let all = |weights: &[u32], weight| !weights.is_empty() && weights.iter().all(|w| *w == weight);
    let now: Vec<Vec<u32>> = seen;
    assert!(all(&now[0], 1) && all(&now[1], 0), "{now:?}");
    assert!(all(&now[2], 0) && all(&now[3], 0) && all(&now[4], 1), "{now:?}");
}

#[test]
fn a_health_check_says_no_as_soon_as_no_local_endpoint_is_ready() {
    for mode in MODES {
        let (_, steps) = steps("61-healthcheck-after-endpoint-moves", mode, KubeVersion::NEWEST);
        let answers: Vec<bool> = steps.iter().map(|step| step.health[0].is_well).collect();
        assert_eq!(answers, [true, false, false], "{mode}");
    }
}

#[test]
fn a_busy_chain_stops_every_later_sync() {
    let case = "31-nodeport-on-loopback";
    let (replay, steps) = steps(case, Mode::Nftables, KubeVersion::NEWEST);
    assert!(lints(&steps[4]).contains(&Lint::SyncFails));
    let rules = kps_ruleset::nftables::print_ruleset(&replay.state.nftables);
    assert!(rules.contains("default/web") && !rules.contains("default/later"));
    assert!(replay.failures[0].contains("busy"), "{:?}", replay.failures);
}
