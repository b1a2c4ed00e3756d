//! A sequence of changes, written down beforehand and made one by one.
//!
//! A list in YAML or JSON: `apply: OBJECT` adds or replaces, `delete: {kind, namespace, name}` deletes.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::object::{self, Key, Object, ObjectError, text};
use crate::resource::{Resource, UnknownKind};

/// A change of what is stored that is yet to be made.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned {
    /// Objects are added or replaced: one, or those of a List.
    Apply(Vec<Object>),
    /// An object is deleted.
    Delete(Resource, Key),
}

/// Why a text is no sequence of changes.
#[derive(Debug, Error)]
pub enum EventError {
    /// The text is no list, in neither YAML nor JSON.
    #[error(transparent)]
    Syntax(#[from] serde_norway::Error),
    /// A change has another name.
    #[error("event {number}: {word:?} is not served: apply and delete are")]
    Unknown {
        /// Which of the list, from 1.
        number: usize,
        /// Its name.
        word: String,
    },
    /// An object is not as it must be.
    #[error("event {number}: {source}")]
    Object {
        /// Which of the list, from 1.
        number: usize,
        /// What is wrong.
        source: ObjectError,
    },
    /// What is to be deleted is of no kind that is served.
    #[error("event {number}: {source}")]
    Kind {
        /// Which of the list, from 1.
        number: usize,
        /// What is wrong.
        source: UnknownKind,
    },
}

/// An event as it is written: one field, whose name says what happens.
#[derive(Deserialize)]
#[serde(transparent)]
struct Written(serde_json::Map<String, Value>);

/// Reads a sequence of changes.
///
/// # Errors
///
/// If the text is no list, or one of its items is no change.
pub fn read(text: &str) -> Result<Vec<Planned>, EventError> {
    let written: Vec<Written> = serde_norway::from_str(text)?;
    (1..).zip(written).map(|(number, written)| event(number, written)).collect()
}

fn event(number: usize, Written(fields): Written) -> Result<Planned, EventError> {
    match fields.into_iter().next() {
        Some((word, value)) if word == "apply" => object::of(value)
            .map(Planned::Apply)
            .map_err(|source| EventError::Object { number, source }),
        Some((word, value)) if word == "delete" => {
            let part = |pointer| text(&value, pointer).to_owned();
            let key = Key { namespace: part("/namespace"), name: part("/name") };
            let resource = part("/kind").parse();
            let resource = resource.map_err(|source| EventError::Kind { number, source })?;
            Ok(Planned::Delete(resource, key))
        }
        other => {
            let word = other.map(|(word, _)| word).unwrap_or_default();
            Err(EventError::Unknown { number, word })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_in_order() {
        let text = "
- apply: {kind: Node, metadata: {name: a}}
- delete: {kind: Service, namespace: ns, name: b}
";
        let events = read(text).unwrap();
        let deleted = Planned::Delete(Resource::Service, Key::parse("ns/b"));
        assert!(matches!(&events[0], Planned::Apply(objects) if objects.len() == 1));
        assert_eq!(events[1..], [deleted]);
    }

    #[test]
    fn what_is_no_change_is_said_with_its_number() {
        for (text, words) in [
            ("- restart: {}", "event 1: \"restart\""),
            ("- apply: {kind: Node}", "event 1: a Node without metadata.name"),
            ("- delete: {kind: Pod, name: a}", "event 1: no kind \"Pod\""),
            ("- {}", "event 1: \"\""),
            ("apply", "invalid type"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
