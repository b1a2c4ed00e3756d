//! Gathers objects into a cluster: the last of several objects of one name wins.

use indexmap::IndexMap;
use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::ServiceCIDR;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::object::Object;
use super::{Outcome, Reading};
use crate::diagnostic::{Place, Severity};
use crate::{Cluster, Diagnostic};

type ByName<T> = IndexMap<(String, String), T>;

/// Objects and findings so far.
#[derive(Default)]
pub(crate) struct Gathered {
    services: ByName<Service>,
    slices: ByName<EndpointSlice>,
    nodes: ByName<Node>,
    service_cidrs: ByName<ServiceCIDR>,
    diagnostics: Vec<Diagnostic>,
}

impl Gathered {
    /// Keeps a finding.
    pub fn note(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Takes in the pieces of one file.
    pub fn add(&mut self, source: &str, outcomes: Vec<Outcome>) {
        for outcome in outcomes {
            let place = Place { source: source.to_owned(), line: Some(outcome.line) };
            match outcome.object {
                Some(Ok(object)) => self.keep(object, place),
                Some(Err(ref failure)) => {
                    self.diagnostics.push(Diagnostic::untyped(place, &outcome.head, failure));
                }
                None => self.diagnostics.extend(Diagnostic::outdated(place, &outcome.head)),
            }
        }
    }

    /// Ends the reading.
    pub fn finish(self) -> Reading {
        let cluster = Cluster {
            services: self.services.into_values().collect(),
            slices: self.slices.into_values().collect(),
            nodes: self.nodes.into_values().collect(),
            service_cidrs: self.service_cidrs.into_values().collect(),
        };
        Reading { cluster, diagnostics: self.diagnostics }
    }

    fn keep(&mut self, object: Object, place: Place) {
        let replaced = match object {
            Object::Service(object) => keep(&mut self.services, "Service", *object),
            Object::Slice(object) => keep(&mut self.slices, "EndpointSlice", *object),
            Object::Node(object) => keep(&mut self.nodes, "Node", *object),
            Object::ServiceCidr(object) => keep(&mut self.service_cidrs, "ServiceCIDR", *object),
        };
        self.diagnostics.extend(replaced.map(|object| Diagnostic {
            severity: Severity::Warning,
            place,
            object: Some(object),
            field: None,
            message: "read before; this one takes the place of the earlier one".to_owned(),
        }));
    }
}

/// Adds an object; if one of its name was there, returns the name.
fn keep<T: Metadata<Ty = ObjectMeta>>(
    objects: &mut ByName<T>,
    kind: &str,
    object: T,
) -> Option<String> {
    let metadata = object.metadata();
    let key =
        (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
    let printed = crate::diagnostic::object_name(kind, &key.0, &key.1);
    objects.insert(key, object).map(|_| printed)
}
