//! The trait [`Dataplane`], the three kinds of answer it may give, and how two answers are compared.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use num_rational::BigRational;
use num_traits::Signed;
use thiserror::Error;

use crate::{Delivery, Distribution, Flow, Outcome, RejectKind};

/// Something that decides what happens to a flow: rules that are walked, a kernel that is asked, or
/// the promise that Kubernetes makes.
pub trait Dataplane {
    /// Answers what happens to the first packet of `flow`.
    fn decide(&self, flow: &Flow) -> Answer;
}

/// An answer, by what it rests on.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Every branch with its exact probability.
    Exact(Distribution<Outcome>),
    /// What was seen, with counts: a sample of the truth.
    Observed(Observation),
    /// What is permitted.
    Promised(Promise),
}

/// Counts of outcomes that a kernel gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observation {
    /// How often each outcome was seen.
    pub counts: BTreeMap<Outcome, u64>,
}

/// What Kubernetes promises for a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// Spread evenly over exactly these endpoints.
    Endpoints(BTreeMap<SocketAddr, SourcePromise>),
    /// Refused with an error: nobody serves this destination.
    Refused,
    /// Thrown away: policy forbids this client.
    Discarded,
    /// Handled as if no Service existed: given to the node itself.
    Host,
    /// Handled as if no Service existed: sent on unchanged.
    Onward,
}

/// What is promised for a packet's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourcePromise {
    /// The endpoint must see the client's own address.
    Kept,
    /// The reply would not come back otherwise: it must be rewritten.
    Rewritten,
    /// Either is permitted.
    Free,
}

/// How strictly two answers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// The same outcomes are possible; shares are not compared.
    Support,
    /// The same outcomes, and shares equal up to 2^-20, far more than what the kernel's rounding
    /// to 2^-31 or 2^-32 can add up to and far less than any wrong weight.
    Shares,
    /// The same outcomes with exactly equal shares.
    Exact,
}

/// Why two answers differ.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Disagreement {
    /// An outcome of the first is not possible in the second.
    #[error("only the first allows: {0}")]
    OnlyFirst(Outcome),
    /// An outcome of the second is not possible in the first.
    #[error("only the second allows: {0}")]
    OnlySecond(Outcome),
    /// Both allow the outcome, in different shares.
    #[error("shares differ for: {0}")]
    Share(Outcome),
    /// The promise does not cover what the other side does.
    #[error("promised {promised:?}, got: {got}")]
    Promise {
        /// What was promised.
        promised: Promise,
        /// An outcome outside of it.
        got: Outcome,
    },
    /// An endpoint that was promised never gets a packet.
    #[error("promised endpoint {0} is never chosen")]
    Starved(SocketAddr),
    /// Two answers of kinds that cannot be compared: two promises, or two samples.
    #[error("these kinds of answer cannot be compared")]
    Incomparable,
}

/// Compares two answers. A sample is compared by support only: each outcome seen must be possible.
///
/// # Errors
/// Gives the first [`Disagreement`] found, in the order of the outcomes.
pub fn agree(first: &Answer, second: &Answer, strictness: Strictness) -> Result<(), Disagreement> {
    match (first, second) {
        (Answer::Exact(a), Answer::Exact(b)) => same_distribution(a, b, strictness),
        (Answer::Exact(exact), Answer::Observed(seen)) => all_possible(seen, exact),
        (Answer::Observed(seen), Answer::Exact(exact)) => {
            all_possible(seen, exact).map_err(Disagreement::swapped)
        }
        (Answer::Exact(exact), Answer::Promised(promise))
        | (Answer::Promised(promise), Answer::Exact(exact)) => promise.kept_by(exact, strictness),
        (Answer::Observed(seen), Answer::Promised(promise))
        | (Answer::Promised(promise), Answer::Observed(seen)) => {
            seen.counts.keys().try_for_each(|outcome| promise.permits(outcome))
        }
        (Answer::Observed(_), Answer::Observed(_)) | (Answer::Promised(_), Answer::Promised(_)) => {
            Err(Disagreement::Incomparable)
        }
    }
}

