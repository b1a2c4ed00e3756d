//! The ipset language: named sets of addresses, networks and ports (ipset(8)).
//!
//! [`ast`] is the tree.

pub mod ast;

pub use ast::*;
