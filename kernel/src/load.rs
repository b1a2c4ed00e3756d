//! Runs the tools that load a node's state, with what they are given.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::KernelError;
use crate::setup::Input;

/// Runs a tool with its input.
pub fn feed(input: &Input) -> Result<(), KernelError> {
    let Input { tool, arguments, text } = input;
    let missing = |source| KernelError::MissingTool { tool: tool.clone(), source };
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    let mut stdin = child.stdin.take();
    let written = stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(text.as_bytes()));
    drop(stdin);
    let output = child.wait_with_output().map_err(missing)?;
    if output.status.success() && written.is_ok() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(KernelError::Refused { tool: tool.clone(), message })
}
