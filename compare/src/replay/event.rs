//! What changes: objects, and kube-proxy itself.

use std::fmt;

use kps_model::Cluster;
use kps_model::objects::{EndpointSlice, Metadata};
use serde::Deserialize;
use serde_norway::{Mapping, Value};
use thiserror::Error;

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An object is made or replaced; a cluster of that object alone.
    Apply(Cluster),
    /// An object is deleted.
    Delete(Reference),
    /// kube-proxy stops; the node keeps its rules.
    Stop,
    /// kube-proxy starts again, with these fields of its configuration changed.
    Restart(Mapping),
}

/// The name of an object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for a Node.
    #[serde(default)]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// An event that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EventError {
    /// The text is no list of events.
    #[error("expected a list of apply, delete, stop and restart: {0}")]
    NoList(String),
    /// An event does none of these, or several.
    #[error("event {0}: expected one of apply, delete, stop and restart")]
    NoEvent(usize),
    /// What is applied is no object that kube-proxy looks at.
    #[error("event {0}: expected a Service, EndpointSlice, Node or ServiceCIDR to apply")]
    NoObject(usize),
}

/// An event as written: one of these fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    apply: Option<Value>,
    delete: Option<Reference>,
    stop: Option<Mapping>,
    restart: Option<Restart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restart {
    #[serde(default)]
    config: Mapping,
}

/// Reads a list of events, in YAML or JSON.
///
/// # Errors
/// Names the first event that is none, counted from 1.
pub fn read(text: &str) -> Result<Vec<Event>, EventError> {
    let written: Vec<Written> =
        serde_norway::from_str(text).map_err(|error| EventError::NoList(error.to_string()))?;
    written.into_iter().zip(1..).map(|(event, number)| event.read(number)).collect()
}

impl Written {
    fn read(self, number: usize) -> Result<Event, EventError> {
        match (self.apply, self.delete, self.stop, self.restart) {
            (Some(object), None, None, None) => {
                let text = serde_norway::to_string(&object).unwrap_or_default();
                let cluster = kps_model::read::read_text("", &text).cluster;
                let is_object = cluster != Cluster::default();
                is_object.then_some(Event::Apply(cluster)).ok_or(EventError::NoObject(number))
            }
            (None, Some(reference), None, None) => Ok(Event::Delete(reference)),
            (None, None, Some(_), None) => Ok(Event::Stop),
            (None, None, None, Some(restart)) => Ok(Event::Restart(restart.config)),
            _ => Err(EventError::NoEvent(number)),
        }
    }
}

impl Event {
    /// Changes the objects, and tells whether kube-proxy has UDP connections to clean up after it:
    /// it has if endpoints of UDP ports changed (`ConntrackCleanupRequired` of
    /// `pkg/proxy/endpointschangetracker.go`). That a Service is gone is no such change.
    pub fn apply(&self, cluster: &mut Cluster) -> bool {
        match self {
            Event::Apply(objects) => {
                let old = cluster.slices.iter().filter(|slice| is_among(slice, &objects.slices));
                let touches = has_udp(&objects.slices) || has_udp(old);
                let is_change = objects.slices.iter().any(|slice| !cluster.slices.contains(slice));
                put(&mut cluster.services, &objects.services, |object| &object.metadata);
                put(&mut cluster.slices, &objects.slices, |object| &object.metadata);
                put(&mut cluster.nodes, &objects.nodes, |object| &object.metadata);
                put(&mut cluster.service_cidrs, &objects.service_cidrs, |object| &object.metadata);
                touches && is_change
            }
            Event::Delete(reference) => {
                let is_meant = |metadata: &Metadata| {
                    metadata.name == reference.name && metadata.namespace == reference.namespace
                };
                match reference.kind.as_str() {
                    "Service" => cluster.services.retain(|object| !is_meant(&object.metadata)),
                    "Node" => cluster.nodes.retain(|object| !is_meant(&object.metadata)),
                    "EndpointSlice" => {
                        let old = cluster.slices.iter().filter(|slice| is_meant(&slice.metadata));
                        let touches = has_udp(old);
                        cluster.slices.retain(|object| !is_meant(&object.metadata));
                        return touches;
                    }
                    _ => {}
                }
                false
            }
            Event::Stop | Event::Restart(_) => false,
        }
    }
}

/// Tells whether any slice has endpoints with a UDP port.
pub fn has_udp<'s>(slices: impl IntoIterator<Item = &'s EndpointSlice>) -> bool {
    let used = slices.into_iter().filter(|slice| !slice.endpoints.is_empty());
    used.flat_map(|slice| &slice.ports).any(|port| port.protocol.as_deref() == Some("UDP"))
}

fn is_among(slice: &EndpointSlice, others: &[EndpointSlice]) -> bool {
    others.iter().any(|other| is_same(&other.metadata, &slice.metadata))
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (&one.namespace, &one.name) == (&other.namespace, &other.name)
}

/// Replaces objects of the same name, and adds the others.
fn put<T: Clone>(objects: &mut Vec<T>, new: &[T], metadata: fn(&T) -> &Metadata) {
    for object in new {
        match objects.iter_mut().find(|old| is_same(metadata(old), metadata(object))) {
            Some(old) => old.clone_from(object),
            None => objects.push(object.clone()),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Apply(cluster) => {
                let services = cluster.services.iter().map(|object| ("Service", &object.metadata));
                let slices = cluster.slices.iter().map(|o| ("EndpointSlice", &o.metadata));
                let nodes = cluster.nodes.iter().map(|object| ("Node", &object.metadata));
                let ranges = cluster.service_cidrs.iter().map(|o| ("ServiceCIDR", &o.metadata));
                f.write_str("apply")?;
                for (kind, metadata) in services.chain(slices).chain(nodes).chain(ranges) {
                    write!(f, " {}", named(kind, &metadata.namespace, &metadata.name))?;
                }
                Ok(())
            }
            Event::Delete(Reference { kind, namespace, name }) => {
                write!(f, "delete {}", named(kind, namespace, name))
            }
            Event::Stop => f.write_str("stop kube-proxy"),
            Event::Restart(fields) if fields.is_empty() => f.write_str("restart kube-proxy"),
            Event::Restart(_) => f.write_str("restart kube-proxy with another configuration"),
        }
    }
}

fn named(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {namespace}/{name}")
    }
}
