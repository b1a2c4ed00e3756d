//! How connections spread over outcomes: exact shares, draws, and how likely counts are.

use std::collections::BTreeMap;
use std::fmt::Write;

use kps_flow::{Distribution, Flow, Outcome};
use kps_sim::draw::{chi_square_p, draw};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use serde_json::{Value, json};

use super::bars::{as_f64, bar, percent};
use super::style::NAME;
use crate::error::Failure;

/// The outcomes of a flow, and what to draw from them.
pub struct Spread<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Its outcomes.
    pub distribution: &'a Distribution<Outcome>,
    /// How many connections a draw has.
    pub connections: u64,
    /// The seed of the first draw.
    pub seed: u64,
    /// How many draws there are, each with the next seed.
    pub runs: u64,
    /// Counts that were seen elsewhere, in the order of the outcomes; may be empty.
    pub observed: &'a [u64],
}

type Shares<'a> = BTreeMap<&'a Outcome, BigRational>;

impl Spread<'_> {
    /// Checks that there is a count for each outcome, if there are counts.
    ///
    /// # Errors
    /// If there are more or fewer.
    pub fn check_observed(&self) -> Result<(), Failure> {
        let (counts, outcomes) = (self.observed.len(), self.distribution.merged().len());
        if counts == 0 || counts == outcomes {
            return Ok(());
        }
        Err(Failure::Usage(format!("--observed: {counts} counts for {outcomes} outcomes")))
    }

    /// Writes for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let shares = self.distribution.merged();
        let _ = writeln!(out, "{}", self.flow);
        tell_shares(&mut out, &shares);
        for seed in self.seeds() {
            let counts = self.drawn(&shares, seed);
            let title = format!("{} connections drawn with seed {seed}", self.connections);
            tell_counts(&mut out, &title, &shares, &counts);
        }
        if !self.observed.is_empty() {
            tell_counts(&mut out, "observed", &shares, self.observed);
        }
        out
    }

    /// Writes for programs.
    pub fn json(&self) -> Value {
        let shares = self.distribution.merged();
        let exact: BTreeMap<String, String> = shares
            .iter()
            .map(|(outcome, share)| (outcome.to_string(), share.to_string()))
            .collect();
        let run = |seed| {
            let counts = self.drawn(&shares, seed);
            let named: BTreeMap<String, u64> =
                shares.keys().map(ToString::to_string).zip(counts.iter().copied()).collect();
            json!({ "seed": seed, "counts": named, "p": likelihood(&shares, &counts) })
        };
        let observed = (!self.observed.is_empty())
            .then(|| json!({ "counts": self.observed, "p": likelihood(&shares, self.observed) }));
        json!({
            "flow": self.flow.to_string(),
            "shares": exact,
            "connections": self.connections,
            "runs": self.seeds().map(run).collect::<Vec<_>>(),
            "observed": observed,
        })
    }

    fn seeds(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.runs).map(|run| self.seed.wrapping_add(run))
    }

    /// Draws connections, and returns how many had each outcome.
    fn drawn(&self, shares: &Shares<'_>, seed: u64) -> Vec<u64> {
        let counts = draw(self.distribution, self.connections, seed);
        shares.keys().map(|outcome| counts.get(outcome).copied().unwrap_or(0)).collect()
    }
}

fn likelihood(shares: &Shares<'_>, counts: &[u64]) -> Option<f64> {
    let judged: Vec<_> = counts.iter().copied().zip(shares.values().map(as_f64)).collect();
    chi_square_p(&judged)
}

fn tell_shares(out: &mut String, shares: &Shares<'_>) {
    let _ = writeln!(out, "\n{NAME}exact shares{NAME:#}");
    let largest = shares.values().map(as_f64).fold(0.0, f64::max);
    for (outcome, share) in shares {
        let bar = bar(as_f64(share), largest);
        let _ = writeln!(out, "  {:>10}  {bar:<40}  {outcome}\n{:14}{share}", percent(share), "");
    }
}

fn tell_counts(out: &mut String, title: &str, shares: &Shares<'_>, counts: &[u64]) {
    let p = likelihood(shares, counts).map(|p| format!(", chi-square p = {p:.4}"));
    let _ = writeln!(out, "\n{NAME}{title}{NAME:#}{}", p.unwrap_or_default());
    let as_number = |count: &u64| count.to_f64().unwrap_or_default();
    let largest = counts.iter().map(as_number).fold(0.0, f64::max);
    for (outcome, count) in shares.keys().zip(counts) {
        let bar = bar(as_number(count), largest);
        let _ = writeln!(out, "  {count:>10}  {bar:<40}  {outcome}");
    }
}
