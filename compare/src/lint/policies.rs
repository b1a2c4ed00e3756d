//! Local policies: who is left without an endpoint.

use std::collections::HashSet;

use kps_flow::{ClientClass, Outcome};
use kps_model::PortView;
use kps_model::intent::Frontend;
use kps_model::objects::SliceEndpoint;
use kps_model::view::endpoints::SERVICE_NAME;

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target::{self, targets, word};

/// Tells Services with a Local policy whose endpoints are on no Node at all.
pub fn nowhere(scene: &Scene<'_>) -> Vec<Finding> {
    let cluster = scene.subject.cluster;
    if cluster.nodes.is_empty() {
        return Vec::new();
    }
    let on_nodes = on_nodes(scene);
    let ports = scene.subject.views.iter().flat_map(|view| &view.ports);
    let local = ports.filter(|port| port.port.uses_local_endpoints() && port.has_any);
    let is_nowhere = |port: &&PortView| {
        let key = &port.port.key;
        !on_nodes.contains(&(key.namespace.as_str(), key.name.as_str()))
    };
    let told = local.filter(is_nowhere).map(|port| {
        let detail = format!("{}: none of its endpoints is on a Node", target::port(port));
        let service = target::service(&port.port.key);
        Finding::new(Lint::LocalPolicyNowhere, vec![service], detail)
    });
    told.collect()
}

/// Returns namespace and name of the Services with an endpoint on a Node.
fn on_nodes<'s>(scene: &'s Scene<'_>) -> HashSet<(&'s str, &'s str)> {
    let cluster = scene.subject.cluster;
    let known: HashSet<&str> = cluster.node_names().collect();
    let is_there = |endpoint: &SliceEndpoint| {
        endpoint.node_name.as_deref().is_some_and(|name| known.contains(name))
    };
    let there = cluster.slices.iter().filter(|slice| slice.endpoints.iter().any(is_there));
    there
        .filter_map(|slice| {
            let service = slice.metadata.labels.get(SERVICE_NAME)?;
            Some((slice.metadata.namespace.as_str(), service.as_str()))
        })
        .collect()
}

/// Tells Local policies without an endpoint on this node, where no health check keeps clients away.
pub fn unserved(scene: &Scene<'_>) -> Vec<Finding> {
    let views = scene.subject.views.iter();
    let unserved = views.flat_map(targets).filter(|target| {
        let own = &target.port.port;
        let is_local = match target.frontend {
            Frontend::ClusterIp => own.internal_local,
            _ => own.external_local && own.health_check_node_port.is_none(),
        };
        is_local && target.port.has_any && target.port.local.is_empty()
    });
    unserved
        .map(|target| {
            let key = &target.port.port.key;
            let detail = format!("{}, by {}", target::port(target.port), word(target.frontend));
            let class = match target.frontend {
                Frontend::ClusterIp => ClientClass::Node,
                _ => ClientClass::Outside,
            };
            let witness = scene.sent_by(class, key.protocol, target.address, target.number);
            let lint = Lint::LocalPolicyUnserved;
            Finding::new(lint, vec![target::service(key)], detail).with(witness)
        })
        .collect()
}

/// Tells health checks that say yes while what a balancer sends is not delivered on this node.
pub fn health(scene: &Scene<'_>) -> Vec<Finding> {
    if !scene.subject.failures.is_empty() {
        return Vec::new();
    }
    let views = scene.subject.views.iter();
    let checked = views.flat_map(targets).filter(|target| {
        let own = &target.port.port;
        let is_well = target.port.endpoints.iter().any(|e| e.is_local && e.ready);
        let is_balanced = target.frontend != Frontend::ClusterIp && own.source_ranges.is_empty();
        own.health_check_node_port.is_some() && is_well && is_balanced
    });
    checked
        .filter_map(|target| {
            let key = &target.port.port.key;
            let client = ClientClass::Outside;
            let witness = scene.sent_by(client, key.protocol, target.address, target.number)?;
            let local: Vec<_> = target.port.local_endpoints().map(|e| e.address).collect();
            let is_right = |(outcome, _): &(Outcome, _)| {
                matches!(outcome, Outcome::Deliver(way) if local.contains(&way.endpoint))
            };
            let is_hole = !witness.outcomes.iter().any(is_right);
            let detail = format!("{}, by {}", target::port(target.port), word(target.frontend));
            let lint = Lint::HealthCheckHidesHole;
            let service = vec![target::service(key)];
            is_hole.then(|| Finding::new(lint, service, detail).with(Some(witness)))
        })
        .collect()
}
