//! JSON, cut into objects: a stream of values, each an object, a list object or an array.

use serde::Deserialize;
use serde_json::value::RawValue;

/// One object of a file.
pub struct Piece<'a> {
    /// Its text.
    pub text: &'a str,
    /// The kind of the typed list that it was cut from.
    pub list: Option<String>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
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
            Ok(value) => cut(value.get(), &mut pieces),
            Err(error) => return (pieces, Some(error)),
        }
    }
    (pieces, None)
}

fn cut<'a>(text: &'a str, pieces: &mut Vec<Piece<'a>>) {
    if let Ok(array) = serde_json::from_str::<Vec<&RawValue>>(text) {
        for item in array {
            cut(item.get(), pieces);
        }
        return;
    }
    match serde_json::from_str::<Envelope<'_>>(text) {
        Ok(Envelope { kind: Some(kind), items: Some(items) }) if kind.ends_with("List") => {
            let list = (kind != "List").then_some(kind);
            let piece = |item: &'a RawValue| Piece { text: item.get(), list: list.clone() };
            pieces.extend(items.into_iter().map(piece));
        }
        _ => pieces.push(Piece { text, list: None }),
    }
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

/// Returns what an error says, without the library's own account of where.
pub fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
