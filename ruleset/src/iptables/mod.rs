//! The iptables language: tables, chains, rules with matches and targets (iptables(8),
//! iptables-extensions(8)), of both families and of both the `nf_tables` and the legacy tools.
//!
//! [`ast`] is the tree. [`build`] writes rules as a program would, and keeps the order.

pub mod ast;
pub mod build;
mod layout;

pub use ast::*;
pub use build::RuleWriter;
