//! The forms that an object comes in: YAML text, YAML that was parsed already, JSON text.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_norway::Value;

use super::object::Head;
use super::yaml;

/// Why something is no object.
#[derive(Debug)]
pub struct Failure {
    /// The line within the text, counted from 1.
    pub line: Option<usize>,
    /// The path of the field.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
    /// Whether the text is not even in its format.
    pub is_syntax: bool,
}

/// Something that an object can be read from.
pub trait Form {
    /// The form of a list's items.
    type Item<'a>: Form
    where
        Self: 'a;

    /// Reads it into a type; errors name the field.
    fn typed<T: DeserializeOwned>(&self) -> Result<T, Failure>;

    /// Returns the items, if it is a list: has a field of that name.
    fn items(&self) -> Result<Option<Vec<Self::Item<'_>>>, Failure>;

    /// Returns what it says of its kind, if that is plain to see without reading it.
    fn glance(&self) -> Option<Head> {
        None
    }
}

/// YAML text.
pub struct YamlText<'a>(pub &'a str);
/// YAML that was parsed already.
pub struct Parsed(pub Value);
/// JSON text.
pub struct JsonText<'a>(pub &'a str);

#[derive(Deserialize)]
#[serde(expecting = "a mapping")]
struct List<T> {
    #[serde(default = "Option::default")]
    items: Option<Vec<T>>,
}

#[derive(Deserialize)]
struct RawList<'a> {
    #[serde(default, borrow)]
    items: Option<Vec<&'a RawValue>>,
}

impl Form for YamlText<'_> {
    type Item<'a>
        = Parsed
    where
        Self: 'a;

    fn typed<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.is_shallow()?;
        if self.has_merge_key() {
            return self.parsed()?.typed();
        }
        serde_norway::from_str(self.0).or_else(|_| self.careful())
    }

    fn items(&self) -> Result<Option<Vec<Parsed>>, Failure> {
        self.is_shallow()?;
        if self.has_merge_key() {
            return self.parsed()?.items();
        }
        let list: List<Value> = self.careful()?;
        Ok(list.items.map(|items| items.into_iter().map(Parsed).collect()))
    }

    fn glance(&self) -> Option<Head> {
        yaml::glance(self.0).filter(|_| !self.has_merge_key())
    }
}

impl YamlText<'_> {
    /// Tells whether the text is YAML at all.
    pub fn is_yaml(&self) -> bool {
        self.is_shallow().is_ok() && serde_norway::from_str::<IgnoredAny>(self.0).is_ok()
    }

    /// Reads again, slower, for an error that names the field.
    fn careful<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let reader = serde_norway::Deserializer::from_str(self.0);
        serde_path_to_error::deserialize(reader).map_err(|error| Failure {
            line: error.inner().location().map(|place| place.line()),
            is_syntax: !self.is_yaml(),
            ..Failure::of(&error)
        })
    }

    fn parsed(&self) -> Result<Parsed, Failure> {
        let mut value: Value = self.careful()?;
        value.apply_merge().map_err(|error| Failure::new(error.to_string()))?;
        Ok(Parsed(value))
    }

    /// Merge keys are YAML 1.1, which Kubernetes reads; the library leaves them to its users.
    fn has_merge_key(&self) -> bool {
        memchr::memmem::find(self.0.as_bytes(), b"<<").is_some()
    }

    fn is_shallow(&self) -> Result<(), Failure> {
        if yaml::is_too_deep(self.0) {
            return Err(Failure {
                is_syntax: true,
                ..Failure::new("nested too deeply".to_owned())
            });
        }
        Ok(())
    }
}

impl Form for Parsed {
    type Item<'a> = Parsed;

    fn typed<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        typed(&self.0)
    }

    fn items(&self) -> Result<Option<Vec<Parsed>>, Failure> {
        let list: List<Value> = typed(&self.0)?;
        Ok(list.items.map(|items| items.into_iter().map(Parsed).collect()))
    }
}

impl Form for JsonText<'_> {
    type Item<'a>
        = JsonText<'a>
    where
        Self: 'a;

    fn typed<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        // The library would take an array for the fields of an object in their order.
        if self.0.starts_with('[') {
            let what = "invalid type: sequence, expected a Kubernetes object";
            return Err(Failure::new(what.to_owned()));
        }
        serde_json::from_str(self.0).or_else(|_| {
            let mut reader = serde_json::Deserializer::from_str(self.0);
            serde_path_to_error::deserialize(&mut reader)
                .map_err(|e| Failure { line: Some(e.inner().line()), ..Failure::of(&e) })
        })
    }

    fn items(&self) -> Result<Option<Vec<JsonText<'_>>>, Failure> {
        let list: RawList<'_> =
            serde_json::from_str(self.0).map_err(|error| Failure::new(error.to_string()))?;
        Ok(list.items.map(|items| items.into_iter().map(|item| JsonText(item.get())).collect()))
    }
}

fn typed<'de, T: DeserializeOwned, D: Deserializer<'de>>(reader: D) -> Result<T, Failure>
where
    D::Error: std::fmt::Display,
{
    serde_path_to_error::deserialize(reader).map_err(|error| Failure::of(&error))
}

impl Failure {
    pub(super) fn new(message: String) -> Failure {
        Failure { line: None, field: None, message, is_syntax: false }
    }

    fn of<E: std::fmt::Display>(error: &serde_path_to_error::Error<E>) -> Failure {
        let path = error.path().to_string();
        Failure {
            field: (path != "." && path != "?").then_some(path),
            ..Failure::new(without_place(&error.inner().to_string()))
        }
    }
}

/// Takes the library's own line numbers and path off: they count within the piece.
pub(super) fn without_place(message: &str) -> String {
    let end = message.find(" at line ").unwrap_or(message.len());
    let text = &message[..end];
    text.split_once(": ")
        .filter(|(path, _)| !path.contains(' '))
        .map_or(text, |(_, m)| m)
        .to_owned()
}
