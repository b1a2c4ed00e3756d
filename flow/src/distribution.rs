//! Exact distributions, kept factored.
//!
//! A choice among n endpoints by an iptables cascade multiplies up to n factors; written out as one
//! fraction, 5000 endpoints take 150 kbit each. A [`Weight`] therefore keeps its factors in a list
//! whose tail is shared with its siblings, and becomes one fraction only when asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};
use num_traits::{One, ToPrimitive, Zero};

/// A probability as a product of factors. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Weight(Option<Arc<Factor>>);

#[derive(Debug)]
struct Factor {
    share: Share,
    rest: Weight,
}

/// One factor: small ones, which draws give, are kept small.
#[derive(Debug)]
enum Share {
    Small(Ratio<u64>),
    Big(BigRational),
}

impl Weight {
    /// Certainty.
    #[must_use]
    pub fn one() -> Weight {
        Weight(None)
    }

    /// A weight with this value, as one factor.
    #[must_use]
    pub fn exactly(value: BigRational) -> Weight {
        Weight(Some(Arc::new(Factor { share: Share::Big(value), rest: Weight::one() })))
    }

    /// Returns this weight multiplied by `ratio`. A factor of one is not stored.
    #[must_use]
    pub fn times(&self, ratio: Ratio<u64>) -> Weight {
        if ratio.is_one() {
            return self.clone();
        }
        Weight(Some(Arc::new(Factor { share: Share::Small(ratio), rest: self.clone() })))
    }

    /// Returns the weight in units of 2^-64. Each factor may lose one unit by rounding down; factors
    /// whose denominators are powers of two, up to 2^64 in all, lose nothing.
    #[must_use]
    pub fn to_fixed(&self) -> u128 {
        let one = BigInt::one() << 64;
        let mut fixed: u128 = 1 << 64;
        let mut next = self.0.as_deref();
        while let Some(Factor { share, rest }) = next {
            fixed = match share {
                Share::Small(ratio) => fixed
                    .checked_mul((*ratio.numer()).into())
                    .map_or(0, |product| product / u128::from(*ratio.denom())),
                Share::Big(ratio) => {
                    let factor: BigInt = ratio.numer() * &one / ratio.denom();
                    let factor = factor.to_u128().unwrap_or(0);
                    fixed.checked_mul(factor >> 1).map_or(0, |product| product >> 63)
                }
            };
            next = rest.0.as_deref();
        }
        fixed
    }

    /// Multiplies the factors out.
    #[must_use]
    pub fn to_ratio(&self) -> BigRational {
        let mut numerator = BigInt::one();
        let mut denominator = BigInt::one();
        let mut next = self.0.as_deref();
        while let Some(Factor { share, rest }) = next {
            match share {
                Share::Small(ratio) => {
                    numerator *= *ratio.numer();
                    denominator *= *ratio.denom();
                }
                Share::Big(ratio) => {
                    numerator *= ratio.numer();
                    denominator *= ratio.denom();
                }
            }
            next = rest.0.as_deref();
        }
        BigRational::new(numerator, denominator)
    }
}

impl Drop for Factor {
    /// Unlinks the list step by step: a long cascade must not overflow the stack.
    fn drop(&mut self) {
        let mut next = self.rest.0.take();
        while let Some(mut factor) = next.and_then(Arc::into_inner) {
            next = factor.rest.0.take();
        }
    }
}

/// A distribution: every branch that a walk can take, with its weight. Branches with equal values
/// are kept apart until [`Distribution::merged`].
#[derive(Debug, Clone)]
pub struct Distribution<T> {
    branches: Vec<(Weight, T)>,
}

impl<T> Distribution<T> {
    /// A distribution with one certain value.
    #[must_use]
    pub fn sure(value: T) -> Distribution<T> {
        Distribution { branches: vec![(Weight::one(), value)] }
    }

    /// Returns the branches in the order in which the walk met them.
    #[must_use]
    pub fn branches(&self) -> &[(Weight, T)] {
        &self.branches
    }

    /// Applies `f` to every value.
    #[must_use]
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Distribution<U> {
        Distribution { branches: self.branches.into_iter().map(|(w, v)| (w, f(v))).collect() }
    }

    /// Returns each distinct value with its exact probability, in the order of the values.
    #[must_use]
    pub fn merged(&self) -> BTreeMap<&T, BigRational>
    where
        T: Ord,
    {
        let mut sums = BTreeMap::new();
        for (weight, value) in &self.branches {
            *sums.entry(value).or_insert_with(BigRational::zero) += weight.to_ratio();
        }
        sums
    }
}

impl<T: Ord> Distribution<T> {
    /// Returns each distinct value with its probability in units of 2^-64, rounded down as
    /// [`Weight::to_fixed`] says: for comparisons that allow for far more than that.
    #[must_use]
    pub fn merged_fixed(&self) -> BTreeMap<&T, u128> {
        let mut sums: BTreeMap<&T, u128> = BTreeMap::new();
        for (weight, value) in &self.branches {
            let sum = sums.entry(value).or_default();
            *sum = sum.saturating_add(weight.to_fixed());
        }
        sums
    }
}

impl<T> FromIterator<(Weight, T)> for Distribution<T> {
    fn from_iter<I: IntoIterator<Item = (Weight, T)>>(branches: I) -> Self {
        Distribution { branches: branches.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_cascade_sums_to_one() {
        let n: u64 = 500;
        let mut rest = Weight::one();
        let mut branches = Vec::new();
        for left in (1..=n).rev() {
            branches.push((rest.times(Ratio::new(1, left)), left));
            rest = rest.times(Ratio::new(left - 1, left));
        }
        let distribution: Distribution<u64> = branches.into_iter().collect();
        let merged = distribution.merged();
        assert_eq!(merged.values().sum::<BigRational>(), BigRational::one());
        assert_eq!(merged[&17], BigRational::new(1.into(), n.into()));
    }

    #[test]
    fn fixed_point_is_exact_for_draws_of_the_kernel() {
        let half = Weight::one().times(Ratio::new(1, 2));
        assert_eq!(half.times(Ratio::new(1_431_655_766, 1 << 32)).to_fixed(), 1_431_655_766 << 31);
        assert_eq!(Weight::one().to_fixed(), 1 << 64);
        let third = Weight::exactly(BigRational::new(1.into(), 3.into()));
        assert!(((1_u128 << 64) / 3).abs_diff(third.to_fixed()) <= 2);
    }
}
