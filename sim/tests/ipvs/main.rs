//! What IPVS does with a packet in a walk, one point a test.
//!
//! Where a comment says `kernel:`, the same virtual servers were made in a user-mode Linux 6.1, UDP
//! packets were sent by a client in a network namespace behind a veth pair and by a process of the
//! node, and the counters of iptables rules and the client's ICMP errors decided.

#![expect(clippy::unwrap_used, reason = "the fixtures are constants")]

mod choosing;
mod connections;
mod director;
mod finding;
mod hooks;
mod matching;
#[path = "../nftables/world.rs"]
#[expect(dead_code, reason = "another test needs the rest of this node")]
mod world;
