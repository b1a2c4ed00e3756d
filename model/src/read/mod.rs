//! Reads objects in any form that kubectl writes: YAML or JSON, one or many documents, lists.
//!
//! Each file is cut into pieces (`yaml`, `json`), each piece is typed by itself (`object`) on
//! all cores, and the objects are gathered in order. Whatever cannot be read becomes a
//! [`Diagnostic`] with file, line, object and field; the rest goes on.

mod check;
mod gather;
mod json;
pub(crate) mod object;
mod sources;
mod yaml;

use std::path::PathBuf;

use rayon::prelude::*;

use crate::{Cluster, Diagnostic};
pub use object::Object;
pub use sources::Input;

use gather::Gathered;
use object::{Failure, Format, Head, Json, Yaml};

/// Where objects come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, or a directory whose `.yaml`, `.yml` and `.json` files are read.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

/// What was read.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The objects.
    pub cluster: Cluster,
    /// What was wrong or odd, in the order of the inputs.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads all sources.
#[must_use]
pub fn read(sources: &[Source]) -> Reading {
    let mut gathered = Gathered::default();
    for source in sources {
        sources::inputs(source, &mut |input| match input {
            Ok(input) => read_input(&input, &mut gathered),
            Err(diagnostic) => gathered.note(diagnostic),
        });
    }
    gathered.finish()
}

/// Reads one text, as if it were a file of that name.
#[must_use]
pub fn read_text(name: &str, text: &str) -> Reading {
    let mut gathered = Gathered::default();
    read_input(&Input { name: name.to_owned(), text: text.to_owned() }, &mut gathered);
    gathered.finish()
}

/// What became of one piece.
pub(crate) struct Outcome {
    /// The line of the file where the piece starts.
    pub line: usize,
    /// What its head says.
    pub head: Head,
    /// The object, `None` for a kind that kube-proxy does not look at.
    pub object: Option<Result<Object, Failure>>,
}

fn read_input(input: &Input, gathered: &mut Gathered) {
    let text = input.text.strip_prefix('\u{feff}').unwrap_or(&input.text);
    if text.trim_start().starts_with(['{', '[']) {
        read_json(input, text, gathered);
    } else {
        read_yaml(input, text, gathered);
    }
}

fn read_json(input: &Input, text: &str, gathered: &mut Gathered) {
    let (pieces, error) = json::pieces(text);
    let outcomes: Vec<Outcome> = pieces
        .par_iter()
        .zip(json::lines(text, &pieces))
        .map(|(piece, line)| outcome::<Json>(piece.text, line, piece.list.as_deref()))
        .collect();
    gathered.add(&input.name, outcomes);
    if let Some(error) = error {
        gathered.note(Diagnostic::unreadable(
            &input.name,
            Some(error.line()),
            &json::without_place(&error),
        ));
    }
}

fn read_yaml(input: &Input, text: &str, gathered: &mut Gathered) {
    let outcomes: Vec<Outcome> = yaml::pieces(text)
        .par_iter()
        .flat_map_iter(|piece| {
            whole_list(piece)
                .unwrap_or_else(|| vec![outcome::<Yaml>(&piece.text, piece.line, piece.list)])
        })
        .collect();
    gathered.add(&input.name, outcomes);
}

/// Reads a list that was not cut, by way of JSON: its items lose their lines, nothing else.
fn whole_list(piece: &yaml::Piece<'_>) -> Option<Vec<Outcome>> {
    let head: Head = serde_norway::from_str(&piece.text).ok()?;
    if piece.list.is_some() || !head.kind.as_deref()?.ends_with("List") {
        return None;
    }
    let value: serde_json::Value = serde_norway::from_str(&piece.text).ok()?;
    let text = value.to_string();
    let (pieces, _) = json::pieces(&text);
    let item = |p: &json::Piece<'_>| outcome::<Json>(p.text, piece.line, p.list.as_deref());
    Some(pieces.iter().map(item).collect())
}

fn outcome<F: Format>(text: &str, line: usize, list: Option<&str>) -> Outcome {
    if let Some(head) = F::glance(text) {
        match Object::read::<F>(&head, text) {
            Some(Ok(object)) => return Outcome { line, head, object: Some(Ok(object)) },
            None if !head.is_outdated() => return Outcome { line, head, object: None },
            _ => {}
        }
    }
    careful_outcome::<F>(text, line, list)
}

/// Reads the head as a part of the object, for its name.
fn careful_outcome<F: Format>(text: &str, line: usize, list: Option<&str>) -> Outcome {
    let mut head: Head = match F::typed::<Option<Head>>(text) {
        Ok(head) => head.unwrap_or_default(),
        Err(failure) => {
            return Outcome { line, head: Head::default(), object: Some(Err(failure)) };
        }
    };
    if head.kind.is_none() {
        head.kind = list.and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
    }
    let object = Object::read::<F>(&head, text);
    Outcome { line, head, object }
}
