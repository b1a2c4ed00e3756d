//! What events bring, for people and programs.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use kps_compare::replay::{Connection, Health, Step};
use kps_model::Place;
use serde_json::{Value, json};

use super::findings::Checked;
use super::style::NAME;

/// Writes a step: the event, what kube-proxy deleted, health checks, and what is found now.
pub fn text(step: &Step, findings: &str) -> String {
    let mut text = format!("{NAME}== {}{NAME:#}\n", step.event);
    for ((service, to), number) in counted(&step.deleted) {
        let _ =
            writeln!(text, "{service}: {number} connections to {to} are deleted from conntrack");
    }
    for Health { service, port, is_well } in &step.health {
        let answer = if *is_well { "200" } else { "503" };
        let _ = writeln!(text, "{service}: health check {port} answers {answer}");
    }
    if step.findings.is_empty() {
        text.push_str("nothing new\n\n");
    } else {
        text.push_str("new: ");
        text.push_str(findings);
        text.push('\n');
    }
    text
}

/// Counts connections by Service and what was dialled.
fn counted(deleted: &[Connection]) -> BTreeMap<(&str, String), usize> {
    let mut counts = BTreeMap::new();
    for connection in deleted {
        let flow = &connection.flow;
        let from = match connection.endpoint {
            Some(endpoint) => format!("{}:{}, sent to {endpoint},", flow.destination, flow.port),
            None => format!("{}:{}, untranslated,", flow.destination, flow.port),
        };
        *counts.entry((connection.service.as_str(), from)).or_insert(0) += 1;
    }
    counts
}

/// Returns all steps for programs.
pub fn json(steps: &[Step], places: &HashMap<String, Place>, nodes: &[String]) -> Value {
    let one = |step: &Step| {
        let deleted = step.deleted.iter().map(|connection| {
            json!({
                "service": connection.service,
                "flow": connection.flow.to_string(),
                "endpoint": connection.endpoint.map(|endpoint| endpoint.to_string()),
            })
        });
        let health = step.health.iter().map(|health| {
            json!({ "service": health.service, "port": health.port, "ok": health.is_well })
        });
        let checked = Checked { findings: &step.findings, places, nodes };
        json!({
            "event": step.event,
            "deleted": deleted.collect::<Vec<_>>(),
            "health": health.collect::<Vec<_>>(),
            "findings": checked.json()["findings"],
        })
    };
    json!({ "nodes": nodes, "steps": steps.iter().map(one).collect::<Vec<_>>() })
}
