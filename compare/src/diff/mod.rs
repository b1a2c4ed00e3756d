//! What changes for a node's packets when kube-proxy moves to another mode, release or configuration.

mod same;

pub use same::{same, same_but_for_source};
