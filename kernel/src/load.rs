//! Loads rules with the tools that kube-proxy uses.

use std::io::Write;
use std::process::{Command, Stdio};

use kps_ruleset::NodeState;
use kps_ruleset::iptables::{self, Match, Ruleset};
use kps_ruleset::nftables::print_ruleset;

use crate::KernelError;

/// Loads the rules of a node into the namespace of this thread.
pub fn load(state: &NodeState) -> Result<(), KernelError> {
    if !state.nftables.tables.is_empty() {
        feed("nft", &["-f", "-"], &print_ruleset(&state.nftables))?;
    }
    restore("iptables-restore", &state.iptables.v4)?;
    restore("ip6tables-restore", &state.iptables.v6)
}

fn restore(tool: &'static str, rules: &Ruleset) -> Result<(), KernelError> {
    if rules.tables.is_empty() {
        return Ok(());
    }
    feed(tool, &[], &iptables::print_ruleset(&uncounted(rules), false))
}

/// Returns the rules without matches on nfacct objects: these hold for every packet, and the objects
/// must be there before, which takes a kernel module and a tool that few machines have.
pub fn uncounted(rules: &Ruleset) -> Ruleset {
    let mut rules = rules.clone();
    let chains = rules.tables.values_mut().flat_map(|table| table.chains.values_mut());
    for rule in chains.flat_map(|chain| &mut chain.rules) {
        let matches = rule.matches.iter().filter(|m| !matches!(m, Match::Nfacct(_)));
        rule.matches = matches.cloned().collect();
    }
    rules
}

/// Runs a tool with this input.
pub fn feed(tool: &'static str, arguments: &[&str], input: &str) -> Result<(), KernelError> {
    let missing = |source| KernelError::MissingTool { tool, source };
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    let mut stdin = child.stdin.take();
    let written = stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(input.as_bytes()));
    drop(stdin);
    let output = child.wait_with_output().map_err(missing)?;
    if output.status.success() && written.is_ok() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(KernelError::Refused { tool, message })
}
