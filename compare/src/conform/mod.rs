//! Walks against what a kernel was seen to do, packet by packet.
//!
//! [`aim`] chooses the packets, somebody sends them through a kernel, and [`hold`] compares what came
//! of each with the walk of the same packet.

pub mod aim;

use std::fmt;

use kps_flow::{
    Answer, ClientClass, Distribution, Flow, Observation, Outcome, SourceNat, Strictness, agree,
};
use kps_sim::{Options, Walker};

/// How what a kernel did compares with a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conformity {
    /// The walk allows all that was seen.
    Agrees,
    /// No such packet could be sent, so nothing was judged.
    NotSent,
    /// A masqueraded source whose address is the old one got the old port, too, at random: which
    /// happens once in some 60 000 packets.
    ByChance,
    /// The walk does not know, for these reasons.
    Undecided(Vec<String>),
    /// Something was seen that the walk does not allow.
    Differs(Box<Difference>),
}

/// A packet with which a kernel did what its walk does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The packet.
    pub flow: Flow,
    /// All that the walk allows.
    pub walked: Vec<Outcome>,
    /// All that was seen.
    pub seen: Vec<Outcome>,
}

/// Walks the first packet of a flow, and holds what a kernel did with such packets against it.
#[must_use]
pub fn hold(walker: &Walker<'_>, flow: &Flow, seen: &Observation) -> Conformity {
    if seen.counts.is_empty() {
        return Conformity::NotSent;
    }
    let distribution = walk(walker, flow);
    let possible: Vec<Outcome> = distribution.merged().into_keys().cloned().collect();
    let reasons: Vec<String> = possible.iter().filter_map(reason).collect();
    if !reasons.is_empty() {
        return Conformity::Undecided(reasons);
    }
    let (exact, observed) = (Answer::Exact(distribution), Answer::Observed(seen.clone()));
    if agree(&exact, &observed, Strictness::Support).is_ok() {
        return Conformity::Agrees;
    }
    let by_chance = |got: &Outcome| possible.iter().any(|it| it.covers(got) || keeps_port(it, got));
    // Only the node's own packets keep their address when they are masqueraded.
    if flow.client == ClientClass::Node && seen.counts.keys().all(by_chance) {
        return Conformity::ByChance;
    }
    let seen = seen.counts.keys().cloned().collect();
    Conformity::Differs(Box::new(Difference { flow: flow.clone(), walked: possible, seen }))
}

/// Tells whether a packet that should be masqueraded looks as if it was not.
fn keeps_port(walked: &Outcome, got: &Outcome) -> bool {
    match (walked, got) {
        (Outcome::Deliver(a), Outcome::Deliver(b)) => {
            a.endpoint == b.endpoint && a.source.is_rewritten() && b.source == SourceNat::Kept
        }
        _ => false,
    }
}

/// Returns all that can become of the first packet of a flow.
#[must_use]
pub fn possible(walker: &Walker<'_>, flow: &Flow) -> Vec<Outcome> {
    walk(walker, flow).merged().into_keys().cloned().collect()
}

fn walk(walker: &Walker<'_>, flow: &Flow) -> Distribution<Outcome> {
    let options = Options { fresh: true, ..Options::default() };
    walker.walk(flow, &options).distribution()
}

fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Unknown(why) => Some(why.clone()),
        _ => None,
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.flow)?;
        for outcome in &self.walked {
            write!(f, "\n  walker: {outcome}")?;
        }
        for outcome in &self.seen {
            write!(f, "\n  kernel: {outcome}")?;
        }
        Ok(())
    }
}
