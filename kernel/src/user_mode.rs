//! A kernel in user mode (Debian package `user-mode-linux`): IPVS and whatever else the kernel that
//! runs us lacks, in an ordinary process, without any rights.
//!
//! Its root is this machine's file system, read-only; its init is a node program, which mounts what
//! it writes to. [`boot`] is the outside of it, [`prepare`] the inside.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use tempfile::TempDir;

use crate::KernelError;
use crate::exchange::{Exchanges, Request};
use crate::program::Program;
use crate::served::{Served, serve};

const KERNEL: &str = "linux.uml";
/// What the kernel would else add after the arguments of its init.
const DEFAULTS: [&str; 2] = ["root=98:0", "console=tty0"];
/// Where the tools are that load rules.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The serial line to the outside.
const LINE: &str = "/dev/ttyS0";
/// Where the package keeps the modules of its kernel.
const MODULES: &str = "/usr/lib/uml/modules";
/// Where the folder of requests is seen inside.
const FOLDER: &str = "/run/requests";
/// Asked for by name; whatever else rules need, the kernel loads by itself.
const NEEDED: [&str; 4] = ["tun", "ipv6", "nf_conntrack", "ip_vs"];

/// Boots a kernel whose init is the node program.
pub fn boot(program: &Program) -> Result<Served, KernelError> {
    let folder = TempDir::new().map_err(KernelError::system("cannot make a folder"))?;
    let mut command = Command::new(KERNEL);
    let path = |name: &str, value: &Path| {
        let mut word = OsString::from(name);
        word.push(value);
        word
    };
    command
        .args(DEFAULTS)
        .args(["mem=512M", "rootfstype=hostfs", "ro", "quiet", PATH])
        .args(["con=null", "con0=null,fd:2", "ssl0=fd:0,fd:1"])
        .arg(path("uml_dir=", folder.path()))
        .arg(path("init=", &program.path))
        .arg("--")
        .args(&program.arguments)
        .arg(folder.path());
    if let Some(library) = wide_state(folder.path())? {
        command.env("LD_PRELOAD", library);
    }
    Served::start(command, folder)
}

/// Makes the library that lets the kernel run on processors with AMX, if this is one: the host wants
/// their whole extended state back, which is larger than the kernel's buffer for it.
fn wide_state(folder: &Path) -> Result<Option<PathBuf>, KernelError> {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if !processors.contains("amx_tile") {
        return Ok(None);
    }
    let (source, library) = (folder.join("xstate.c"), folder.join("xstate.so"));
    fs::write(&source, include_str!("../../oracle/schedulers/xstate.c"))
        .map_err(KernelError::system("cannot write a folder"))?;
    let missing = |source| KernelError::MissingTool { tool: "cc".to_owned(), source };
    let output = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .stdin(Stdio::null())
        .output()
        .map_err(missing)?;
    if output.status.success() {
        return Ok(Some(library));
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(KernelError::Refused { tool: "cc".to_owned(), message })
}

/// Serves as the init of a kernel in user mode: mounts and loads what is needed, answers requests,
/// and switches the kernel off.
///
/// # Errors
/// Only if it cannot be switched off. What else fails is told on the console.
pub fn init(
    folder: &Path,
    answer: impl Fn(&Request) -> Result<Exchanges, KernelError>,
) -> io::Result<()> {
    if let Err(why) = prepare(folder).and_then(|()| serve_line(answer)) {
        eprintln!("{why}");
    }
    reboot(RebootMode::RB_POWER_OFF)?;
    Ok(())
}

/// Makes a machine of a kernel that has only its root.
fn prepare(folder: &Path) -> io::Result<()> {
    mount_at("proc", "/proc", None)?;
    mount_at("sysfs", "/sys", None)?;
    mount_at("tmpfs", "/run", None)?;
    fs::create_dir(FOLDER)?;
    mount_at("hostfs", FOLDER, Some(folder))?;
    fs::create_dir_all("/run/modules/lib")?;
    symlink(MODULES, "/run/modules/lib/modules")?;
    fs::write("/run/modprobe", "#!/bin/sh\nexec modprobe -d /run/modules -q \"$@\"\n")?;
    fs::set_permissions("/run/modprobe", fs::Permissions::from_mode(0o755))?;
    fs::write("/proc/sys/kernel/modprobe", "/run/modprobe")?;
    for module in NEEDED {
        Command::new("/run/modprobe").arg(module).status()?;
    }
    Ok(())
}

fn mount_at(kind: &str, at: &str, data: Option<&Path>) -> io::Result<()> {
    mount(Some(kind), at, Some(kind), MsFlags::empty(), data)
        .map_err(|error| io::Error::other(format!("cannot mount {at}: {error}")))
}

/// Answers requests on the serial line. It is opened once: closing it would close it for good.
fn serve_line(answer: impl Fn(&Request) -> Result<Exchanges, KernelError>) -> io::Result<()> {
    let line = OpenOptions::new().read(true).write(true).open(LINE)?;
    let mut settings = tcgetattr(&line)?;
    cfmakeraw(&mut settings);
    tcsetattr(&line, SetArg::TCSANOW, &settings)?;
    serve(Path::new(FOLDER), BufReader::new(&line), &line, answer)
}
