//! `sim completions`: what a shell needs to complete commands and options.

use clap::CommandFactory;

use crate::Verdict;
use crate::args::Arguments;
use crate::error::Failure;

/// Writes the completions of a shell to standard output.
#[expect(clippy::unnecessary_wraps, reason = "subcommands have one form")]
pub fn run(shell: clap_complete::Shell) -> Result<Verdict, Failure> {
    let mut command = Arguments::command();
    clap_complete::generate(shell, &mut command, "sim", &mut std::io::stdout());
    Ok(Verdict::Fine)
}
