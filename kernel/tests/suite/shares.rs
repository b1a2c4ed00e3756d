//! Whether counts of outcomes fit their exact shares: the G-test.

use std::collections::BTreeMap;
use std::fmt;

use kps_flow::{Distribution, Observation, Outcome};
use num_traits::ToPrimitive;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// How often counts that are drawn as they should be are taken not to fit.
pub const FALSE_ALARM: f64 = 1e-6;

/// Counts that do not fit.
#[derive(Debug)]
pub enum Misfit {
    /// An outcome that has no share.
    Impossible(Outcome),
    /// Counts with a statistic beyond the quantile.
    Unlikely { counts: Vec<(u64, f64)>, statistic: f64, quantile: f64 },
}

/// Tells how the outcomes of packets do not fit the distribution that each was drawn from.
pub fn misfit(expected: &Distribution<Outcome>, seen: &[Observation]) -> Option<Misfit> {
    let shares = expected.merged();
    let mut counts: BTreeMap<&Outcome, u64> = shares.keys().map(|outcome| (*outcome, 0)).collect();
    for (got, number) in seen.iter().flat_map(|seen| &seen.counts) {
        match counts.iter_mut().find(|(outcome, _)| outcome.covers(got)) {
            Some((_, count)) => *count += number,
            None => return Some(Misfit::Impossible(got.clone())),
        }
    }
    let pairs = shares.values().zip(counts.values());
    let counts = pairs.map(|(share, count)| (*count, share.to_f64().unwrap_or(0.0))).collect();
    unlikely(counts)
}

/// The G-test: twice the log-likelihood ratio follows a chi-square distribution.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn unlikely(counts: Vec<(u64, f64)>) -> Option<Misfit> {
    let total = counts.iter().map(|(count, _)| *count).sum::<u64>() as f64;
    let term = |(count, share): &(u64, f64)| match *count as f64 {
        0.0 => 0.0,
        count => 2.0 * count * (count / (total * share)).ln(),
    };
    let statistic: f64 = counts.iter().map(term).sum();
    let freedom = counts.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let quantile = ChiSquared::new(freedom as f64).ok()?.inverse_cdf(1.0 - FALSE_ALARM);
    (statistic > quantile).then_some(Misfit::Unlikely { counts, statistic, quantile })
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Impossible(outcome) => write!(f, "{outcome} has no share"),
            Misfit::Unlikely { counts, statistic, quantile } => {
                let counts: Vec<String> =
                    counts.iter().map(|(count, share)| format!("{count} of {share:.4}")).collect();
                write!(f, "{}: G = {statistic:.1} > {quantile:.1}", counts.join(", "))
            }
        }
    }
}

#[test]
fn counts_that_fit_pass_and_others_do_not() {
    assert!(unlikely(vec![(200, 1.0 / 3.0), (190, 1.0 / 3.0), (210, 1.0 / 3.0)]).is_none());
    assert!(unlikely(vec![(300, 1.0 / 3.0), (100, 1.0 / 3.0), (200, 1.0 / 3.0)]).is_some());
    assert!(unlikely(vec![(600, 1.0)]).is_none());
    // 0 of 600 where one third is expected: 2 * 600 * ln(3/2) = 486.6, one degree of freedom.
    assert!(unlikely(vec![(0, 1.0 / 3.0), (600, 2.0 / 3.0)]).is_some());
}
