//! Draws connections from a distribution, as the kernel's random numbers would.
//!
//! A draw takes a 64-bit number and finds the branch whose share of the number line it falls into.
//! For a single `numgen random mod N` the upper 32 bits are the kernel's number, and the branch is
//! `(number * N) >> 32`, bit for bit. Elsewhere a branch's chance is off by less than 2^-64 for each
//! of its random choices.

use std::collections::BTreeMap;

use kps_flow::{Distribution, Outcome};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::function::gamma::checked_gamma_ur;

/// Counts of outcomes of many connections, drawn from `distribution` with a seed. The same seed
/// gives the same counts.
#[must_use]
pub fn draw(
    distribution: &Distribution<Outcome>,
    connections: u64,
    seed: u64,
) -> BTreeMap<Outcome, u64> {
    draw_sticky(distribution, connections, connections, seed)
}

/// As [`draw`], with connections that come from `clients` in turn: each client's first connection
/// draws, and its others follow it, as session affinity makes them before its timeout.
#[must_use]
pub fn draw_sticky(
    distribution: &Distribution<Outcome>,
    connections: u64,
    clients: u64,
    seed: u64,
) -> BTreeMap<Outcome, u64> {
    let line = NumberLine::new(distribution);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut hits = vec![0_u64; distribution.branches().len()];
    for client in 0..clients.min(connections) {
        if let Some(hit) = hits.get_mut(line.branch(random.next_u64())) {
            *hit += connections / clients + u64::from(client < connections % clients);
        }
    }
    let mut counts = BTreeMap::new();
    for ((_, outcome), hits) in distribution.branches().iter().zip(hits) {
        *counts.entry(outcome.clone()).or_insert(0) += hits;
    }
    counts
}

/// Returns the probability that counts of connections differ at least as much from what their
/// shares let expect as these do (Pearson's chi-square test); `None` with fewer than two outcomes,
/// or if an outcome was counted that has no share.
///
/// `counts` holds for each outcome how often it was seen and its share.
#[must_use]
pub fn chi_square_p(counts: &[(u64, f64)]) -> Option<f64> {
    let total: f64 = counts.iter().map(|(seen, _)| as_f64(*seen)).sum();
    let mut statistic = 0.0;
    for &(seen, share) in counts {
        let expected = total * share;
        if expected > 0.0 {
            statistic += (as_f64(seen) - expected).powi(2) / expected;
        } else if seen > 0 {
            return None;
        }
    }
    let freedom = counts.iter().filter(|(_, share)| *share > 0.0).count().checked_sub(1)?;
    if freedom == 0 {
        return None;
    }
    checked_gamma_ur(as_f64(u64::try_from(freedom).ok()?) / 2.0, statistic / 2.0).ok()
}

#[expect(clippy::cast_precision_loss, reason = "counts of connections are far below 2^53")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

/// The branches of a distribution, laid end to end.
struct NumberLine {
    /// Where each branch ends, in units of 2^-64.
    ends: Vec<u128>,
}

impl NumberLine {
    fn new(distribution: &Distribution<Outcome>) -> NumberLine {
        let mut end = 0;
        let ends = distribution.branches().iter().map(|(weight, _)| {
            end += weight.to_fixed();
            end
        });
        NumberLine { ends: ends.collect() }
    }

    /// Returns the branch that a number falls into; the last one takes what rounding left over.
    fn branch(&self, number: u64) -> usize {
        let at = self.ends.partition_point(|end| *end <= number.into());
        at.min(self.ends.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use kps_flow::Weight;

    use super::*;
    use crate::walk::scaled_share;

    fn uniform(of: u32) -> Distribution<Outcome> {
        (0..of)
            .map(|i| {
                let weight = Weight::one().times(scaled_share(i, of));
                (weight, Outcome::Unknown(i.to_string()))
            })
            .collect()
    }

    #[test]
    fn a_draw_is_the_kernels_reciprocal_scale() {
        for of in [1, 2, 3, 7, 100] {
            let line = NumberLine::new(&uniform(of));
            for number in [0, 1, 1 << 31, u32::MAX / 3, u32::MAX / 3 + 1, u32::MAX] {
                let scaled = (u64::from(number) * u64::from(of)) >> 32;
                assert_eq!(line.branch(u64::from(number) << 32) as u64, scaled);
            }
        }
    }

    #[test]
    fn draws_follow_the_shares() {
        let counts = draw(&uniform(3), 30_000, 7);
        assert_eq!(counts.values().sum::<u64>(), 30_000);
        assert_eq!(counts, draw(&uniform(3), 30_000, 7));
        let fair: Vec<_> = counts.values().map(|seen| (*seen, 1.0 / 3.0)).collect();
        assert!(chi_square_p(&fair).unwrap() > 0.001);
        let wrong: Vec<_> = counts.values().zip([0.2, 0.3, 0.5]).map(|(n, p)| (*n, p)).collect();
        assert!(chi_square_p(&wrong).unwrap() < 1e-6);
    }

    #[test]
    fn connections_of_a_client_stick_together() {
        let counts = draw_sticky(&uniform(3), 10, 1, 7);
        assert_eq!(counts.values().copied().collect::<Vec<_>>().iter().max(), Some(&10));
        assert_eq!(draw_sticky(&uniform(3), 10, 4, 7).values().sum::<u64>(), 10);
        assert_eq!(draw_sticky(&uniform(3), 10, 0, 7).values().sum::<u64>(), 0);
    }

    #[test]
    fn the_p_value_is_that_of_the_tables() {
        // 3.841 is the 5 % point for one degree of freedom.
        let counts = [(60, 0.5), (40, 0.5)];
        assert!((chi_square_p(&counts).unwrap() - 0.0455).abs() < 1e-4);
        assert_eq!(chi_square_p(&[(5, 1.0)]), None);
        assert_eq!(chi_square_p(&[(5, 1.0), (1, 0.0)]), None);
    }
}
