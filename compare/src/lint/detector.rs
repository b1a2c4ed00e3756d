//! The local detector: what tells pods from outside clients.

use kps_flow::{ClientClass, Family};
use kps_model::intent::Frontend;
use kps_model::{Detector, NodeView};

use super::catalogue::Lint;
use super::finding::{Finding, Witness};
use super::scene::{Scene, node_addresses, pod_ranges};
use super::target::targets;

/// Tells detectors that are absent, or cover too little or too much.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for view in scene.subject.views.iter().filter(|view| !view.ports.is_empty()) {
        findings.extend(in_family(scene, view));
    }
    if scene.subject.config.masquerade_all {
        let detail = "all traffic to cluster IPs is masqueraded".to_owned();
        findings.push(finding(Lint::MasqueradeAll, detail));
    }
    findings
}

fn in_family(scene: &Scene<'_>, view: &NodeView) -> Option<Finding> {
    let family = view.family;
    match &view.detector {
        None => {
            let detail = format!("nothing tells {family} pods from outside clients");
            let witness = dialled(scene, view, ClientClass::Outside);
            Some(finding(Lint::NoDetector, detail).with(witness))
        }
        Some(Detector::Cidr(range)) if range.prefix_len() == 0 => {
            let witness = dialled(scene, view, ClientClass::Outside);
            Some(finding(Lint::DetectorCoversAll, format!("it is {range}")).with(witness))
        }
        Some(Detector::Cidr(range)) => {
            let nodes = scene.subject.cluster.nodes.iter();
            let is_missed =
                |pods: &ipnet::IpNet| Family::of(pods.addr()) == family && !range.contains(pods);
            // Detection by the node's own range is not meant for pods elsewhere.
            let own = matches!(
                scene.subject.config.detect_local,
                kps_model::config::DetectLocal::NodeCidr
            );
            if own {
                return None;
            }
            let missed = nodes.clone().flat_map(pod_ranges).find(is_missed);
            if let Some(pods) = missed {
                let detail = format!("clusterCIDR {range} does not cover the pod range {pods}");
                let witness = dialled(scene, view, ClientClass::Pod);
                return Some(finding(Lint::DetectorMissesPods, detail).with(witness));
            }
            let covered = nodes.flat_map(node_addresses).find(|address| range.contains(address))?;
            let detail = format!("clusterCIDR {range} covers the node address {covered}");
            Some(finding(Lint::DetectorCoversNodes, detail))
        }
        Some(_) => None,
    }
}

/// Returns a packet to the first Service: by an address with policy Local if there is one, as the
/// detector decides about it most.
fn dialled(scene: &Scene<'_>, view: &NodeView, class: ClientClass) -> Option<Witness> {
    let local =
        targets(view).find(|t| t.port.port.external_local && t.frontend != Frontend::ClusterIp);
    let target = local.or_else(|| targets(view).next())?;
    scene.sent_by(class, target.port.port.key.protocol, target.address, target.number)
}

fn finding(lint: Lint, detail: String) -> Finding {
    Finding::new(lint, vec!["KubeProxyConfiguration".to_owned()], detail)
}
