//! What is asked of a kernel, and what it answers.

use std::net::SocketAddr;
use std::time::Duration;

use kps_flow::{Flow, Observation, Outcome};
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::setup::{Input, Setup};

/// What is asked: what happens to a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// How the node is made.
    pub setup: Setup,
    /// What happens to it then.
    pub steps: Vec<Step>,
}

/// Something that happens to a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Flows send a packet each. Where flows of several steps are equal and at the same place, they
    /// are one connection, and send a packet of it again.
    Send {
        /// The flows.
        flows: Vec<Flow>,
        /// Whether those that get packets answer.
        answered: bool,
    },
    /// Tools are given other rules.
    Load(Vec<Input>),
    /// Time passes.
    Wait(Duration),
}

/// What comes of each step that sends: an exchange for each flow, in their order.
pub type Exchanges = Vec<Vec<Exchange>>;

/// What comes back.
pub type Response = Result<Exchanges, Failure>;

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