impl Disagreement {
    fn swapped(self) -> Disagreement {
        match self {
            Disagreement::OnlyFirst(outcome) => Disagreement::OnlySecond(outcome),
            Disagreement::OnlySecond(outcome) => Disagreement::OnlyFirst(outcome),
            same => same,
        }
    }
}

fn same_distribution(
    a: &Distribution<Outcome>,
    b: &Distribution<Outcome>,
    strictness: Strictness,
) -> Result<(), Disagreement> {
    let (a, b) = (a.merged(), b.merged());
    for (outcome, share) in &a {
        let other = b.get(outcome).ok_or_else(|| Disagreement::OnlyFirst((*outcome).clone()))?;
        if !strictness.accepts(share, other) {
            return Err(Disagreement::Share((*outcome).clone()));
        }
    }
    match b.keys().find(|outcome| !a.contains_key(*outcome)) {
        Some(outcome) => Err(Disagreement::OnlySecond((*outcome).clone())),
        None => Ok(()),
    }
}

fn all_possible(seen: &Observation, exact: &Distribution<Outcome>) -> Result<(), Disagreement> {
    let possible = exact.merged();
    let fits = |got: &Outcome| possible.keys().any(|outcome| outcome.covers(got));
    match seen.counts.keys().find(|got| !fits(got)) {
        Some(outcome) => Err(Disagreement::OnlySecond(outcome.clone())),
        None => Ok(()),
    }
}

impl Strictness {
    /// Tells whether two shares of one outcome count as the same.
    #[must_use]
    pub fn accepts(self, a: &BigRational, b: &BigRational) -> bool {
        match self {
            Strictness::Support => true,
            Strictness::Shares => (a - b).abs() < BigRational::new(1.into(), (1 << 20).into()),
            Strictness::Exact => a == b,
        }
    }
}

/// Certainty in units of 2^-64.
const FIXED_ONE: u128 = 1 << 64;
/// The difference of shares that [`Strictness::Shares`] allows, in the same units.
const FIXED_TOLERANCE: u128 = 1 << 44;

impl Promise {
    /// Checks that `exact` does nothing outside the promise, and serves each promised endpoint.
    fn kept_by(
        &self,
        exact: &Distribution<Outcome>,
        strictness: Strictness,
    ) -> Result<(), Disagreement> {
        let shares = exact.merged_fixed();
        shares.keys().try_for_each(|outcome| self.permits(outcome))?;
        let Promise::Endpoints(endpoints) = self else { return Ok(()) };
        let mut served: BTreeMap<SocketAddr, u128> = BTreeMap::new();
        for (outcome, share) in shares {
            if let Outcome::Deliver(delivery) = outcome {
                *served.entry(delivery.endpoint).or_default() += share;
            }
        }
        let even = FIXED_ONE / endpoints.len().max(1) as u128;
        for endpoint in endpoints.keys() {
            let share = *served.get(endpoint).ok_or(Disagreement::Starved(*endpoint))?;
            if strictness != Strictness::Support && share.abs_diff(even) >= FIXED_TOLERANCE {
                return Err(Disagreement::Starved(*endpoint));
            }
        }
        Ok(())
    }

    /// Checks that one outcome lies within the promise.
    ///
    /// # Errors
    /// Gives [`Disagreement::Promise`] if it does not.
    pub fn permits(&self, outcome: &Outcome) -> Result<(), Disagreement> {
        let permitted = match (self, outcome) {
            (Promise::Endpoints(endpoints), Outcome::Deliver(delivery)) => {
                endpoints.get(&delivery.endpoint).is_some_and(|source| source.permits(delivery))
            }
            (Promise::Refused, Outcome::Reject(RejectKind::Icmp(_) | RejectKind::Icmpv6(_)))
            | (Promise::Discarded, Outcome::Drop)
            | (Promise::Host, Outcome::Local)
            | (Promise::Onward, Outcome::Pass(_)) => true,
            _ => false,
        };
        if permitted {
            return Ok(());
        }
        Err(Disagreement::Promise { promised: self.clone(), got: outcome.clone() })
    }
}

impl SourcePromise {
    fn permits(self, delivery: &Delivery) -> bool {
        match self {
            SourcePromise::Free => true,
            SourcePromise::Kept => !delivery.source.is_rewritten(),
            SourcePromise::Rewritten => delivery.source.is_rewritten(),
        }
    }
}
