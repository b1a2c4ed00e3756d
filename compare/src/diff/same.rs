//! When two sides do the same with a packet.

use std::collections::BTreeMap;

use kps_flow::{Delivery, Distribution, Outcome, SourceNat};

/// Shares are the same if they differ by less than this, in units of 2^-64: 2^-20, far more than
/// what the kernel's rounding adds up to and far less than any wrong weight.
const TOLERANCE: u128 = 1 << 44;

/// Tells whether two sides do the same with a packet: the same outcomes, with shares that are equal
/// but for the kernel's rounding. An address of masquerading that one side is not sure of counts
/// as any.
#[must_use]
pub fn same(left: &Distribution<Outcome>, right: &Distribution<Outcome>) -> bool {
    alike(left, right, |source| match source {
        SourceNat::Rewritten(_) => SourceNat::Rewritten(None),
        SourceNat::Kept => SourceNat::Kept,
    })
}

/// Tells whether two sides do the same but for the source that endpoints see.
#[must_use]
pub fn same_but_for_source(left: &Distribution<Outcome>, right: &Distribution<Outcome>) -> bool {
    alike(left, right, |_| SourceNat::Kept)
}

fn alike(
    left: &Distribution<Outcome>,
    right: &Distribution<Outcome>,
    source: impl Fn(SourceNat) -> SourceNat + Copy,
) -> bool {
    let (left, right) = (shares(left, source), shares(right, source));
    let alike = |outcome: &Outcome, share: &u128| {
        right.get(outcome).is_some_and(|other| share.abs_diff(*other) < TOLERANCE)
    };
    left.len() == right.len() && left.iter().all(|(outcome, share)| alike(outcome, share))
}

fn shares(
    distribution: &Distribution<Outcome>,
    source: impl Fn(SourceNat) -> SourceNat,
) -> BTreeMap<Outcome, u128> {
    let mut shares = BTreeMap::new();
    for (weight, outcome) in distribution.branches() {
        let outcome = match outcome {
            Outcome::Deliver(to) => Outcome::Deliver(Delivery { source: source(to.source), ..*to }),
            Outcome::Pass(way) => Outcome::Pass(source(*way)),
            other => other.clone(),
        };
        *shares.entry(outcome).or_insert(0) += weight.to_fixed();
    }
    shares
}
