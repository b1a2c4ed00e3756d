//! What is asked of a kernel, and what it answers.

use std::net::SocketAddr;

use kps_flow::{Flow, Observation, Outcome};
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::setup::Setup;

/// What is asked: flows that a node gets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// How the node is made.
    pub setup: Setup,
    /// The flows whose first packets are sent.
    pub flows: Vec<Flow>,
    /// Whether those that get them answer.
    pub answered: bool,
}

/// What comes back: an exchange for each flow, in their order.
pub type Response = Result<Vec<Exchange>, Failure>;

/// What came of the first packet of a flow, and of the answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// What came of the first packet; `None` if no such packet can be sent.
    pub outcome: Option<Outcome>,
    /// What came of the answer; `None` if nobody got the packet, or no answers were asked for.
    pub answer: Option<Answer>,
}

/// What came of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Answer {
    /// It came to the address and port that the first packet was sent from.
    Returned {
        /// Its source then: what the client takes for who answers.
        from: SocketAddr,
    },
    /// It came out elsewhere.
    Astray {
        /// Its source.
        from: SocketAddr,
        /// Its destination.
        to: SocketAddr,
    },
    /// It came out nowhere.
    Lost,
}

impl Exchange {
    /// Returns the outcome as a sample, which is empty if no packet was sent.
    #[must_use]
    pub fn observation(self) -> Observation {
        Observation { counts: self.outcome.into_iter().map(|outcome| (outcome, 1)).collect() }
    }
}
