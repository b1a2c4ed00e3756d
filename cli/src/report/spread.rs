//! How connections spread over outcomes: exact shares, draws, and how likely counts are.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use kps_flow::{Distribution, Flow, Outcome};
use kps_sim::draw::chi_square_p;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use serde_json::{Value, json};

use super::bars::{as_f64, bar, percent};
use super::style::NAME;
use crate::drawn::{Chooser, Connections};
use crate::error::Failure;

/// The outcomes of a flow, and what to draw from them.
pub struct Spread<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Its outcomes.
    pub distribution: &'a Distribution<Outcome>,
    /// How the rules choose.
    pub chooser: &'a Chooser<'a>,
    /// The session affinity of the Service, in seconds.
    pub affinity: Option<u32>,
    /// The connections of a draw.
    pub connections: Connections,
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
    ///
    /// # Errors
    /// If connections cannot be drawn.
    pub fn text(&self) -> Result<String, Failure> {
        let mut out = String::new();
        let shares = self.distribution.merged();
        let _ = writeln!(out, "{}", self.flow);
        let _ = tell_affinity(&mut out, self.affinity);
        tell_shares(&mut out, &shares);
        for seed in self.seeds() {
            let counts = self.drawn(&shares, seed)?;
            let likely = self.likelihood(&shares, &counts);
            tell_counts(&mut out, &self.title(seed), &shares, &counts, likely);
        }
        if !self.observed.is_empty() {
            let likely = likelihood(&shares, self.observed);
            tell_counts(&mut out, "observed", &shares, self.observed, likely);
        }
        Ok(out)
    }

    fn title(&self, seed: u64) -> String {
        let number = self.connections.number;
        match self.chooser {
            Chooser::Turns(service, _) => {
                format!("{number} connections in turn, by the scheduler {}", service.scheduler)
            }
            _ => format!("{number} connections drawn with seed {seed}"),
        }
    }

    /// Writes for programs.
    ///
    /// # Errors
    /// If connections cannot be drawn.
    pub fn json(&self) -> Result<Value, Failure> {
        let shares = self.distribution.merged();
        let exact: BTreeMap<String, String> = shares
            .iter()
            .map(|(outcome, share)| (outcome.to_string(), share.to_string()))
            .collect();
        let run = |seed| {
            let counts = self.drawn(&shares, seed)?;
            let named: BTreeMap<String, u64> =
                shares.keys().map(ToString::to_string).zip(counts.iter().copied()).collect();
            let p = self.likelihood(&shares, &counts);
            let seed = self.chooser.is_random().then_some(seed);
            Ok(json!({ "seed": seed, "counts": named, "p": p }))
        };
        let observed = (!self.observed.is_empty())
            .then(|| json!({ "counts": self.observed, "p": likelihood(&shares, self.observed) }));
        Ok(json!({
            "flow": self.flow.to_string(),
            "affinity": self.affinity,
            "shares": exact,
            "connections": self.connections.number,
            "clients": self.connections.clients,
            "runs": self.seeds().map(run).collect::<Result<Vec<_>, Failure>>()?,
            "observed": observed,
        }))
    }

    /// The seeds of the draws; where nothing is random, one draw says all.
    fn seeds(&self) -> impl Iterator<Item = u64> + '_ {
        let runs = if self.chooser.is_random() { self.runs } else { self.runs.min(1) };
        (0..runs).map(|run| self.seed.wrapping_add(run))
    }

    /// Draws connections, and returns how many had each outcome.
    fn drawn(&self, shares: &Shares<'_>, seed: u64) -> Result<Vec<u64>, Failure> {
        let counts = self.chooser.counts(self.flow, self.distribution, self.connections, seed)?;
        Ok(shares.keys().map(|outcome| counts.get(outcome).copied().unwrap_or(0)).collect())
    }

    /// How likely drawn counts are; of counts that hang together nothing is said.
    fn likelihood(&self, shares: &Shares<'_>, counts: &[u64]) -> Option<f64> {
        self.chooser.is_independent().then(|| likelihood(shares, counts)).flatten()
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

/// Says what session affinity does to counts.
pub fn tell_affinity(out: &mut String, affinity: Option<u32>) -> fmt::Result {
    match affinity {
        None => Ok(()),
        Some(seconds) => writeln!(
            out,
            "session affinity: a client's connections follow its last one for {seconds} s"
        ),
    }
}

fn tell_counts(
    out: &mut String,
    title: &str,
    shares: &Shares<'_>,
    counts: &[u64],
    likelihood: Option<f64>,
) {
    let p = likelihood.map(|p| format!(", chi-square p = {p:.4}"));
    let _ = writeln!(out, "\n{NAME}{title}{NAME:#}{}", p.unwrap_or_default());
    let as_number = |count: &u64| count.to_f64().unwrap_or_default();
    let largest = counts.iter().map(as_number).fold(0.0, f64::max);
    for (outcome, count) in shares.keys().zip(counts) {
        let bar = bar(as_number(count), largest);
        let _ = writeln!(out, "  {count:>10}  {bar:<40}  {outcome}");
    }
}
