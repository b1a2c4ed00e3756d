//! Gathers objects into a cluster: the last of several objects of one name wins.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;

use super::check::check;
use super::object::{Head, Object};
use super::{Outcome, Reading};
use crate::diagnostic::{Place, Severity, object_name};
use crate::objects::{EndpointSlice, Metadata, Node, Service, ServiceCidr};
use crate::{Cluster, Diagnostic};

/// The namespace of what is created without one.
const DEFAULT_NAMESPACE: &str = "default";

type ByName<T> = IndexMap<(String, String), T>;

/// Objects and findings so far.
#[derive(Default)]
pub(crate) struct Gathered {
    services: ByName<Service>,
    slices: ByName<EndpointSlice>,
    nodes: ByName<Node>,
    service_cidrs: ByName<ServiceCidr>,
    diagnostics: Vec<Diagnostic>,
    passed_over: BTreeMap<String, usize>,
    places: HashMap<String, Place>,
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
                None => self.pass_over(place, outcome.head),
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
        let Gathered { diagnostics, passed_over, places, .. } = self;
        Reading { cluster, diagnostics, passed_over, places }
    }

    fn pass_over(&mut self, place: Place, head: Head) {
        match (Diagnostic::outdated(place, &head), head.kind) {
            (Some(diagnostic), _) => self.diagnostics.push(diagnostic),
            (None, Some(kind)) => *self.passed_over.entry(kind).or_default() += 1,
            (None, None) => {}
        }
    }

    fn keep(&mut self, mut object: Object, place: Place) {
        let oddities = check(&object);
        object.fill_in_namespace();
        let name = object.name();
        let printed = object_name(object.kind(), &name.0, &name.1);
        self.diagnostics.extend(oddities.into_iter().map(|oddity| Diagnostic {
            severity: oddity.severity,
            place: place.clone(),
            object: Some(printed.clone()),
            field: Some(oddity.field),
            message: oddity.message,
        }));
        let replaced = match object {
            Object::Service(object) => self.services.insert(name, *object).is_some(),
            Object::Slice(object) => self.slices.insert(name, *object).is_some(),
            Object::Node(object) => self.nodes.insert(name, *object).is_some(),
            Object::ServiceCidr(object) => self.service_cidrs.insert(name, *object).is_some(),
        };
        self.places.insert(printed.clone(), place.clone());
        if replaced {
            self.diagnostics.push(Diagnostic {
                severity: Severity::Warning,
                place,
                object: Some(printed),
                field: None,
                message: "read before; this one takes the place of the earlier one".to_owned(),
            });
        }
    }
}

impl Object {
    fn metadata(&self) -> &Metadata {
        match self {
            Object::Service(object) => &object.metadata,
            Object::Slice(object) => &object.metadata,
            Object::Node(object) => &object.metadata,
            Object::ServiceCidr(object) => &object.metadata,
        }
    }

    /// Puts an object that names no namespace where kubectl puts it.
    fn fill_in_namespace(&mut self) {
        let metadata = match self {
            Object::Service(object) => &mut object.metadata,
            Object::Slice(object) => &mut object.metadata,
            Object::Node(_) | Object::ServiceCidr(_) => return,
        };
        if metadata.namespace.is_empty() {
            DEFAULT_NAMESPACE.clone_into(&mut metadata.namespace);
        }
    }

    fn name(&self) -> (String, String) {
        let metadata = self.metadata();
        (metadata.namespace.clone(), metadata.name.clone())
    }

    fn kind(&self) -> &'static str {
        match self {
            Object::Service(_) => "Service",
            Object::Slice(_) => "EndpointSlice",
            Object::Node(_) => "Node",
            Object::ServiceCidr(_) => "ServiceCIDR",
        }
    }
}
