//! The ipset language: named sets of addresses, networks and ports (ipset(8)).
//!
//! [`ast`] is the tree. [`parse`] reads and [`print`](mod@print) writes what `ipset save` and `ipset list` show,
//! and commands as `ipset restore` takes them; [`element`] does so for single elements.
//! [`transaction`] holds the commands and applies them, within the limits of the kernel.
//! [`compare`](mod@compare) tells how two nodes' sets differ.

pub mod ast;
pub mod compare;
pub mod element;
mod icmp;
pub mod parse;
pub mod print;
pub mod transaction;

pub use ast::*;
pub use compare::compare;
pub use parse::{parse_commands, parse_sets};
pub use print::{print_commands, print_list, print_save};
pub use transaction::{ApplyError, Command, apply};
