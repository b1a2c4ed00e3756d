//! What changes for a node's packets, and around them, when kube-proxy moves to another mode, release
//! or configuration.
//!
//! ```text
//! Setup, Setup --install--> Installed, Installed --Move--> Proof (packets that fare differently)
//!                                                            |  Trail: why, step by step
//!                                                            v
//!          nodes, one after the other --add--> Report <-- Group, Cell, what is beyond packets
//! ```
//!
//! [`Packets`] says whether samples are compared or, class by class, all packets. Why two sides differ
//! is told by changing one thing after the other: a setting, the release, the mode; for the mode,
//! [`explain`](crate::difference::explain) names the documented difference. Start with
//! [`Move::report`].

mod beyond;
mod cause;
mod compare;
mod effect;
mod foreign;
mod place;
mod proof;
mod remedy;
mod report;
mod requirement;
mod same;
mod sampled;
mod setting;
mod setup;
mod trail;

pub use cause::Cause;
pub use compare::{Move, Packets};
pub use place::{Index, Kind, Place, Row};
pub use proof::{Difference, Proof, Undecided};
pub use remedy::Remedy;
pub use report::{Cell, Cells, Group, Report, Shown, Unexplained};
pub use same::{same, same_but_for_source};
pub use setting::Setting;
pub use setup::{Installed, Setup};
