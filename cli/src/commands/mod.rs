//! The subcommands, a file each.

pub mod balance;
pub mod check;
pub mod completions;
pub mod render;
pub mod test;
pub mod trace;
pub mod walk;
pub mod whatif;
