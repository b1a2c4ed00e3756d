//! Walks packets through a node's rules, as the kernel would.
//!
//! A [`Walker`] takes a node's state (rule sets and the host around them) and answers what happens
//! to a packet: every outcome with its exact probability, and on request the story of each, step by
//! step. It knows nothing of Kubernetes: it judges any rules, whoever wrote them.
//!
//! ```
//! use kps_flow::{ClientClass, Flow, Outcome, Protocol};
//! use kps_ruleset::NodeState;
//! use kps_sim::{Options, Walker};
//!
//! let state = NodeState::default();
//! let walker = Walker::new(&state);
//! let flow = Flow {
//!     client: ClientClass::Node,
//!     interface: None,
//!     source: None,
//!     source_port: Flow::DEFAULT_SOURCE_PORT,
//!     protocol: Protocol::Tcp,
//!     destination: "127.0.0.1".parse()?,
//!     port: 80,
//! };
//! let walk = walker.walk(&flow, &Options::default());
//! assert_eq!(walk.paths[0].outcome, Outcome::Local);
//! # Ok::<(), std::net::AddrParseError>(())
//! ```
//!
//! Data passes like this: [`host`] says what addresses and routes mean, [`conntrack`] what a
//! connection remembers, [`walk`] moves a [`packet`] through hooks and rules, [`trace`] tells what
//! happened. Start with [`walk`].

pub(crate) mod classes;
pub mod conntrack;
pub mod draw;
pub mod host;
pub mod ipvs;
pub mod mark;
pub mod packet;
pub mod prove;
pub mod trace;
pub mod walk;

pub use mark::Mark;
pub use walk::{Options, Path, Pick, Walk, Walker};
