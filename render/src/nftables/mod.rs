//! The nftables mode (`pkg/proxy/nftables/proxier.go`; KEP-3866).
//!
//! [`plan`] turns a view into what the proxier of that family writes in the first full sync of its
//! process: one transaction for `nft -f`, made of a common part and one [`Fragment`] a
//! `ServicePort`. A [`Plan`] gives both the commands and the table after them.
//!
//! ```text
//! prerouting, output -> services -> @service-ips, @service-nodeports
//!                                    |-> service-… (policy Cluster)  -> dnat
//!                                    |-> local-…   (policy Local)    -> dnat
//!                                    +-> external-… (from outside)   -> service-…, local-…
//! before DNAT: firewall-check   -> @firewall-ips -> firewall-… (source ranges) -> drop
//! after DNAT:  endpoints-check  -> @no-endpoint-… -> drop, reject
//! ```
//!
//! The rules changed their shape between releases; `layout` holds all of those differences.

mod base;
mod chains;
mod containers;
mod detector;
mod endpoints;
mod external;
mod frontends;
mod layout;
mod localhost;
mod matches;
mod plan;
mod port;
mod writer;

use kps_model::NodeView;
use rayon::prelude::*;

pub use containers::Container;
pub use layout::Layout;
pub use plan::{Claim, Content, Fragment, Plan};

/// Returns what the proxier of the view's family writes in the first full sync of its process.
#[must_use]
pub fn plan(view: &NodeView) -> Plan {
    let layout = Layout::of(view.version);
    Plan {
        family: view.family,
        base: base::commands(view, layout),
        fragments: view.ports.par_iter().map(|port| port::fragment(view, port, layout)).collect(),
    }
}
