//! `sim completions`: what a shell needs to complete commands and options.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::Verdict;
use crate::args::Arguments;
use crate::error::Failure;

/// Writes the completions of a shell to standard output.
pub fn run(shell: clap_complete::Shell) -> Result<Verdict, Failure> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "sim", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Verdict::Fine)
}
