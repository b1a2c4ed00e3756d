//! Node programs: what runs in another kernel, or with other rights, and answers requests there.

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::{fs, io};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid};
use tempfile::TempDir;

use crate::KernelError;
use crate::served::{Served, serve};
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

    /// Starts the program as a child.
    pub(crate) fn start(&self) -> Result<Served, KernelError> {
        let folder = TempDir::new().map_err(KernelError::system("cannot make a folder"))?;
        let mut command = Command::new(&self.path);
        // Only root may open the lock that legacy iptables else takes.
        command.env("XTABLES_LOCKFILE", folder.path().join("xtables.lock"));
        command.args(&self.arguments).arg(folder.path());
        Served::start(command, folder)
    }
}

/// Answers requests in this folder until there are no more: as the init of a kernel in user mode, or
/// as a child of who asks, which makes itself root of a user namespace (`user_namespaces(7)`).
///
/// It must be called before there are other threads: a process with several cannot change its user
/// namespace.
///
/// # Errors
/// If there may be no user namespace, if requests cannot be read, or answers not be written.
pub fn run(folder: &Path) -> io::Result<()> {
    if process::id() == 1 {
        return user_mode::init(folder, answer);
    }
    become_root()?;
    serve(folder, io::stdin().lock(), io::stdout().lock(), answer)
}

/// Makes a user namespace in which the user that we run as is root.
fn become_root() -> io::Result<()> {
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // Without it, no group may be mapped.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}
