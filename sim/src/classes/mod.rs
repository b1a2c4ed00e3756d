//! Classes of packets: what a walk of one packet tells of all others like it.
//!
//! ```text
//! Region (a set for each field) --sample--> one packet, walked as any other
//! every question of the walk --Watch--> the region narrowed, the rest put aside
//! ```
//!
//! `set` holds addresses or ports, `line` the answers of a question for all of them, `table` look-ups
//! with several parts, `region` the fields of a packet, and `watch` is what walks talk to.

pub(crate) mod line;
pub(crate) mod region;
pub(crate) mod set;
pub(crate) mod table;
pub(crate) mod watch;
