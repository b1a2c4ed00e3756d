//! The binary `sim`: what kube-proxy's rules do with packets, from the command line.
//!
//! Raw arguments ([`args`]) become loaded objects ([`cluster`]) and nodes with rules ([`node`]) once,
//! for every subcommand; each subcommand is a file of [`commands`]; [`report`] writes answers. Exit code 0 is fine, 1 is a finding, 2 is bad
//! usage or nothing that could be read.

mod args;
mod clients;
mod cluster;
mod commands;
mod destination;
mod drawn;
mod dump;
mod error;
mod flows;
mod generated;
mod node;
mod owners;
mod report;
mod scaled;
mod services;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use error::Failure;
use report::style::BAD;

/// Objects and rules are a great many small allocations, which this allocator serves about twice as
/// fast as that of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a subcommand ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Nothing to say.
    Fine,
    /// Differences, failed expectations, or findings about objects with `--strict`.
    Findings,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Findings) => ExitCode::from(1),
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let _ = writeln!(anstream::stderr(), "{BAD}sim:{BAD:#} {failure}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<Verdict, Failure> {
    match &arguments.command {
        Command::Render(command) => commands::render::run(command),
        Command::Trace(command) => commands::trace::run(command),
        Command::Walk(command) => commands::walk::run(command),
        Command::Balance(command) => commands::balance::run(command),
        Command::Check(command) => commands::check::run(command),
        Command::Drift(command) => commands::drift::run(command),
        Command::Whatif(command) => commands::whatif::run(command),
        Command::Diff(command) => commands::diff::run(command),
        Command::Test(command) => commands::test::run(command),
        #[cfg(target_os = "linux")]
        Command::Kernel(command) => commands::kernel::run(command),
        #[cfg(target_os = "linux")]
        Command::KernelNode { folder } => commands::kernel::serve(folder),
        Command::Completions { shell } => commands::completions::run(*shell),
    }
}
