//! JSON, cut into objects: a stream of values, each an object, a list object or an array.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::object::Head;

/// How deep arrays of objects may be nested; what is deeper is no object.
const MAX_DEPTH: usize = 8;

/// One object of a file.
pub struct Piece<'a> {
    /// Its text.
    pub text: &'a str,
    /// What the list that it was cut from says of itself.
    pub list: Option<Head>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default, borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// Cuts a file into its objects; stops at the first thing that is not JSON and returns the error.
pub fn pieces(text: &str) -> (Vec<Piece<'_>>, Option<serde_json::Error>) {
    let mut pieces = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        match value {
            Ok(value) => cut(value.get(), 0, &mut pieces),
            Err(error) => return (pieces, Some(error)),
        }
    }
    (pieces, None)
}

fn cut<'a>(text: &'a str, depth: usize, pieces: &mut Vec<Piece<'a>>) {
    if text.starts_with('[')
        && depth < MAX_DEPTH
        && let Ok(array) = serde_json::from_str::<Vec<&RawValue>>(text)
    {
        for item in array {
            cut(item.get(), depth + 1, pieces);
        }
        return;
    }
    match list(text) {
        Some((head, items)) => {
            let piece = |item: &'a RawValue| Piece { text: item.get(), list: Some(head.clone()) };
            pieces.extend(items.into_iter().map(piece));
        }
        None => pieces.push(Piece { text, list: None }),
    }
}

/// Reads a list object with its items.
fn list(text: &str) -> Option<(Head, Vec<&RawValue>)> {
    let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
    let Envelope { api_version, kind, items } = envelope;
    let head = Some(Head { api_version, kind, metadata: None }).filter(Head::is_list)?;
    Some((head, items?))
}

/// Returns the line of `text` where each piece starts, counted from 1. Pieces are in order, so each
/// line is counted once.
pub fn lines(text: &str, pieces: &[Piece<'_>]) -> Vec<usize> {
    let (mut counted, mut line) = (0, 1);
    let start =
        |piece: &Piece<'_>| (piece.text.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let mut line_of = |piece: &Piece<'_>| {
        let before = text.as_bytes().get(counted..start(piece)).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', before).count();
        counted = start(piece).max(counted);
        line
    };
    pieces.iter().map(&mut line_of).collect()
}
