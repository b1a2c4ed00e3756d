//! Node programs: what runs in another kernel, or with other rights, and answers requests there.

use std::io;
use std::path::{Path, PathBuf};

use crate::served::serve;
use crate::{answer, user_mode};

/// A program that calls [`run`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// Its arguments before the folder.
    pub arguments: Vec<String>,
}

impl Program {
    /// Returns a program that takes the folder as its only argument.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Program {
        Program { path: path.into(), arguments: Vec::new() }
    }
}

/// Answers requests in this folder until there are no more: as the init of a kernel in user mode, or
/// as a child of who asks.
///
/// # Errors
/// If requests cannot be read, or answers not be written.
pub fn run(folder: &Path) -> io::Result<()> {
    if std::process::id() == 1 {
        return user_mode::init(folder, answer);
    }
    serve(folder, io::stdin().lock(), io::stdout().lock(), answer)
}
