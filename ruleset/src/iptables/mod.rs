//! The iptables language: tables, chains, rules with matches and targets (iptables(8),
//! iptables-extensions(8)), of both families and of both the `nf_tables` and the legacy tools.
//!
//! [`ast`] is the tree. [`parse`] reads it and [`print`](mod@print) writes it, as `iptables-save`, `iptables -S`
//! and `iptables-restore` do. [`build`] writes rules as a program would, and keeps the order.
//! [`transaction`] holds the commands and applies them. [`compare`](mod@compare) tells how two rule sets differ.

pub mod ast;
pub mod build;
pub mod compare;
mod layout;
mod names;
pub mod parse;
pub mod print;
pub mod transaction;

pub use ast::*;
pub use build::RuleWriter;
pub use compare::compare;
pub use parse::{parse_listing, parse_restore, parse_rule, parse_ruleset};
pub use print::{
    print_listing, print_match, print_restore, print_rule, print_ruleset, print_written,
};
pub use transaction::{ApplyError, Command, Flush, Transaction, apply};
