//! Session affinity: narrower than users expect.

use std::collections::BTreeMap;

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target;

/// Tells Services with ClientIP affinity and several ports.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let mut ports: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    let all = scene.subject.views.iter().flat_map(|view| &view.ports);
    for port in all.filter(|port| port.port.affinity.is_some()) {
        let numbers = ports.entry(target::service(&port.port.key)).or_default();
        if !numbers.contains(&port.port.port) {
            numbers.push(port.port.port);
        }
    }
    let several = ports.into_iter().filter(|(_, numbers)| numbers.len() > 1);
    several
        .map(|(service, numbers)| {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            let detail = format!("ports {} each have an affinity of their own", numbers.join(", "));
            Finding::new(Lint::AffinityByPort, vec![service], detail)
        })
        .collect()
}
