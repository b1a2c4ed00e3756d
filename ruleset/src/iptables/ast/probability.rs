//! The probability of `-m statistic --mode random`.

/// A probability as the kernel stores it: so many of 2^31 equal chances. It compares 31 random bits
/// with that number (`net/netfilter/xt_statistic.c`), so 2^31 is certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(u32);

impl Probability {
    /// Certainty.
    pub const ONE: u32 = 1 << 31;

    /// Returns the probability of so many chances of 2^31, at most 2^31.
    #[must_use]
    pub fn new(chances: u32) -> Probability {
        Probability(chances.min(Self::ONE))
    }

    /// Returns what iptables stores when it is given `1/count` with ten decimals, as kube-proxy
    /// does. A count of 0 is certainty, like 1.
    #[must_use]
    pub fn one_of(count: u32) -> Probability {
        Self::from_decimals(ten_decimals(count.max(1)), TEN_DECIMALS)
    }

    /// Returns what iptables stores for `numerator/denominator`: the nearest of 2^31 parts.
    pub(crate) fn from_decimals(numerator: u64, denominator: u64) -> Probability {
        let (numerator, denominator) = (u128::from(numerator), u128::from(denominator.max(1)));
        let rounded = (numerator * u128::from(Self::ONE) * 2 + denominator) / (denominator * 2);
        Probability(u32::try_from(rounded).unwrap_or(Self::ONE).min(Self::ONE))
    }

    /// Reads a decimal number from 0 to 1 as iptables does: to the nearest of 2^31 parts.
    pub(crate) fn parse(word: &str) -> Option<Probability> {
        let value: f64 = word.parse().ok().filter(|p| (0.0..=1.0).contains(p))?;
        // INVARIANT: in 0..=2^31, so the conversion is exact.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        let chances = (value * f64::from(Probability::ONE)).round() as u32;
        Some(Probability::new(chances))
    }

    /// Returns the number of chances of 2^31.
    #[must_use]
    pub fn chances(self) -> u32 {
        self.0
    }

    /// Returns the ten decimals that kube-proxy writes: those of `1/n` if they are stored as this.
    pub(crate) fn written_decimals(self) -> u64 {
        let count = (Self::ONE + self.0 / 2).checked_div(self.0);
        match count {
            Some(count) if Self::one_of(count) == self => ten_decimals(count),
            _ => self.decimals(TEN_DECIMALS),
        }
    }

    /// Returns the value in units of `1/scale`, half to even as the C library rounds.
    pub(crate) fn decimals(self, scale: u64) -> u64 {
        let exact = u128::from(self.0) * u128::from(scale);
        let (whole, rest) = (exact >> 31, exact & (u128::from(Self::ONE) - 1));
        let half = u128::from(Self::ONE) / 2;
        let up = rest > half || (rest == half && whole % 2 == 1);
        u64::try_from(whole + u128::from(up)).unwrap_or(scale)
    }
}

const TEN_DECIMALS: u64 = 10_000_000_000;

/// Returns `1/count` in units of 10^-10, rounded as `%.10f` does.
fn ten_decimals(count: u32) -> u64 {
    let count = u64::from(count);
    (TEN_DECIMALS + count / 2) / count
}
