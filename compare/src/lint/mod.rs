//! What is wrong with a cluster's Services, and what merely looks so: lints.
//!
//! ```text
//! Subject (objects, configuration, views, rules) --> Scene --> each lint --> Finding
//!                                                                               |
//!                                     nodes, one after the other --> Merged <---+
//! ```
//!
//! [`catalogue`] names every lint with what it means and what to do. A file a theme looks for them;
//! some look at objects alone ([`about_cluster`]), the others at what one node makes of them
//! ([`about_node`]). Wherever a packet can show it, a finding has a [`Witness`]: a flow with the
//! outcome that the node's rules give it.
//!
//! [`promises`] holds the rules against what Kubernetes promises. It asks a packet of each client
//! class for each address of each ServicePort ([`promises::sampled`]); a proof over all packets can
//! take the place of that one function.

mod affinity;
mod affinity_rules;
mod balancers;
mod captured;
pub mod catalogue;
mod collisions;
mod decision;
mod detector;
mod families;
mod finding;
mod ipvs;
mod limits;
mod marks;
mod merge;
mod names;
mod node_ports;
mod policies;
mod prefixes;
pub mod promises;
mod ranges;
mod readiness;
mod replies;
pub(crate) mod scene;
mod slice_ports;
mod slices;
mod source_ranges;
mod sysctls;
pub(crate) mod target;
mod unreached;

pub use catalogue::{About, Lint};
pub use finding::{Finding, Witness};
pub use merge::Merged;
pub use scene::{Client, Scene, Subject, pod_ranges};

/// Looks for what is so in the whole cluster, whichever node is looked at.
#[must_use]
pub fn about_cluster(scene: &Scene<'_>) -> Vec<Finding> {
    let lints: [fn(&Scene<'_>) -> Vec<Finding>; 16] = [
        collisions::shared_addresses,
        captured::find,
        ranges::find,
        names::find,
        source_ranges::find,
        balancers::unguarded,
        balancers::without_way,
        slices::find,
        slices::unmatched_ports,
        slice_ports::find,
        slice_ports::extra_addresses,
        readiness::find,
        readiness::twice,
        policies::nowhere,
        families::find,
        affinity::find,
    ];
    lints.iter().flat_map(|lint| lint(scene)).collect()
}

/// Looks for what one node makes of the cluster.
#[must_use]
pub fn about_node(scene: &Scene<'_>) -> Vec<Finding> {
    let lints: [fn(&Scene<'_>) -> Vec<Finding>; 22] = [
        promises::failures,
        promises::find,
        unreached::find,
        replies::find,
        collisions::shared_node_ports,
        names::unknown_node,
        detector::find,
        source_ranges::reachable,
        balancers::still_served,
        node_ports::find,
        policies::unserved,
        policies::health,
        families::without_address,
        affinity::kept,
        affinity::remembered,
        limits::sets,
        limits::interface_names,
        marks::find,
        sysctls::needed,
        sysctls::local_ports,
        sysctls::bridges,
        ipvs::find,
    ];
    lints.iter().flat_map(|lint| lint(scene)).collect()
}
