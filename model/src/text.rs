//! Strings as Kubernetes reads them: only what was written as a string.
//!
//! YAML libraries give an unquoted `12` to whoever asks for a string. Kubernetes goes by way of
//! JSON, where it is a number and refused; so do these. Absent and `null` are the same.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// A string that was written as one.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string (put it in quotes)")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Text, E> {
        Ok(Text(text))
    }
}

/// Reads a string; absent is empty.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    optional_text(deserializer).map(Option::unwrap_or_default)
}

/// Reads a string that may be absent.
pub fn optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Option::<Text>::deserialize(deserializer)?.map(|text| text.0))
}

/// Reads a list of strings.
pub fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = Option::<Vec<Option<Text>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(texts.into_iter().map(|text| text.map(|text| text.0).unwrap_or_default()).collect())
}

/// Reads strings by name.
pub fn text_map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let map = Option::<BTreeMap<Name, Option<Text>>>::deserialize(deserializer)?;
    let entry =
        |(name, text): (Name, Option<Text>)| (name.0, text.map(|t| t.0).unwrap_or_default());
    Ok(map.unwrap_or_default().into_iter().map(entry).collect())
}

/// The name of a field: a string however it is written, since JSON has no others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Name, E> {
        Ok(Name(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Name, E> {
        Ok(Name(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Name, E> {
        Ok(Name(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Name, E> {
        Ok(Name(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Name, E> {
        Ok(Name(value.to_string()))
    }
}
