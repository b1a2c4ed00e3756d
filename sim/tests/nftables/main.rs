//! What nftables rules mean, one point a test.
//!
//! Where a comment says `kernel:`, the same rules were loaded into a network namespace of a Linux
//! 6.18 kernel (`unshare -n`, a veth pair with 192.0.2.10/24, UDP packets sent to the ports of the
//! rules), and the counters there decided.

#![expect(clippy::unwrap_used, reason = "the fixtures are constants")]

mod chains;
mod connections;
mod hooks;
mod matches;
mod routing;
mod story;
mod translation;
mod unknown;
mod world;
