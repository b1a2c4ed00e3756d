//! The iptables mode (`pkg/proxy/iptables/proxier.go`).
//!
//! [`plan`] turns a view into what the proxier of that family writes: the jumps from the built-in
//! chains, then one text for `iptables-restore`, which is made of a common part and one
//! [`Fragment`] a `ServicePort`. A [`Plan`] gives both that text and the state of the node after it.
//!
//! ```text
//! PREROUTING, OUTPUT -> KUBE-SERVICES -> KUBE-SVC-X (policy Cluster) -> KUBE-SEP-Y -> DNAT
//!                          |    |        KUBE-SVL-X (policy Local)   ->
//!                          |    +------> KUBE-EXT-X (from outside)   -> KUBE-SVC-X, KUBE-SVL-X
//!                          |             KUBE-FW-X (source ranges)   -> KUBE-EXT-X
//!                          +-----------> KUBE-NODEPORTS              -> KUBE-EXT-X
//! ```

mod base;
mod chains;
mod detector;
mod endpoints;
mod external;
mod frontends;
mod jumps;
mod lines;
mod matches;
mod plan;
mod port;
mod refusal;

use kps_model::NodeView;
use rayon::prelude::*;

pub(crate) use base::{forwarding, loopback, masquerading};
pub(crate) use detector::if_not_local;
pub use jumps::Jump;
pub(crate) use jumps::install as install_jumps;
pub(crate) use lines::restore;
pub use lines::{Lines, Part, Run};
pub(crate) use matches::{
    destination_is_local, port_unreachable, protocol, source_is_not_local, states,
};
pub use plan::{Fragment, Plan, ruleset_family};
pub use refusal::Refusal;
pub(crate) use refusal::refusal;

/// Above so many endpoints of a family, kube-proxy leaves out the comments of endpoints' rules.
const LARGE_CLUSTER_ENDPOINTS: usize = 1000;

/// Returns what the proxier of the view's family writes in a full sync.
#[must_use]
pub fn plan(view: &NodeView) -> Plan {
    let comments = !is_large(view);
    Plan {
        family: view.family,
        sysctls: base::sysctls(view),
        counters: base::counters(view),
        jumps: &base::JUMPS,
        before: base::before(view),
        fragments: view.ports.par_iter().map(|port| port::fragment(view, port, comments)).collect(),
        after: base::after(view),
    }
}

fn is_large(view: &NodeView) -> bool {
    view.ports.iter().map(|port| port.endpoints.len()).sum::<usize>() > LARGE_CLUSTER_ENDPOINTS
}
