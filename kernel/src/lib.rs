//! A real kernel as judge.
//!
//! A [`Kernel`] makes a network namespace with the links, addresses and routes of a node, has the
//! tools that kube-proxy uses load its rules, sends the first packet of each flow, and tells where it
//! came out; on request whoever got it answers. Each link is a TUN device whose other end is in our
//! hands: what we write comes in by that link, what we read has left by it. Nothing is left behind:
//! the namespace goes with the thread that made it.
//!
//! ```text
//! NodeState --setup--> text for tools --namespace, load--> devices, rules
//! Flow --packet--> probe, answer --probes--> sightings --> Exchange --> Observation
//! ```
//!
//! Where the kernel that runs us has no IPVS, the same happens in one in user mode: its init is a
//! node `program`, which answers what is asked through `served`.

mod error;
mod exchange;
mod kernel;
mod load;
mod namespace;
mod network;
mod node;
mod packet;
mod probes;
mod program;
mod reproduce;
mod served;
mod setup;
mod sysctl;
mod user_mode;

use std::thread;

use kps_flow::{Flow, Observation};
use kps_ruleset::NodeState;

use exchange::{Exchanges, Request};
use probes::Ground;

pub use error::KernelError;
pub use exchange::{Answer, Exchange, Step};
pub use kernel::Kernel;
pub use program::{Program, run};
pub use reproduce::reproduce;
pub use setup::{Input, Link, Setup, Variant};

/// Asks the kernel that runs us; see [`Kernel::observe`].
///
/// # Errors
/// If a namespace cannot be made, or a tool refuses the rules.
pub fn observe(state: &NodeState, flows: &[Flow]) -> Result<Vec<Observation>, KernelError> {
    Kernel::new().observe(state, flows)
}

/// Answers a request in this kernel.
fn answer(request: &Request) -> Result<Exchanges, KernelError> {
    thread::scope(|scope| {
        let judge = scope.spawn(|| {
            let devices = namespace::enter(&request.setup)?;
            follow(&mut Ground::new(&devices)?, &request.steps)
        });
        judge.join().map_err(|_| KernelError::Thread)?
    })
}

fn follow(ground: &mut Ground<'_>, steps: &[Step]) -> Result<Exchanges, KernelError> {
    let mut all = Vec::new();
    for step in steps {
        match step {
            Step::Send { flows, answered } => all.push(ground.exchange(flows, *answered)?),
            Step::Load(inputs) => inputs.iter().try_for_each(load::feed)?,
            Step::Wait(time) => thread::sleep(*time),
        }
    }
    Ok(all)
}
