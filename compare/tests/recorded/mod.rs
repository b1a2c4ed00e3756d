//! Packets of reported faults, with what a kernel did with them.

use std::collections::BTreeSet;

use kps_flow::{ClientClass, Flow, Outcome};
use kps_model::Mode;
use kps_sim::{Options, Walker};
use serde_json::Value;

/// Returns how many packets of a text of lines say what a mode does with them, and those that end
/// otherwise.
pub fn differences(text: &str, mode: Mode, walker: &Walker<'_>) -> (usize, Vec<String>) {
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(expected) = line["expect"].get(mode.as_str()) else { continue };
        if expected["outcome"] == "unknown" || expected.get("one_of").is_some() {
            continue;
        }
        compared += 1;
        let flow = flow(&line);
        if let Some(why) = difference(walker, &flow, expected) {
            wrong.push(format!("{flow}: {why}"));
        }
    }
    (compared, wrong)
}

fn flow(line: &Value) -> Flow {
    let interface = line["in_iface"].as_str().unwrap();
    // The kernel chose the source of node processes, but for packets that were never sent.
    let is_free = line["client"] == "node" && line.get("rules_only").is_none();
    let source = line["src"].as_str().filter(|_| !is_free);
    let client: ClientClass = serde_json::from_value(line["client"].clone()).unwrap();
    Flow {
        client,
        interface: (!interface.is_empty()).then(|| interface.to_owned()),
        source: source.map(|text| text.parse().unwrap()),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: line["proto"].as_str().unwrap().parse().unwrap(),
        destination: line["dst"].as_str().unwrap().parse().unwrap(),
        port: u16::try_from(line["dport"].as_u64().unwrap()).unwrap(),
    }
}

/// Returns how a walk ends otherwise than recorded: its outcome, or its set of endpoints.
fn difference(walker: &Walker<'_>, flow: &Flow, expected: &Value) -> Option<String> {
    let walk = walker.walk(flow, &Options { fresh: true, ..Options::default() });
    let (mut words, mut endpoints) = (BTreeSet::new(), BTreeSet::new());
    for path in &walk.paths {
        words.insert(match &path.outcome {
            Outcome::Deliver(way) => {
                endpoints.insert(way.endpoint.to_string());
                "forwarded"
            }
            Outcome::Pass(_) => "passthrough",
            Outcome::Local => "local",
            Outcome::Reject(_) => "reject",
            Outcome::Drop => "drop",
            Outcome::Unknown(_) => "unknown",
        });
    }
    let recorded = expected["outcome"].as_str().unwrap();
    let listed = expected["endpoints"].as_array();
    let wanted: BTreeSet<String> =
        listed.into_iter().flatten().map(|e| e.as_str().unwrap().to_owned()).collect();
    let is_same = words.len() == 1 && words.contains(recorded) && endpoints == wanted;
    (!is_same).then(|| format!("recorded {recorded} {wanted:?}, walked {words:?} {endpoints:?}"))
}
