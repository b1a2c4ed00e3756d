//! Packet rule languages as data.
//!
//! One folder per language, each with the same files: `ast` (the tree), `parse` and `print` (text),
//! `compare` (are two rule sets the same, up to the order that cannot matter?) and `transaction`
//! (what is applied at once). [`host`] holds the rest of what a node's packet path depends on:
//! addresses, links, routes, policy rules, sysctls. A [`NodeState`] is all of them together.
//!
//! Nothing here knows of Kubernetes, and nothing here walks a packet. Trees are closed types: what
//! a language can say beyond them is kept as `Unsupported` text with its place, so that a walker
//! can be loud about it.

pub mod dump;
pub mod host;
pub mod ipset;
pub mod iptables;
pub mod ipvs;
pub mod name;
pub mod nftables;
pub mod node;
pub mod parsed;
pub mod protocol;
mod words;

pub use dump::{Dump, DumpError};
pub use name::Name;
pub use node::NodeState;
pub use parsed::{ParseError, Parsed};
pub use protocol::Protocol;
