//! Connections, one after the other and again, in a real kernel: how they are shared out, who stays
//! where, and what becomes of them when rules change. Each is held against the walker.
//!
//! A machine without the tools or without rights skips this with a line; with `CI=true` it fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod hairpin;
mod lasting;
mod node_ports;
mod schedulers;
#[path = "../suite/shares.rs"]
mod shares;
mod sharing;
mod world;

use std::env;

use kps_kernel::{Kernel, Program};
use kps_model::Mode;
use kps_ruleset::NodeState;

/// The modes whose rules are in the kernel that runs this.
const BY_RULES: [Mode; 2] = [Mode::Nftables, Mode::Iptables];

/// Returns the kernels to ask about a mode; `None`, with a line, if there is none.
fn kernel(mode: Mode) -> Option<Kernel> {
    let kernel = Kernel::new().with_program(Program::new(env!("CARGO_BIN_EXE_kps-kernel-node")));
    let mut state = NodeState::default();
    if mode == Mode::Ipvs {
        state.host.sysctls.insert("net.ipv4.vs.conntrack".into(), "1".into());
    }
    match kernel.observe(&state, &[]) {
        Ok(_) => Some(kernel),
        Err(why) => {
            assert!(env::var_os("CI").is_none(), "the kernel cannot be asked: {why}");
            println!("skipped: {why}");
            None
        }
    }
}
