//! The tree as JSON: what `nft -j list ruleset` shows (libnftables-json(5)).
//!
//! `model` has the objects as the JSON has them; `write` and `read` turn the tree into them and
//! back, expression by expression. The JSON of nft 1.0.6 leaves out some things that the text has:
//! comments of tables and chains, the flag `dynamic`, the default of a rejection (which it spells
//! out). They are read where a newer nft writes them, and `dynamic` follows from the rules: only a
//! dynamic set can be updated.

mod model;
mod read;
mod read_value;
mod write;
mod write_value;

use serde::Serialize;
use serde_json::ser::Formatter;
use thiserror::Error;

use super::ast::Ruleset;
use crate::Parsed;

/// Why a JSON listing or an object of it could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonError {
    /// The text is no JSON.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// The JSON is not a listing.
    #[error("expected an object with a list `nftables`")]
    NoListing,
    /// An object of the listing is not what it should be.
    #[error("object {index}: {message}")]
    Object {
        /// Its place in the list, counted from 0.
        index: usize,
        /// What is wrong.
        message: String,
    },
}

/// Reads the JSON form of a rule set.
#[must_use]
pub fn parse_json(text: &str) -> Parsed<Ruleset, JsonError> {
    read::listing(text)
}

/// Returns a rule set in the form of `nft -j list ruleset`, handles as far as they are known.
#[must_use]
pub fn print_json(ruleset: &Ruleset) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Spaced);
    // A listing holds neither a map with keys that are no text nor a number that JSON cannot hold.
    let _ = write::listing(ruleset).serialize(&mut serializer);
    String::from_utf8(out).unwrap_or_default()
}

/// Writes a blank after each comma and colon, as nft does.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}
