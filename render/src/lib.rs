//! A node's view of Services in, kube-proxy's rules out.
//!
//! ```text
//! NodeView --plan--> Plan (a fragment a ServicePort, and the common part)
//!                     |--> the state of the node afterwards
//!                     +--> what kube-proxy feeds to the tools
//! ```
//!
//! A folder a mode, each with the same shape. Nothing here decides which endpoints a Service uses:
//! the view says that.

pub mod host;
pub mod iptables;
pub mod ipvs;
pub mod nftables;
pub mod node;
pub mod operation;

pub use host::host;
pub use node::{SyncError, node_state};
pub use operation::{Operation, print_operations};
