//! Compares what two walks of a packet gave.

use std::collections::BTreeMap;

use kps_flow::{Distribution, Outcome};

use crate::walk::Walk;

/// What both sides do to a packet.
#[derive(Debug)]
pub(super) enum Verdict {
    Equal,
    Different { left: Distribution<Outcome>, right: Distribution<Outcome> },
    Unknown(String),
}

/// Shares are equal if they differ by less than this, in units of 2^-64: one in a million.
const ROUNDING: u128 = (1 << 64) / 1_000_000;

impl Verdict {
    /// Compares two walks; `lost` says why they do not stand for their class, if so.
    pub(super) fn of(walks: &[Walk; 2], lost: Option<String>) -> Verdict {
        if let Some(why) = lost {
            return Verdict::Unknown(why);
        }
        let [left, right] = walks.each_ref().map(Walk::distribution);
        if let Some(why) = unknown(&left).or_else(|| unknown(&right)) {
            return Verdict::Unknown(why);
        }
        if alike(&left, &right) { Verdict::Equal } else { Verdict::Different { left, right } }
    }

    /// Tells whether another packet got the same verdict.
    pub(super) fn is_like(&self, other: &Verdict) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

fn unknown(outcomes: &Distribution<Outcome>) -> Option<String> {
    outcomes.branches().iter().find_map(|(_, outcome)| match outcome {
        Outcome::Unknown(why) => Some(why.clone()),
        _ => None,
    })
}

fn alike(left: &Distribution<Outcome>, right: &Distribution<Outcome>) -> bool {
    let (left, right) = (shares(left), shares(right));
    left.len() == right.len()
        && left
            .iter()
            .zip(&right)
            .all(|((one, share), (other, its))| one == other && share.abs_diff(*its) < ROUNDING)
}

fn shares(outcomes: &Distribution<Outcome>) -> BTreeMap<&Outcome, u128> {
    let mut shares = BTreeMap::new();
    for (weight, outcome) in outcomes.branches() {
        *shares.entry(outcome).or_insert(0) += weight.to_fixed();
    }
    shares
}
