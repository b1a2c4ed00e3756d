//! Objects as they come: documents of YAML or JSON, and Lists of them.
//!
//! An object stays what was written, field by field: what kube-proxy makes of an odd one is what is to
//! be seen.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::resource::Resource;

/// An object that is served.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Its kind.
    pub resource: Resource,
    /// Its name.
    pub key: Key,
    /// All of it.
    pub value: Value,
}

/// What tells objects of one kind apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Empty for kinds without namespaces.
    pub namespace: String,
    /// The name within the namespace.
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

/// Why a text has no objects to serve.
#[derive(Debug, Error)]
pub enum ObjectError {
    /// The text is neither YAML nor JSON.
    #[error("document {document}: {source}")]
    Syntax {
        /// Which document of the text, from 1.
        document: usize,
        /// What the parser says.
        source: serde_norway::Error,
    },
    /// An object has no name.
    #[error("a {0} without metadata.name")]
    Nameless(Resource),
}

impl Key {
    /// Reads `NAMESPACE/NAME`, or `NAME` alone.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// Reads every object of a text that is of a kind that is served; others are left out.
///
/// # Errors
///
/// If a document cannot be parsed, or an object has no name.
pub fn read(text: &str) -> Result<Vec<Object>, ObjectError> {
    let mut objects = Vec::new();
    for (number, document) in serde_norway::Deserializer::from_str(text).enumerate() {
        let value = Value::deserialize(document)
            .map_err(|source| ObjectError::Syntax { document: number + 1, source })?;
        collect(value, &mut objects)?;
    }
    Ok(objects)
}

/// Returns the objects of a value: itself, or the items of a List.
///
/// # Errors
///
/// If an object has no name.
pub fn of(value: Value) -> Result<Vec<Object>, ObjectError> {
    let mut objects = Vec::new();
    collect(value, &mut objects)?;
    Ok(objects)
}

fn collect(mut value: Value, objects: &mut Vec<Object>) -> Result<(), ObjectError> {
    if let Some(Value::Array(items)) = value.get_mut("items").map(Value::take) {
        let kind = text(&value, "/kind").strip_suffix("List").unwrap_or_default().to_owned();
        return items.into_iter().try_for_each(|item| collect(with_kind(item, &kind), objects));
    }
    if let Ok(resource) = text(&value, "/kind").parse() {
        objects.push(object(resource, value)?);
    }
    Ok(())
}

/// Items of a typed list, such as a `ServiceList`, need not repeat their kind.
fn with_kind(mut item: Value, kind: &str) -> Value {
    if let Value::Object(fields) = &mut item {
        fields.entry("kind").or_insert_with(|| kind.into());
    }
    item
}

fn object(resource: Resource, mut value: Value) -> Result<Object, ObjectError> {
    let part = |pointer| text(&value, pointer).to_owned();
    let key = Key { namespace: part("/metadata/namespace"), name: part("/metadata/name") };
    if key.name.is_empty() {
        return Err(ObjectError::Nameless(resource));
    }
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".into(), resource.api_version().into());
    }
    Ok(Object { resource, key, value })
}

/// Returns the text at a JSON pointer, or an empty one.
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lists_of_yaml_and_json_are_read_alike() {
        let service = "{kind: Service, apiVersion: v1, metadata: {namespace: a, name: b}}";
        let texts = [
            service.to_owned(),
            format!("---\n{service}\n---\nkind: ConfigMap\nmetadata: {{name: c}}\n"),
            format!("kind: List\nitems: [{service}]"),
            "kind: ServiceList\nitems: [{metadata: {namespace: a, name: b}}]".to_owned(),
            r#"{"kind": "Service", "metadata": {"namespace": "a", "name": "b"}}"#.to_owned(),
        ];
        for text in texts {
            let objects = read(&text).unwrap();
            assert_eq!(objects.len(), 1, "{text}");
            assert_eq!(objects[0].key, Key::parse("a/b"), "{text}");
            assert_eq!(objects[0].value["apiVersion"], "v1", "{text}");
        }
    }

    #[test]
    fn a_nameless_object_and_a_broken_document_are_errors() {
        assert!(matches!(read("kind: Node"), Err(ObjectError::Nameless(Resource::Node))));
        let broken = read("kind: Node\nmetadata: {name: a}\n---\n{");
        assert!(matches!(broken, Err(ObjectError::Syntax { document: 2, .. })));
    }
}
