//! Answers that never arrive: P-roundtrip. A packet whose destination was rewritten needs its answer
//! to come back through the node that rewrote it.

use std::collections::BTreeMap;

use kps_flow::{ClientClass, Flow, Outcome};
use kps_model::intent::Frontend;
use kps_model::{NodeView, PortView};
use kps_sim::Path;

use super::catalogue::Lint;
use super::finding::{Finding, Witness};
use super::scene::Scene;
use super::target::{self, Target, targets};

/// Tells deliveries whose answers miss the node, and endpoints that cannot reach themselves.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for view in scene.subject.views {
        findings.extend(from_outside(scene, view));
        findings.extend(view.ports.iter().filter_map(|port| hairpin(scene, view, port)));
    }
    findings
}

/// Looks at what comes from outside. Nobody outside is promised a way to cluster IPs.
fn from_outside(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let Some(client) = scene.client(view.family, ClientClass::Outside) else { return Vec::new() };
    let mut missed: BTreeMap<(String, String), (Vec<&str>, Witness)> = BTreeMap::new();
    for target in targets(view).filter(|target| target.frontend != Frontend::ClusterIp) {
        let Target { port, frontend, address, number } = target;
        let flow = scene.flow(client, port.port.key.protocol, address, number);
        if !misses_node(scene, &flow) {
            continue;
        }
        let key = (target::service(&port.port.key), target::port(port));
        let entry = missed.entry(key).or_insert_with(|| (Vec::new(), scene.witness(flow)));
        let word = target::word(frontend);
        if !entry.0.contains(&word) {
            entry.0.push(word);
        }
    }
    let told = |((service, port), (words, witness)): (_, (Vec<&str>, _))| {
        let detail = format!("{port}, by {}, from outside", words.join(", "));
        Finding::new(Lint::ReplyMissesNode, vec![service], detail).with(Some(witness))
    };
    missed.into_iter().map(told).collect()
}

fn misses_node(scene: &Scene<'_>, flow: &Flow) -> bool {
    let is_missed = |path: &Path| {
        let is_kept = matches!(&path.outcome, Outcome::Deliver(way) if !way.source.is_rewritten());
        is_kept && scene.walker.answer_returns(path) == Some(false)
    };
    scene.walk(flow).paths.iter().any(is_missed)
}

/// Looks at an endpoint in the node's pod ranges that dials its own Service.
fn hairpin(scene: &Scene<'_>, view: &NodeView, port: &PortView) -> Option<Finding> {
    let is_here = |address| view.pod_cidrs.iter().any(|range| range.contains(&address));
    let endpoints = port.endpoints.iter().map(|endpoint| endpoint.address);
    let witness = endpoints.filter(|address| is_here(address.ip())).find_map(|address| {
        let client = scene.client_at(ClientClass::Pod, address.ip());
        let own = &port.port;
        let witness =
            scene.witness(scene.flow(&client, own.key.protocol, own.cluster_ip, own.port));
        let answers_itself = |(outcome, _): &(Outcome, _)| {
            matches!(outcome, Outcome::Deliver(way)
                if way.endpoint == address && !way.source.is_rewritten())
        };
        witness.outcomes.iter().any(answers_itself).then_some((address, witness))
    });
    let (address, witness) = witness?;
    let detail = format!("{}: endpoint {address} reaches itself", target::port(port));
    let service = target::service(&port.port.key);
    Some(Finding::new(Lint::HairpinNotMasqueraded, vec![service], detail).with(Some(witness)))
}
