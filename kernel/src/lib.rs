//! A real kernel as judge.
//!
//! [`observe`] makes a network namespace with the links, addresses and routes of a node, has the
//! tools `nft` and `iptables-restore` load its rules, sends the first packet of each flow, and tells
//! where it came out. Each link is a TUN device whose other end is in our hands: what we write comes
//! in by that link, what we read has left by it. Nothing is left behind: the namespace goes with
//! the thread that made it.
//!
//! ```text
//! NodeState --namespace--> devices, routes --load--> rules
//! Flow --packet--> probe --probes--> sightings --> Observation
//! ```

mod load;
mod namespace;
mod node;
mod packet;
mod probes;
mod reproduce;

use std::io;
use std::thread;

use kps_flow::{Flow, Observation};
use kps_ruleset::NodeState;
use thiserror::Error;

pub use reproduce::reproduce;

/// Why a kernel could not be asked.
#[derive(Debug, Error)]
pub enum KernelError {
    /// No namespace, device or socket can be made: it takes `CAP_NET_ADMIN` in a namespace of our own.
    #[error("{what}: {source}; run it as root, or under `unshare -Urn`")]
    System {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A tool that is not there.
    #[error("{tool} cannot be started: {source}; install it")]
    MissingTool {
        /// The tool.
        tool: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A tool that refuses what it was given.
    #[error("{tool} refuses: {message}")]
    Refused {
        /// The tool.
        tool: &'static str,
        /// What it says.
        message: String,
    },
    /// State that this executor cannot load.
    #[error("virtual servers need a kernel with IPVS")]
    Ipvs,
    /// More flows than there are source ports to tell their packets apart.
    #[error("{0} flows are more than the source ports can tell apart")]
    TooManyFlows(usize),
    /// A thread that died.
    #[error("the thread of the namespace died")]
    Thread,
}

impl KernelError {
    fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> KernelError {
        let what = what.into();
        move |source| KernelError::System { what, source: source.into() }
    }
}

/// Sends the first packet of each flow through a node with this state, and tells what came of each,
/// in their order.
///
/// # Errors
/// If a namespace cannot be made, or a tool refuses the rules.
pub fn observe(state: &NodeState, flows: &[Flow]) -> Result<Vec<Observation>, KernelError> {
    if !state.ipvs.services.is_empty() {
        return Err(KernelError::Ipvs);
    }
    thread::scope(|scope| {
        let judge = scope.spawn(|| {
            let devices = namespace::enter(&state.host)?;
            load::load(state)?;
            probes::send(&devices, flows)
        });
        judge.join().map_err(|_| KernelError::Thread)?
    })
}
