//! From one piece of text to one typed object.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::diagnostic::object_name;
use crate::objects::{EndpointSlice, Node, Service, ServiceCidr};

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
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Head {
    /// Group and version.
    pub api_version: Option<String>,
    /// The kind.
    pub kind: Option<String>,
    /// Who it is.
    pub metadata: HeadMetadata,
}

/// Who an object is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HeadMetadata {
    /// Its name.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
}

impl Head {
    /// Tells whether kube-proxy once read such objects, or reads them in another version.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        matches!(self.kind.as_deref(), Some("Endpoints" | "EndpointSlice"))
    }

    /// Returns `Kind namespace/name`, if the kind is known.
    #[must_use]
    pub fn printed(&self) -> Option<String> {
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        let name = self.metadata.name.as_deref().unwrap_or_default();
        Some(object_name(self.kind.as_deref()?, namespace, name))
    }
}

/// Why a text is no object.
#[derive(Debug)]
pub struct Failure {
    /// The line within the text, counted from 1.
    pub line: Option<usize>,
    /// The path of the field.
    pub field: Option<String>,
    /// What the library says.
    pub message: String,
}

/// A text format that objects come in.
pub trait Format {
    /// Reads a text into a type.
    fn quick<T: DeserializeOwned>(text: &str) -> Option<T>;

    /// Reads a text into a type again, slower, for an error that names the field.
    fn careful<T: DeserializeOwned>(text: &str) -> Result<T, Failure>;

    /// Returns what an object says of its kind, if that is plain to see without reading it.
    fn glance(text: &str) -> Option<Head>;

    /// Reads a text into a type; errors name the field.
    fn typed<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
        Self::quick(text).map_or_else(|| Self::careful(text), Ok)
    }
}

/// YAML.
pub struct Yaml;
/// JSON.
pub struct Json;

impl Format for Yaml {
    fn quick<T: DeserializeOwned>(text: &str) -> Option<T> {
        serde_norway::from_str(text).ok()
    }

    /// Looks at the lines of a block mapping: no line that is indented as its first one can belong
    /// to anything else, so a plain word after `kind:` there is the kind.
    fn glance(text: &str) -> Option<Head> {
        let first = text.lines().find(|line| !line.trim().is_empty() && !is_comment(line))?;
        let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
        let mut head = Head::default();
        for line in text.lines().filter_map(|line| line.strip_prefix(indent)) {
            if let Some(word) = line.strip_prefix("kind: ") {
                head.kind = Some(plain_word(word)?.to_owned());
            } else if let Some(word) = line.strip_prefix("apiVersion: ") {
                head.api_version = Some(plain_word(word)?.to_owned());
            }
            if head.kind.is_some() && head.api_version.is_some() {
                return Some(head);
            }
        }
        None
    }

    fn careful<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
        serde_path_to_error::deserialize(serde_norway::Deserializer::from_str(text)).map_err(|e| {
            let line = e.inner().location().map(|place| place.line());
            Failure { line, field: field(&e), message: without_place(&e.inner().to_string()) }
        })
    }
}

impl Format for Json {
    fn quick<T: DeserializeOwned>(text: &str) -> Option<T> {
        serde_json::from_str(text).ok()
    }

    fn glance(_: &str) -> Option<Head> {
        None
    }

    fn careful<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
        serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(
            |e| {
                let line = Some(e.inner().line());
                Failure { line, field: field(&e), message: without_place(&e.inner().to_string()) }
            },
        )
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Returns a YAML scalar that is one plain word.
fn plain_word(text: &str) -> Option<&str> {
    let word = text.trim_end();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/' | b'-');
    (!word.is_empty() && word.bytes().all(is_plain)).then_some(word)
}

fn field<E>(error: &serde_path_to_error::Error<E>) -> Option<String> {
    let path = error.path().to_string();
    (path != "." && path != "?").then_some(path)
}

/// Takes the library's own line numbers off: they count within the piece.
fn without_place(message: &str) -> String {
    let end = message.find(" at line ").unwrap_or(message.len());
    let text = &message[..end];
    text.split_once(": ")
        .filter(|(path, _)| !path.contains(' '))
        .map_or(text, |(_, m)| m)
        .to_owned()
}

impl Object {
    /// Reads a text as the kind that its head names; `None` if kube-proxy does not look at it.
    #[must_use]
    pub fn read<F: Format>(head: &Head, text: &str) -> Option<Result<Object, Failure>> {
        let group = head.api_version.as_deref().unwrap_or_default();
        Some(match (group, head.kind.as_deref()?) {
            ("v1" | "", "Service") => F::typed(text).map(|o| Object::Service(Box::new(o))),
            ("v1" | "", "Node") => F::typed(text).map(|o| Object::Node(Box::new(o))),
            ("discovery.k8s.io/v1" | "", "EndpointSlice") => {
                F::typed(text).map(|o| Object::Slice(Box::new(o)))
            }
            ("networking.k8s.io/v1" | "networking.k8s.io/v1beta1" | "", "ServiceCIDR") => {
                F::typed(text).map(|o| Object::ServiceCidr(Box::new(o)))
            }
            _ => return None,
        })
    }
}
