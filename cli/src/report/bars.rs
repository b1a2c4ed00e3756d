//! Shares as text: percentages and bars.

use num_rational::BigRational;
use num_traits::ToPrimitive;

/// The length of the bar of the largest share, in characters.
const FULL: usize = 40;

/// How many characters of a fraction are read at a glance.
const MOST_DIGITS: usize = 7;

/// Returns a share as a percentage with four decimals.
pub fn percent(share: &BigRational) -> String {
    format!("{:.4} %", as_f64(share) * 100.0)
}

/// Returns a share so that it can be read: as a fraction, or as a percentage where that is long.
pub fn readable(share: &BigRational) -> String {
    let exact = share.to_string();
    if exact.len() <= MOST_DIGITS { exact } else { percent(share) }
}

/// Returns the bar of a value, in proportion to the largest.
pub fn bar(value: f64, largest: f64) -> String {
    let share = if largest > 0.0 { value / largest } else { 0.0 };
    let filled = (0..FULL).filter(|step| as_count(*step) + 0.5 < share * as_count(FULL)).count();
    "█".repeat(filled)
}

/// Returns the nearest floating-point number, for display only.
pub fn as_f64(share: &BigRational) -> f64 {
    share.to_f64().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "at most 40")]
fn as_count(step: usize) -> f64 {
    step as f64
}
