//! What IPVS does with a packet in a walk, one point a test.

#![expect(clippy::unwrap_used, reason = "the fixtures are constants")]

mod choosing;
mod connections;
mod director;
mod finding;
mod hooks;
#[path = "../nftables/world.rs"]
#[expect(dead_code, reason = "another test needs the rest of this node")]
mod world;
