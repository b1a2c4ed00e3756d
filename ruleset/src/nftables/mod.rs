//! The nftables language: tables, chains, rules, sets and maps (nft(8)).
//!
//! [`ast`] is the tree. [`transaction`] holds the command form (`add rule …`) and applies it to a
//! tree as the kernel would.

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod ast;
pub mod compare;
mod datatype;
pub mod json;
#[cfg(test)]
mod laws;
mod normalise;
pub mod parse;
pub mod print;
pub mod transaction;

pub use ast::*;
pub use compare::{Change, Difference, Object, compare};
pub use datatype::protocol_name;
pub use json::{JsonError, parse_json, print_json};
pub use parse::{ParseError, parse_ruleset, parse_script};
pub use print::{print_ruleset, print_script, write_script};
pub use transaction::{ApplyError, ApplyErrorKind, Command, TableId};
