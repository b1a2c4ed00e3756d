//! Whether what happens is what was expected.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use kps_flow::{Distribution, Flow, Outcome, SourceNat, Strictness};
use kps_model::Cluster;
use num_rational::BigRational;
use num_traits::Zero;
use thiserror::Error;

use super::endpoint::{EndpointName, Share, Shares};
use super::source::ExpectedSource;
use super::suite::{Expectation, Expected};

/// How outcomes differ from what was expected. Shares are exact fractions.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Mismatch {
    /// Something else happens, with this share.
    #[error("expected {expected}, but {got} (share {share})")]
    Outcome {
        /// What was expected.
        expected: Expected,
        /// What happens.
        got: Outcome,
        /// How often.
        share: BigRational,
    },
    /// An endpoint gets packets that is not among those expected.
    #[error("endpoint {0} gets packets (share {1}), and is not expected")]
    Unexpected(SocketAddr, BigRational),
    /// An endpoint that was expected gets none.
    #[error("endpoint {0} is expected, and gets no packets")]
    Starved(EndpointName),
    /// An endpoint gets another share.
    #[error("endpoint {endpoint} is expected to get a share of {expected}, and gets {got}")]
    Share {
        /// The endpoint.
        endpoint: String,
        /// The share that was expected.
        expected: Box<BigRational>,
        /// The share that it gets.
        got: Box<BigRational>,
    },
    /// The source is another.
    #[error("expected {expected}, but {got}")]
    Source {
        /// The source that was expected.
        expected: ExpectedSource,
        /// What happens.
        got: Outcome,
    },
}

/// Holds what happens to the first packet of a flow against what was expected of it.
///
/// # Errors
/// Gives the first mismatch: of outcomes, then of endpoints, shares and sources.
pub fn hold(
    expectation: &Expectation,
    flow: &Flow,
    outcomes: &Distribution<Outcome>,
    cluster: &Cluster,
) -> Result<(), Mismatch> {
    let merged = outcomes.merged();
    for (outcome, share) in &merged {
        expectation.permits(outcome, share)?;
    }
    let served = Served { shares: served(&merged), cluster };
    if let Some(names) = &expectation.endpoints {
        served.are_exactly(names)?;
    }
    match &expectation.shares {
        None => {}
        Some(Shares::Even) => served.are_even()?,
        Some(Shares::Each(shares)) => served.have(shares)?,
    }
    match expectation.source {
        None => Ok(()),
        Some(source) => merged.keys().try_for_each(|outcome| sees(source, outcome, flow)),
    }
}

impl Expectation {
    fn permits(&self, outcome: &Outcome, share: &BigRational) -> Result<(), Mismatch> {
        let permitted = match self.expect {
            Expected::Endpoints => matches!(outcome, Outcome::Deliver(_)),
            Expected::Refused => matches!(outcome, Outcome::Reject(_)),
            Expected::Dropped => matches!(outcome, Outcome::Drop),
            Expected::Host => matches!(outcome, Outcome::Local),
            Expected::Onward => matches!(outcome, Outcome::Pass(_)),
        };
        if permitted {
            return Ok(());
        }
        let (expected, got) = (self.expect, outcome.clone());
        Err(Mismatch::Outcome { expected, got, share: share.clone() })
    }
}

fn sees(expected: ExpectedSource, outcome: &Outcome, flow: &Flow) -> Result<(), Mismatch> {
    let source: SourceNat = match outcome {
        Outcome::Deliver(delivery) => delivery.source,
        Outcome::Pass(source) => *source,
        _ => return Ok(()),
    };
    if expected.is(source, flow) {
        return Ok(());
    }
    Err(Mismatch::Source { expected, got: outcome.clone() })
}

fn served(merged: &BTreeMap<&Outcome, BigRational>) -> BTreeMap<SocketAddr, BigRational> {
    let mut shares = BTreeMap::new();
    for (outcome, share) in merged {
        if let Outcome::Deliver(delivery) = outcome {
            *shares.entry(delivery.endpoint).or_insert_with(BigRational::zero) += share;
        }
    }
    shares
}

/// The endpoints that get packets, and how often.
struct Served<'a> {
    shares: BTreeMap<SocketAddr, BigRational>,
    cluster: &'a Cluster,
}

impl Served<'_> {
    fn are_exactly(&self, names: &[EndpointName]) -> Result<(), Mismatch> {
        let is_named = |endpoint| names.iter().any(|name| name.is(endpoint, self.cluster));
        if let Some((endpoint, share)) = self.shares.iter().find(|(e, _)| !is_named(**e)) {
            return Err(Mismatch::Unexpected(*endpoint, share.clone()));
        }
        match names.iter().find(|name| self.share_of(name).is_zero()) {
            Some(name) => Err(Mismatch::Starved(name.clone())),
            None => Ok(()),
        }
    }

    fn are_even(&self) -> Result<(), Mismatch> {
        let even = BigRational::new(1.into(), self.shares.len().max(1).into());
        self.shares.iter().try_for_each(|(endpoint, got)| same_share(endpoint, &even, got))
    }

    fn have(&self, shares: &BTreeMap<EndpointName, Share>) -> Result<(), Mismatch> {
        let expected = shares.iter();
        expected.into_iter().try_for_each(|(n, share)| same_share(n, &share.0, &self.share_of(n)))
    }

    fn share_of(&self, name: &EndpointName) -> BigRational {
        let meant = self.shares.iter().filter(|(endpoint, _)| name.is(**endpoint, self.cluster));
        meant.map(|(_, share)| share).sum()
    }
}

fn same_share(
    endpoint: &impl ToString,
    expected: &BigRational,
    got: &BigRational,
) -> Result<(), Mismatch> {
    if Strictness::Shares.accepts(expected, got) {
        return Ok(());
    }
    let endpoint = endpoint.to_string();
    Err(Mismatch::Share {
        endpoint,
        expected: Box::new(expected.clone()),
        got: Box::new(got.clone()),
    })
}
