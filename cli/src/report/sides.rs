//! How connections spread in several modes, side by side: an endpoint's lines stand together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use kps_flow::{Distribution, Flow, Outcome};
use kps_model::Mode;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use serde_json::{Map, Value, json};

use super::bars::{bar, percent};
use super::spread::tell_affinity;
use super::style::NAME;
use crate::drawn::Connections;

/// What is asked of all modes.
pub struct Question<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// The session affinity of the Service, in seconds.
    pub affinity: Option<u32>,
    /// The connections.
    pub connections: Connections,
    /// The seed of what is drawn at random.
    pub seed: u64,
}

/// What one mode does.
pub struct Side {
    mode: Mode,
    chooser: String,
    shares: BTreeMap<String, BigRational>,
    counts: BTreeMap<String, u64>,
}

impl Side {
    /// Gathers what a mode does by where packets go, whatever becomes of their source.
    pub fn new(
        mode: Mode,
        chooser: String,
        distribution: &Distribution<Outcome>,
        counts: &BTreeMap<Outcome, u64>,
    ) -> Side {
        let mut shares = BTreeMap::new();
        for (outcome, share) in distribution.merged() {
            *shares.entry(place(outcome)).or_insert_with(BigRational::zero) += share;
        }
        let mut seen = BTreeMap::new();
        for (outcome, count) in counts {
            *seen.entry(place(outcome)).or_insert(0) += count;
        }
        Side { mode, chooser, shares, counts: seen }
    }

    fn tell(&self, out: &mut String, place: &str, largest: f64) {
        let share = self.shares.get(place).cloned().unwrap_or_else(BigRational::zero);
        let count = self.counts.get(place).copied().unwrap_or(0);
        let bar = bar(count.to_f64().unwrap_or_default(), largest);
        let (mode, exact) = (self.mode.as_str(), percent(&share));
        let _ = writeln!(
            out,
            "  {mode:<8}  {:<9}  {exact:>10}  {count:>8}  {bar:<40}  {share}",
            self.chooser
        );
    }

    fn json(&self) -> Value {
        let shares: BTreeMap<&str, String> =
            self.shares.iter().map(|(place, share)| (place.as_str(), share.to_string())).collect();
        json!({ "chooser": self.chooser, "shares": shares, "counts": self.counts })
    }
}

/// Writes for people.
pub fn text(question: &Question<'_>, sides: &[Side]) -> String {
    let mut out = String::new();
    let Connections { number, clients } = question.connections;
    let _ = writeln!(out, "{}", question.flow);
    let _ = tell_affinity(&mut out, question.affinity);
    let _ = writeln!(
        out,
        "{number} connections of {clients} client{}: at random with seed {}, by IPVS in turn",
        if clients == 1 { "" } else { "s" },
        question.seed,
    );
    let largest = largest(sides);
    for place in places(sides) {
        let _ = writeln!(out, "\n{NAME}{place}{NAME:#}");
        for side in sides {
            side.tell(&mut out, place, largest);
        }
    }
    out
}

/// Writes for programs.
pub fn json(question: &Question<'_>, sides: &[Side]) -> Value {
    let modes: Map<String, Value> =
        sides.iter().map(|side| (side.mode.to_string(), side.json())).collect();
    json!({
        "flow": question.flow.to_string(),
        "affinity": question.affinity,
        "connections": question.connections.number,
        "clients": question.connections.clients,
        "seed": question.seed,
        "modes": modes,
    })
}

fn place(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Deliver(delivery) => delivery.endpoint.to_string(),
        other => other.to_string(),
    }
}

fn places(sides: &[Side]) -> BTreeSet<&str> {
    sides
        .iter()
        .flat_map(|side| side.shares.keys().chain(side.counts.keys()))
        .map(String::as_str)
        .collect()
}

fn largest(sides: &[Side]) -> f64 {
    let counts = sides.iter().flat_map(|side| side.counts.values());
    counts.filter_map(ToPrimitive::to_f64).fold(0.0, f64::max)
}
