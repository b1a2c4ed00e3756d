//! What iptables rules mean, one point a test.
//!
//! Where a comment says `kernel:`, the same rules were loaded into a network namespace of a Linux
//! 6.18 kernel (`unshare -n`, iptables 1.8.9, UDP packets sent to the addresses of the rules), and
//! the counters there decided.

#![expect(clippy::unwrap_used, reason = "the fixtures are constants")]

mod chains;
mod connections;
mod headers;
mod hooks;
mod matches;
mod sets;
mod story;
mod tables;
mod translation;
mod unknown;
#[path = "../nftables/world.rs"]
#[expect(dead_code, reason = "another test needs the rest of this node")]
mod world;
