//! The answer of `sim walk` to one flow.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use kps_flow::{Outcome, SourceNat};
use kps_sim::Walk;
use num_rational::BigRational;
use num_traits::Zero;
use serde::Serialize;

/// What happens to a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// One word.
    pub outcome: &'static str,
    /// The endpoints that may get the packet.
    pub endpoints: BTreeMap<String, EndpointAnswer>,
    /// The share of each outcome, if there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<&'static str, String>,
    /// How the client is told of a rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject_with: Option<String>,
    /// What the model cannot tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// What shares rest on, beyond the rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumes: Vec<String>,
}

/// What an endpoint gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointAnswer {
    /// Its exact share.
    pub share: String,
    /// Whether the source address or port is rewritten.
    pub snat: bool,
    /// The source address that it sees, where that is sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<IpAddr>,
}

/// Returns the word for an outcome.
pub fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Deliver(_) => "forwarded",
        Outcome::Pass(_) => "passthrough",
        Outcome::Local => "local",
        Outcome::Reject(_) => "reject",
        Outcome::Drop => "drop",
        Outcome::Unknown(_) => "unknown",
    }
}

impl Answer {
    /// Puts a walk into words.
    pub fn of(walk: &Walk) -> Answer {
        let distribution = walk.distribution();
        let merged = distribution.merged();
        let mut words: BTreeMap<&'static str, BigRational> = BTreeMap::new();
        for (outcome, share) in &merged {
            *words.entry(word(outcome)).or_insert_with(BigRational::zero) += share;
        }
        let mut answer = Answer::plain("mixed");
        if let [(only, _)] = words.iter().collect::<Vec<_>>().as_slice() {
            answer.outcome = only;
        } else {
            answer.outcomes =
                words.iter().map(|(word, share)| (*word, share.to_string())).collect();
        }
        answer.endpoints = endpoints(walk, &merged);
        answer.assumes = walk.premises().iter().map(ToString::to_string).collect();
        answer.add_reasons(merged.keys().copied());
        answer.assumes = walk.premises().iter().map(ToString::to_string).collect();
        answer
    }

    /// An answer that is one word.
    pub fn plain(outcome: &'static str) -> Answer {
        Answer {
            outcome,
            endpoints: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            reject_with: None,
            unknown: Vec::new(),
            assumes: Vec::new(),
        }
    }

    fn add_reasons<'a>(&mut self, outcomes: impl Iterator<Item = &'a Outcome>) {
        for outcome in outcomes {
            match outcome {
                Outcome::Reject(kind) => self.reject_with = Some(kind.to_string()),
                Outcome::Unknown(why) => self.unknown.push(why.clone()),
                _ => {}
            }
        }
    }
}

fn endpoints(
    walk: &Walk,
    merged: &BTreeMap<&Outcome, BigRational>,
) -> BTreeMap<String, EndpointAnswer> {
    let mut shares: BTreeMap<SocketAddr, (BigRational, bool)> = BTreeMap::new();
    for (outcome, share) in merged {
        if let Outcome::Deliver(delivery) = outcome {
            let entry =
                shares.entry(delivery.endpoint).or_insert_with(|| (BigRational::zero(), false));
            entry.0 += share;
            entry.1 |= delivery.source.is_rewritten();
        }
    }
    let answer = |(endpoint, (share, snat)): (SocketAddr, (BigRational, bool))| {
        let src = source_seen(walk, endpoint);
        (endpoint.to_string(), EndpointAnswer { share: share.to_string(), snat, src })
    };
    shares.into_iter().map(answer).collect()
}

/// Returns the source that an endpoint sees, if it is the same on every way and known.
fn source_seen(walk: &Walk, endpoint: SocketAddr) -> Option<IpAddr> {
    let mut seen = walk.paths.iter().filter_map(|path| match &path.outcome {
        Outcome::Deliver(delivery) if delivery.endpoint == endpoint => {
            Some(match delivery.source {
                SourceNat::Kept => Some(path.packet.source),
                SourceNat::Rewritten(address) => address,
            })
        }
        _ => None,
    });
    let first = seen.next()??;
    seen.all(|other| other == Some(first)).then_some(first)
}
