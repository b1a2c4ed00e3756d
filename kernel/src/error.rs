//! Why a kernel could not be asked.

use std::io;

use serde::{Deserialize, Serialize};
use thiserror::Error;

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
        tool: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A tool that refuses what it was given.
    #[error("{tool} refuses: {message}")]
    Refused {
        /// The tool.
        tool: String,
        /// What it says.
        message: String,
    },
    /// State that the kernel that runs this cannot load.
    #[error(
        "virtual servers need a kernel with IPVS: load its module ip_vs, or let a node program serve"
    )]
    Ipvs,
    /// More flows than there are source ports to tell their packets apart.
    #[error("{0} flows are more than the source ports can tell apart")]
    TooManyFlows(usize),
    /// A thread that died.
    #[error("the thread of the namespace died")]
    Thread,
    /// A node program that failed, with what it says.
    #[error("the node program fails: {0}")]
    Node(String),
}

/// A [`KernelError`] as a node program sends it.
#[derive(Debug, Serialize, Deserialize)]
pub enum Failure {
    /// [`KernelError::Refused`].
    Refused {
        /// The tool.
        tool: String,
        /// What it says.
        message: String,
    },
    /// Any other.
    Other(String),
}

impl KernelError {
    /// Returns what makes an error of the system's.
    pub fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> KernelError {
        let what = what.into();
        move |source| KernelError::System { what, source: source.into() }
    }
}

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Failure {
        match error {
            KernelError::Refused { tool, message } => Failure::Refused { tool, message },
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<Failure> for KernelError {
    fn from(failure: Failure) -> KernelError {
        match failure {
            Failure::Refused { tool, message } => KernelError::Refused { tool, message },
            Failure::Other(text) => KernelError::Node(text),
        }
    }
}
