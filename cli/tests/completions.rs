//! Completions know every subcommand.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::process::Command;

#[test]
fn each_shell_completes_every_subcommand() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let mut sim = Command::new(env!("CARGO_BIN_EXE_sim"));
        let output = sim.args(["completions", shell]).output().unwrap();
        assert!(output.status.success(), "{shell}: {output:?}");
        let script = String::from_utf8(output.stdout).unwrap();
        for command in ["render", "trace", "walk", "balance", "completions"] {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
}
