//! From text to a suite. An expectation that cannot be read is a fault; the others still count.

use std::fmt;
use std::path::PathBuf;

use kps_model::{KubeVersion, Mode};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_norway::Value;
use thiserror::Error;

use super::suite::{Expectation, Suite, modes, release};

/// What is wrong with a file of expectations.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Fault {
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The path of the field.
    pub field: Option<String>,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// The file as written, its expectations unread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "a mapping")]
struct Written {
    #[serde(default)]
    clusters: Vec<PathBuf>,
    config: Option<PathBuf>,
    #[serde(default, deserialize_with = "release")]
    kube_version: Option<KubeVersion>,
    #[serde(default, deserialize_with = "modes")]
    modes: Vec<Mode>,
    #[serde(default)]
    nodes: Vec<String>,
    expectations: Vec<Value>,
}

/// Reads a file of expectations, in YAML or JSON, and what is wrong with single expectations.
///
/// # Errors
/// If the text is no such file at all.
pub fn read(text: &str) -> Result<(Suite, Vec<Fault>), Fault> {
    let reader = serde_norway::Deserializer::from_str(text);
    let written: Written =
        serde_path_to_error::deserialize(reader).map_err(|error| Fault::of(&error))?;
    let mut faults = Vec::new();
    let mut expectations = Vec::new();
    for (index, value) in written.expectations.into_iter().enumerate() {
        match Expectation::deserialize(value) {
            Ok(expectation) => match expectation.idle_field() {
                Some(field) => faults.push(idle(text, index, field, &expectation)),
                None => expectations.push(Expectation { index, ..expectation }),
            },
            Err(_) => faults.push(fault_of(text, index)),
        }
    }
    let suite = Suite {
        clusters: written.clusters,
        config: written.config,
        kube_version: written.kube_version,
        modes: written.modes,
        nodes: written.nodes,
        expectations,
    };
    Ok((suite, faults))
}

fn idle(text: &str, index: usize, field: &str, expectation: &Expectation) -> Fault {
    let line = line_of(text, index);
    let message = format!("says nothing where `{}` is expected; take it out", expectation.expect);
    Fault { line, field: Some(format!("expectations[{index}].{field}")), message }
}

/// Reads one expectation again for an error that names its line and field.
fn fault_of(text: &str, index: usize) -> Fault {
    let reader = serde_norway::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(reader, &mut track);
    match (Nth { index, probe: false }).deserialize(tracked) {
        Ok(()) => {
            Fault { line: line_of(text, index), field: None, message: "cannot be read".to_owned() }
        }
        Err(error) => Fault::new(&track.path(), &error),
    }
}

/// Returns the line on which an expectation starts, counted from 1: that of an error made there.
#[must_use]
pub fn line_of(text: &str, index: usize) -> Option<usize> {
    let reader = serde_norway::Deserializer::from_str(text);
    let error = Nth { index, probe: true }.deserialize(reader).err()?;
    Some(error.location()?.line())
}

impl Fault {
    fn of(error: &serde_path_to_error::Error<serde_norway::Error>) -> Fault {
        Fault::new(error.path(), error.inner())
    }

    fn new(path: &serde_path_to_error::Path, error: &serde_norway::Error) -> Fault {
        let path = path.to_string();
        let field = (path != "." && path != "?").then_some(path);
        let line = error.location().map(|place| place.line());
        Fault { line, message: bare(&error.to_string()), field }
    }
}

/// Takes the library's own place and path off a message.
fn bare(message: &str) -> String {
    let end = message.rfind(" at line ").unwrap_or(message.len());
    let text = message.get(..end).unwrap_or(message);
    let is_path = |path: &str| !path.contains(' ');
    text.split_once(": ")
        .filter(|(path, _)| is_path(path))
        .map_or(text, |(_, rest)| rest)
        .to_owned()
}

/// Reads one expectation of the file and passes over everything else.
#[derive(Clone, Copy)]
struct Nth {
    index: usize,
    /// Whether to fail there, for the sake of the place.
    probe: bool,
}

impl<'de> DeserializeSeed<'de> for Nth {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nth {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping with a list of expectations")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "expectations" {
                map.next_value_seed(self)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for _ in 0..self.index {
            items.next_element::<IgnoredAny>()?;
        }
        if self.probe {
            items.next_element_seed(Stop)?;
        } else {
            items.next_element::<Expectation>()?;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// Fails at whatever it is to read.
struct Stop;

impl<'de> DeserializeSeed<'de> for Stop {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Stop {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(A::Error::custom("here"))
    }
}
