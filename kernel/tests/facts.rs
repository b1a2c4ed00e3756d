//! The facts of `docs/kernel-facts.md`: each of its commands is run, and must show what stands below it.
//!
//! A section is a node of its own, made by the block of `sh` in front: a network namespace of this
//! kernel, or, where a block says `console uml`, one of user-mode Linux. `KPS_FACTS=overwrite` writes
//! down what is seen instead. A machine without the tools passes over sections with a line; with
//! `CI=true` that is a failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

#[path = "facts/document.rs"]
mod document;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use document::{Document, Kernel, Section};

#[test]
fn the_host_kernel_does_what_is_written() {
    shows(Kernel::Host, &["unshare", "ip", "ping", "nft", "iptables-nft"]);
}

#[test]
fn user_mode_linux_does_what_is_written() {
    let tools = ["linux.uml", "gcc", "unshare", "ip", "ping", "nft", "ipvsadm", "iptables-legacy"];
    shows(Kernel::UserMode, &tools);
}

fn shows(kernel: Kernel, tools: &[&str]) {
    if let Some(why) = cannot_run(kernel, tools) {
        assert!(env::var("CI").as_deref() != Ok("true"), "{why}");
        eprintln!("facts of {kernel:?} passed over: {why}");
        return;
    }
    let path = root().join("docs/kernel-facts.md");
    let document = Document::parse(&fs::read_to_string(&path).unwrap());
    let outputs = run(kernel, &document.setup, &document.sections(kernel));
    let _alone = DOCUMENT.lock().unwrap_or_else(PoisonError::into_inner);
    let written = fs::read_to_string(&path).unwrap();
    let mut document = Document::parse(&written);
    assert_eq!(document.to_string(), written, "the document is read as it stands");
    for (section, output) in document.sections_mut(kernel).into_iter().zip(outputs) {
        section.note(&output);
    }
    if env::var("KPS_FACTS").as_deref() == Ok("overwrite") {
        return fs::write(path, document.to_string()).unwrap();
    }
    assert_same(&written, &document.to_string());
}

#[test]
fn files_that_are_named_are_there() {
    let text = fs::read_to_string(root().join("docs/kernel-facts.md")).unwrap();
    let named =
        text.split('`').map(Path::new).filter(|word| word.extension() == Some("rs".as_ref()));
    let gone: Vec<&Path> = named.filter(|file| !root().join(file).is_file()).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

/// Held while the document is compared, and perhaps written.
static DOCUMENT: Mutex<()> = Mutex::new(());

fn assert_same(written: &str, seen: &str) {
    for (number, (written, seen)) in (1..).zip(written.lines().zip(seen.lines())) {
        let place = format!("docs/kernel-facts.md:{number}");
        assert_eq!(seen, written, "{place}: what is seen (left) is not what is written");
    }
    assert_eq!(seen.len(), written.len(), "docs/kernel-facts.md: its end is not what is seen");
}

fn cannot_run(kernel: Kernel, tools: &[&str]) -> Option<String> {
    if let Some(tool) =
        tools.iter().find(|tool| !works(&["sh", "-c", &format!("command -v {tool}")]))
    {
        return Some(format!("{tool} is not there"));
    }
    let namespaces = kernel == Kernel::UserMode || works(&["unshare", "--net", "--mount", "true"]);
    (!namespaces).then(|| "namespaces cannot be made".to_owned())
}

fn works(command: &[&str]) -> bool {
    let status =
        with_path(Command::new(command[0]).args(&command[1..])).stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs each section and returns what it printed.
fn run(kernel: Kernel, setup: &str, sections: &[&Section]) -> Vec<String> {
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("facts-{kernel:?}"));
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).unwrap();
    let mut all = Vec::new();
    for (number, section) in sections.iter().enumerate() {
        let script = scratch.join(format!("{number}.sh"));
        fs::write(&script, section.script(setup)).unwrap();
        let script = script.display();
        all.push(format!("unshare --net --mount bash {script} > {script}.out 2>&1 < /dev/null"));
    }
    let driver = scratch.join("all.sh");
    fs::write(&driver, all.join("\n")).unwrap();
    let mut command = match kernel {
        Kernel::Host => Command::new("bash"),
        Kernel::UserMode => {
            let mut command = Command::new(root().join("oracle/uml.sh"));
            command.arg("bash");
            command
        }
    };
    let output = with_path(command.arg(&driver).current_dir(root())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let outputs = (0..sections.len()).map(|number| scratch.join(format!("{number}.sh.out")));
    outputs.map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn with_path(command: &mut Command) -> &mut Command {
    let path = env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).env("LC_ALL", "C")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
