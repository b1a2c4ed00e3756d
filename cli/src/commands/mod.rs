//! The subcommands, a file each.

pub mod balance;
pub mod check;
pub mod completions;
pub mod diff;
pub mod drift;
#[cfg(target_os = "linux")]
pub mod kernel;
pub mod render;
mod replay;
pub mod test;
pub mod trace;
pub mod walk;
pub mod whatif;
