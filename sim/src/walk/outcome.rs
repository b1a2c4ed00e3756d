//! The ends of a walk.
//!
//! Weights are exact where the kernel draws at random. Where the model does not know an answer,
//! both are walked and neither has a probability: the paths then carry assumptions, and weights sum
//! to one for each way of answering. [`Walk::distribution`] keeps what holds under all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;

use kps_flow::{Distribution, Outcome, Weight};
use kps_ruleset::Name;
use num_rational::BigRational;
use num_traits::Zero;
use smallvec::SmallVec;

use super::branch::{Branch, Supposition};
use super::ipvs::Scheduled;
use crate::conntrack::Connection;
use crate::packet::Packet;
use crate::trace::{Step, Way};

/// Every way that a packet can take.
#[derive(Debug, Clone)]
pub struct Walk {
    /// The ways, in the order of the alternatives that the rules name.
    pub paths: Vec<Path>,
}

/// One way.
#[derive(Debug, Clone)]
pub struct Path {
    /// Its probability, given its assumptions.
    pub weight: Weight,
    /// Its end.
    pub outcome: Outcome,
    /// What happened; empty unless the walk is traced.
    pub steps: Vec<Step>,
    /// The packet at its end.
    pub packet: Packet,
    /// The connection that it opened or belongs to.
    pub connection: Option<Connection>,
    /// Where it went, if it was routed.
    pub way: Option<Way>,
    /// What IPVS knows of the connection, if it sent it on.
    pub scheduled: Option<Scheduled>,
    /// What the weight rests on beyond the rules.
    pub premises: BTreeSet<Premise>,
    pub(super) supposed: SmallVec<[Supposition; 1]>,
}

/// What a weight rests on where no dump shows what decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Premise {
    /// That an IPVS scheduler is as likely in one state as in another: the weight of a real server
    /// is how often it is chosen in the long run.
    SchedulerState,
}

impl fmt::Display for Premise {
    /// Writes the word that reports use.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Premise::SchedulerState => f.write_str("scheduler-state"),
        }
    }
}

/// What a path takes for granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assumption {
    /// What the model cannot decide.
    pub what: Name,
    /// What it is taken to be.
    pub holds: bool,
}

/// Which way to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// The way with this number, from 0.
    Nth(usize),
    /// The first way that ends at this endpoint.
    Endpoint(SocketAddr),
}

impl Walk {
    /// Returns the way that is picked, if there is one.
    #[must_use]
    pub fn pick(&self, pick: Pick) -> Option<&Path> {
        match pick {
            Pick::Nth(index) => self.paths.get(index),
            Pick::Endpoint(endpoint) => self.paths.iter().find(|path| {
                matches!(&path.outcome, Outcome::Deliver(delivery) if delivery.endpoint == endpoint)
            }),
        }
    }

    /// Returns each outcome with its weight.
    ///
    /// Where outcomes rest on assumptions, each keeps the weight that it has whatever the answers
    /// are, and the rest is [`Outcome::Unknown`], which names the question.
    #[must_use]
    pub fn distribution(&self) -> Distribution<Outcome> {
        if self.paths.iter().all(|path| path.supposed.is_empty()) {
            return self.paths.iter().map(|p| (p.weight.clone(), p.outcome.clone())).collect();
        }
        Settled::of(self).distribution()
    }

    /// Returns the assumptions that any path makes, each once.
    #[must_use]
    pub fn assumptions(&self) -> Vec<Name> {
        let mut all: Vec<Name> = Vec::new();
        for supposition in self.paths.iter().flat_map(|path| &path.supposed) {
            if !all.contains(&supposition.what) {
                all.push(supposition.what);
            }
        }
        all
    }

    /// Returns what the weights rest on beyond the rules.
    #[must_use]
    pub fn premises(&self) -> BTreeSet<Premise> {
        self.paths.iter().flat_map(|path| path.premises.iter().copied()).collect()
    }

