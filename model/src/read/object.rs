//! From one piece of text to one typed object.

use serde::Deserialize;

use super::form::{Failure, Form};
use crate::diagnostic::object_name;
use crate::objects::{EndpointSlice, Node, Service, ServiceCidr};
use crate::text::optional_text;

/// An object that kube-proxy looks at.
#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    /// A Service.
    Service(Box<Service>),
    /// An EndpointSlice.
    Slice(Box<EndpointSlice>),
    /// A Node.
    Node(Box<Node>),
    /// A ServiceCIDR.
    ServiceCidr(Box<ServiceCidr>),
}

/// What every object starts with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a Kubernetes object")]
pub struct Head {
    /// Group and version.
    #[serde(deserialize_with = "optional_text")]
    pub api_version: Option<String>,
    /// The kind.
    #[serde(deserialize_with = "optional_text")]
    pub kind: Option<String>,
    /// Who it is.
    pub metadata: Option<HeadMetadata>,
}

/// What is left of a head with something wrong in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Kind {
    /// The kind.
    #[serde(deserialize_with = "optional_text")]
    pub kind: Option<String>,
}

/// Who an object is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, expecting = "a mapping")]
pub struct HeadMetadata {
    /// Its name.
    #[serde(deserialize_with = "optional_text")]
    pub name: Option<String>,
    /// Its namespace.
    #[serde(deserialize_with = "optional_text")]
    pub namespace: Option<String>,
}

impl Head {
    /// What is known of an object with something wrong in its head.
    #[must_use]
    pub fn of_kind(kind: Option<Kind>) -> Head {
        Head { kind: kind.and_then(|kind| kind.kind), ..Head::default() }
    }

    /// Tells whether kube-proxy once read such objects, or reads them in another version.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        matches!(self.kind.as_deref(), Some("Endpoints" | "EndpointSlice"))
    }

    /// Tells whether its kind is that of a list: `List`, `ServiceList`.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.kind.as_deref().is_some_and(|kind| kind.ends_with("List"))
    }

    /// Fills in what an item of a typed list may leave out, as the API leaves it out.
    pub fn adopt(&mut self, list: &Head) {
        let kind = list.kind.as_deref().and_then(|kind| kind.strip_suffix("List"));
        let Some(kind) = kind.filter(|kind| self.kind.is_none() && !kind.is_empty()) else {
            return;
        };
        self.kind = Some(kind.to_owned());
        self.api_version = self.api_version.take().or_else(|| list.api_version.clone());
    }

    /// Returns `Kind namespace/name`, if the kind is known.
    #[must_use]
    pub fn printed(&self) -> Option<String> {
        let metadata = self.metadata.as_ref();
        let namespace = metadata.and_then(|m| m.namespace.as_deref()).unwrap_or_default();
        let name = metadata.and_then(|m| m.name.as_deref()).unwrap_or_default();
        Some(object_name(self.kind.as_deref()?, namespace, name))
    }
}

impl Object {
    /// Reads something as the kind that its head names; `None` if kube-proxy does not look at it.
    pub fn read<F: Form>(head: &Head, form: &F) -> Option<Result<Object, Failure>> {
        let group = head.api_version.as_deref().unwrap_or_default();
        Some(match (group, head.kind.as_deref()?) {
            ("v1" | "", "Service") => form.typed().map(|o| Object::Service(Box::new(o))),
            ("v1" | "", "Node") => form.typed().map(|o| Object::Node(Box::new(o))),
            ("discovery.k8s.io/v1" | "", "EndpointSlice") => {
                form.typed().map(|o| Object::Slice(Box::new(o)))
            }
            ("networking.k8s.io/v1" | "networking.k8s.io/v1beta1" | "", "ServiceCIDR") => {
                form.typed().map(|o| Object::ServiceCidr(Box::new(o)))
            }
            _ => return None,
        })
    }
}
