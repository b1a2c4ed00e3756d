//! Reads objects in any form that kubectl writes: YAML or JSON, one or many documents, lists.
//!
//! Each file is cut into pieces (`yaml`, `json`), each piece is typed by itself (`form`, `object`)
//! on all cores, and the objects are gathered in order (`gather`). Whatever cannot be read becomes a
//! [`Diagnostic`] with file, line, object and field; the rest goes on.

mod check;
pub(crate) mod form;
mod gather;
mod json;
pub(crate) mod object;
mod sources;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use rayon::prelude::*;

use crate::{Cluster, Diagnostic, Place};
pub use object::Object;
pub use sources::Input;

use form::{Failure, Form, JsonText, YamlText, without_place};
use gather::Gathered;
use object::Head;

/// How many lists may stand in each other.
const MAX_LISTS: usize = 8;

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
    /// How many objects there were of each kind that kube-proxy does not look at.
    pub passed_over: BTreeMap<String, usize>,
    /// Where each object of the cluster was read, by its name as findings print it.
    pub places: HashMap<String, Place>,
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

/// Where a piece comes from.
#[derive(Clone, Copy)]
struct Origin<'a> {
    /// The line of the file where it starts.
    line: usize,
    /// What the list says of itself, of which it is an item.
    list: Option<&'a Head>,
    /// In how many lists it stands.
    depth: usize,
}

fn read_input(input: &Input, gathered: &mut Gathered) {
    let text = input.text.strip_prefix('\u{feff}').unwrap_or(&input.text);
    if text.trim_start().starts_with(['{', '[']) {
        read_json(&input.name, text, gathered);
    } else {
        read_yaml(&input.name, text, gathered);
    }
}

/// Reads JSON; what is not, may be YAML in brackets.
fn read_json(name: &str, text: &str, gathered: &mut Gathered) {
    let (pieces, error) = json::pieces(text);
    if error.is_some() && yaml::documents(text).iter().all(|d| YamlText(d.text).is_yaml()) {
        return read_yaml(name, text, gathered);
    }
    let lines = json::lines(text, &pieces);
    let outcomes = pieces.par_iter().zip(lines).flat_map_iter(|(piece, line)| {
        outcomes(&JsonText(piece.text), Origin { line, list: piece.list.as_ref(), depth: 0 })
    });
    gathered.add(name, outcomes.collect());
    if let Some(error) = error {
        let why = without_place(&error.to_string());
        gathered.note(Diagnostic::unreadable(name, Some(error.line()), &why));
    }
}

fn read_yaml(name: &str, text: &str, gathered: &mut Gathered) {
    let documents = yaml::documents(text);
    gathered.add(name, documents.par_iter().flat_map_iter(document_outcomes).collect());
}

/// Reads a document by its items, if it can be cut and the cut proves right, else as a whole.
fn document_outcomes(document: &yaml::Document<'_>) -> Vec<Outcome> {
    let whole = Origin { line: document.line, list: None, depth: 0 };
    let Some(list) = document.list() else { return outcomes(&YamlText(document.text), whole) };
    let cut = list.items.par_iter().flat_map_iter(|item| {
        let line = document.line + item.line;
        outcomes(&YamlText(&item.text()), Origin { line, list: Some(&list.head), depth: 1 })
    });
    let cut: Vec<Outcome> = cut.collect();
    let is_doubtful = cut.iter().any(Outcome::is_no_yaml);
    if is_doubtful && YamlText(document.text).is_yaml() {
        return outcomes(&YamlText(document.text), whole);
    }
    cut
}

/// Reads an object, or the objects of a list.
fn outcomes<F: Form>(form: &F, origin: Origin<'_>) -> Vec<Outcome> {
    let mut outcome = outcome(form, origin);
    if !outcome.head.is_list() || outcome.object.is_some() {
        return vec![outcome];
    }
    match item_outcomes(form, &outcome.head, origin) {
        Ok(Some(outcomes)) => outcomes,
        // An empty list, or a kind that only sounds like one.
        Ok(None) => vec![outcome],
        Err(failure) => {
            outcome.object = Some(Err(failure));
            vec![outcome]
        }
    }
}

/// Reads the items of a list that was not cut: they lose their lines, nothing else.
fn item_outcomes<F: Form>(
    form: &F,
    list: &Head,
    origin: Origin<'_>,
) -> Result<Option<Vec<Outcome>>, Failure> {
    if origin.depth >= MAX_LISTS {
        return Err(Failure::new(format!("in more than {MAX_LISTS} lists")));
    }
    let inner = Origin { list: Some(list), depth: origin.depth + 1, ..origin };
    let items = form.items()?;
    Ok(items.map(|items| items.iter().flat_map(|item| outcomes(item, inner)).collect()))
}

fn outcome<F: Form>(form: &F, origin: Origin<'_>) -> Outcome {
    let line = origin.line;
    if let Some(head) = form.glance() {
        match Object::read(&head, form) {
            Some(Ok(object)) => return Outcome { line, head, object: Some(Ok(object)) },
            None if !head.is_outdated() => return Outcome { line, head, object: None },
            _ => {}
        }
    }
    // An error needs the object's name, which is read only here.
    let (mut head, failure) = match form.typed::<Option<Head>>() {
        Ok(head) => (head.unwrap_or_default(), None),
        Err(failure) => (Head::of_kind(form.typed().ok()), Some(failure)),
    };
    if let Some(list) = origin.list {
        head.adopt(list);
    }
    let object = failure.map_or_else(|| Object::read(&head, form), |failure| Some(Err(failure)));
    Outcome { line, head, object }
}

impl Outcome {
    fn is_no_yaml(&self) -> bool {
        matches!(&self.object, Some(Err(failure)) if failure.is_syntax)
    }
}