    /// Returns the number of questions that were asked.
    pub(super) fn questions(&self) -> u32 {
        let numbers = self.paths.iter().flat_map(|path| &path.supposed).map(|s| s.question + 1);
        numbers.max().unwrap_or(0)
    }
}

impl Path {
    pub(super) fn new(branch: &Branch, outcome: Outcome) -> Path {
        Path {
            weight: branch.weight.clone(),
            outcome,
            steps: branch.steps(),
            packet: branch.packet,
            connection: branch.connection,
            way: branch.way,
            scheduled: branch.scheduled,
            premises: branch.premises.clone(),
            supposed: branch.supposed.clone(),
        }
    }

    /// Returns what the path takes for granted, in the order in which it came up.
    pub fn assumptions(&self) -> impl Iterator<Item = Assumption> + '_ {
        self.supposed.iter().map(|s| Assumption { what: s.what, holds: s.holds })
    }

    /// Tells whether the packet reached a process or left the node.
    #[must_use]
    pub fn got_through(&self) -> bool {
        matches!(self.outcome, Outcome::Deliver(_) | Outcome::Local | Outcome::Pass(_))
    }
}

/// Outcomes with their weights, for each list of suppositions that is still open.
///
/// The questions of a walk form a tree: one that was asked later is inside of, or apart from, those
/// asked before. So they are settled from the last to the first.
struct Settled(BTreeMap<Vec<(u32, bool)>, Shares>);

type Shares = BTreeMap<Outcome, BigRational>;

impl Settled {
    fn of(walk: &Walk) -> Settled {
        let mut open: BTreeMap<Vec<(u32, bool)>, Shares> = BTreeMap::new();
        let mut questions: BTreeMap<u32, Name> = BTreeMap::new();
        for path in &walk.paths {
            let key = path.supposed.iter().map(|s| (s.question, s.holds)).collect();
            questions.extend(path.supposed.iter().map(|s| (s.question, s.what)));
            let shares = open.entry(key).or_default();
            add(shares, &path.outcome, path.weight.to_ratio());
        }
        let mut settled = Settled(open);
        for (question, what) in questions.into_iter().rev() {
            settled.settle(question, what);
        }
        settled
    }

    /// Merges the two answers to a question into what holds under both.
    fn settle(&mut self, question: u32, what: Name) {
        let of_question =
            |key: &Vec<(u32, bool)>| key.last().is_some_and(|last| last.0 == question);
        let keys: Vec<_> = self.0.keys().filter(|key| of_question(key)).cloned().collect();
        let mut answers = [Shares::new(), Shares::new()];
        let mut outer = Vec::new();
        for mut key in keys {
            let shares = self.0.remove(&key).unwrap_or_default();
            let Some((_, holds)) = key.pop() else { continue };
            for (outcome, share) in shares {
                add(&mut answers[usize::from(holds)], &outcome, share);
            }
            outer = key;
        }
        let [no, yes] = answers;
        let target = self.0.entry(outer).or_default();
        for (outcome, share) in common(&yes, &no, what) {
            add(target, &outcome, share);
        }
    }

    fn distribution(self) -> Distribution<Outcome> {
        let shares = self.0.into_values().flatten();
        shares.map(|(outcome, share)| (Weight::exactly(share), outcome)).collect()
    }
}

/// Returns the weight that each outcome has at least; the rest is unknown.
fn common(yes: &Shares, no: &Shares, what: Name) -> Shares {
    let mut both = Shares::new();
    let mut rest: BigRational = yes.values().sum();
    for (outcome, share) in yes {
        let least =
            no.get(outcome).map_or_else(BigRational::zero, |other| other.min(share).clone());
        rest -= &least;
        add(&mut both, outcome, least);
    }
    add(&mut both, &Outcome::Unknown(format!("it depends on: {what}")), rest);
    both
}

fn add(shares: &mut Shares, outcome: &Outcome, share: BigRational) {
    if !share.is_zero() {
        *shares.entry(outcome.clone()).or_insert_with(BigRational::zero) += share;
    }
}
