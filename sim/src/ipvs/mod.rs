//! IPVS as a state machine: which real server gets a connection, as the kernel decides it.
//!
//! Nothing in a scheduler is random (but for `twos`, which is refused): the real server of a
//! connection follows from the order in which servers were added and changed, the connections
//! before it and what became of them. A [`VirtualService`] holds all of that and gives the kernel's
//! own sequence.
//!
//! It is not for finding the virtual server of a packet, rewriting it or sending it on, and not
//! for synchronisation between directors, applications (FTP, SIP) and SCTP's states.
//!
//! Data passes like this: a packet comes to [`service`], which looks for its connection in
//! [`table`]; [`state`] says what the packet does to it. A new connection asks a [`scheduler`] for
//! one of the [`server`]s. [`mod@reach`] answers without any state: who could be chosen at all.
//!
//! ```
//! use std::net::SocketAddr;
//!
//! use kps_flow::Protocol;
//! use kps_ruleset::ipvs::{Forwarding, RealServer, Scheduler, VirtualServer};
//! use kps_sim::ipvs::{Connection, Settings, VirtualService};
//!
//! let mut service =
//!     VirtualService::new(&VirtualServer::new(Scheduler::RoundRobin), Settings::default())?;
//! for last in 1..=3 {
//!     let address = [10, 244, 0, last].into();
//!     service.add(&RealServer::new(address, 8080, Forwarding::Masquerade));
//! }
//! let destination = SocketAddr::from(([10, 96, 0, 10], 80));
//! let picks: Vec<String> = (40001..40005)
//!     .filter_map(|port| {
//!         let source = SocketAddr::from(([192, 0, 2, 1], port));
//!         let server = service.connect(Connection { protocol: Protocol::Tcp, source, destination });
//!         Some(service.servers().server(server?)?.address.ip().to_string())
//!     })
//!     .collect();
//! // The last one added comes first.
//! assert_eq!(picks, ["10.244.0.3", "10.244.0.2", "10.244.0.1", "10.244.0.3"]);
//! # Ok::<(), kps_sim::ipvs::UnsupportedScheduler>(())
//! ```

pub mod connection;
pub mod hash;
pub mod reach;
pub mod scheduler;
pub mod server;
pub mod service;
pub mod settings;
pub mod state;
pub mod table;

pub use connection::Connection;
pub use reach::{Load, Reach, cycle, long_run_shares, reach};
pub use scheduler::{Scheduler, UnsupportedScheduler};
pub use server::{RealServer, RealServers, ServerId};
pub use service::{Decision, VirtualService};
pub use settings::Settings;
pub use state::{Segment, State};
