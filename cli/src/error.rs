//! What ends a subcommand early.

use std::io;
use std::path::PathBuf;

use kps_model::config::ConfigError;
use thiserror::Error;

/// Why a subcommand could not do its work.
#[derive(Debug, Error)]
pub enum Failure {
    /// A file that cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Standard output that cannot be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
    /// A configuration with which kube-proxy would not start.
    #[error("{file}: {source}", file = file.display())]
    Config {
        /// The file.
        file: PathBuf,
        /// Why.
        source: ConfigError,
    },
    /// Sources without a single object.
    #[error(
        "no Service, EndpointSlice or Node could be read; give what \
         `kubectl get svc,endpointslices,nodes -A -o yaml` prints"
    )]
    NothingRead,
    /// More than one Node, and none is named.
    #[error("which node? name one of them with --node, or take --all-nodes: {}", .0.join(", "))]
    WhichNode(Vec<String>),
    /// No Node at all.
    #[error("the objects hold no Node; name the node with --node")]
    NoNode,
    /// Neither objects nor a dump.
    #[error("give objects (files, directories or -), or a node's dumps with --dump")]
    NoInput,
    /// A kernel that cannot be asked.
    #[cfg(target_os = "linux")]
    #[error("the kernel cannot be asked: {0}")]
    Kernel(#[from] kps_kernel::KernelError),
    /// A question that makes no sense.
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// A failure about a file.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Failure {
        let path = path.into();
        move |source| Failure::File { path, source }
    }
}
