//! When two sides do the same with a packet.

use std::collections::BTreeMap;

use kps_flow::{Delivery, Distribution, Outcome, SourceNat, Strictness};
use num_rational::BigRational;
use num_traits::Zero;

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
    let alike = |share: &BigRational, other: &BigRational| Strictness::Shares.accepts(share, other);
    left.len() == right.len()
        && left.iter().all(|(outcome, share)| right.get(outcome).is_some_and(|r| alike(share, r)))
}

fn shares(
    distribution: &Distribution<Outcome>,
    source: impl Fn(SourceNat) -> SourceNat,
) -> BTreeMap<Outcome, BigRational> {
    let mut shares = BTreeMap::new();
    for (weight, outcome) in distribution.branches() {
        let outcome = match outcome {
            Outcome::Deliver(to) => Outcome::Deliver(Delivery { source: source(to.source), ..*to }),
            Outcome::Pass(way) => Outcome::Pass(source(*way)),
            other => other.clone(),
        };
        *shares.entry(outcome).or_insert_with(BigRational::zero) += weight.to_ratio();
    }
    shares
}
