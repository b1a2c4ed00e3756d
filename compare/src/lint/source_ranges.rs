//! `loadBalancerSourceRanges`: whom they stop, and whom they do not.

use kps_flow::{ClientClass, Outcome};
use kps_model::NodeView;
use kps_model::address::parse_prefix;
use kps_model::intent::Frontend;
use kps_model::objects::Service;

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target::{self, targets, word};

/// Tells ranges that are written so that they mean something else.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    scene.subject.cluster.services.iter().flat_map(written).collect()
}

fn written(service: &Service) -> Vec<Finding> {
    let ranges = &service.spec.load_balancer_source_ranges;
    let name = format!("Service {}/{}", service.metadata.namespace, service.metadata.name);
    let mut findings = Vec::new();
    let mut tell = |lint, detail| findings.push(Finding::new(lint, vec![name.clone()], detail));
    for text in ranges {
        if text.trim() != text.as_str() {
            tell(Lint::SourceRangeBlank, format!("`{text}` is read as `{}`", text.trim()));
        }
        let is_open = parse_prefix(text.trim()).is_some_and(|range| range.prefix_len() == 0);
        if is_open && ranges.len() > 1 {
            tell(Lint::SourceRangeOpen, format!("{text} is one of {} ranges", ranges.len()));
        }
    }
    findings
}

/// Tells who gets in beside the ranges, and who is kept out by them.
pub fn reachable(scene: &Scene<'_>) -> Vec<Finding> {
    scene.subject.views.iter().flat_map(|view| in_family(scene, view)).collect()
}

fn in_family(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let Some(outside) = scene.client(view.family, ClientClass::Outside) else { return Vec::new() };
    let mut findings = Vec::new();
    let guarded = targets(view).filter(|target| !target.port.port.source_ranges.is_empty());
    for target in guarded {
        let own = &target.port.port;
        let (service, protocol) = (target::service(&own.key), own.key.protocol);
        let what = format!("{}, by {}", target::port(target.port), word(target.frontend));
        if target.frontend == Frontend::LoadBalancerIp {
            let pod = scene.sent_by(ClientClass::Pod, protocol, target.address, target.number);
            if pod.as_ref().is_some_and(|w| w.outcomes.iter().all(|(o, _)| *o == Outcome::Drop)) {
                let lint = Lint::SourceRangeWithoutCluster;
                findings.push(Finding::new(lint, vec![service], what).with(pod));
            }
        } else if target.frontend != Frontend::ClusterIp {
            let mut stranger = outside.clone();
            stranger.address = scene.stranger(view.family, &own.source_ranges);
            let flow = scene.flow(&stranger, protocol, target.address, target.number);
            let witness = scene.witness(flow);
            let is_in = |(outcome, _): &(Outcome, _)| matches!(outcome, Outcome::Deliver(_));
            if stranger.address.is_some() && witness.outcomes.iter().any(is_in) {
                let lint = Lint::SourceRangeBypass;
                findings.push(Finding::new(lint, vec![service], what).with(Some(witness)));
            }
        }
    }
    findings
}
