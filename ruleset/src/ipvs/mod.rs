//! The IPVS language: virtual servers and their real servers (ipvsadm(8)).
//!
//! [`ast`] is the tree. [`parse`] reads what `ipvsadm-save -n`, `ipvsadm -Ln` and `/proc/net/ip_vs`
//! show, [`print`](mod@print) writes the first form in the tool's order. [`transaction`] holds the commands and
//! applies them. [`compare`](mod@compare) tells how two nodes' tables differ.

pub mod ast;
pub mod compare;
mod order;
pub mod parse;
pub mod print;
pub mod transaction;

pub use ast::*;
pub use compare::compare;
pub use parse::{parse_commands, parse_table};
pub use print::{print_commands, print_save};
pub use transaction::{ApplyError, Command, apply};
