//! Compares what two states of a node do to all packets that open a connection.
//!
//! Packets are walked by the ordinary walker, one for each class: while it walks, every question of
//! the rules narrows the class to the packets that get the same answer (module `classes`). A packet
//! that was set aside becomes a class of its own later, so that in the end each packet is in one class,
//! and each class was walked on both sides.
//!
//! ```text
//! entry (who sends, by which link, protocol) --> regions --sample--> both walks --> class
//! class --compare--> equal, or a Difference with a witness, or Undecided
//! ```
//!
//! What a proof rests on is said in [`Proof::assumptions`].

mod class;
mod compare;
mod entry;

use std::rc::Rc;

use kps_flow::{Distribution, Flow, Outcome};
use rayon::prelude::*;

use crate::classes::line::Line;
use crate::classes::region::{Asked, Field, Region, Sample};
use crate::classes::watch::{Desk, Watch};
use crate::walk::{Walk, Walker};
use compare::Verdict;
use entry::Entry;

pub use class::{Class, Spans};

/// What a comparison of two states found.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    /// The classes that are treated differently.
    pub differences: Vec<Difference>,
    /// The classes that the model cannot decide.
    pub undecided: Vec<Undecided>,
    /// What the proof rests on.
    pub assumptions: Vec<String>,
    /// The number of classes.
    pub classes: u64,
}

impl Proof {
    /// Tells whether the states are equal for every packet.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.undecided.is_empty()
    }
}

/// A class of packets that are treated differently.
#[derive(Debug, Clone)]
pub struct Difference {
    /// One of them.
    pub flow: Flow,
    /// All of them.
    pub class: Class,
    /// What the left state does to it.
    pub left: Distribution<Outcome>,
    /// What the right state does.
    pub right: Distribution<Outcome>,
}

/// A class of packets of which the model cannot tell.
#[derive(Debug, Clone)]
pub struct Undecided {
    /// One of them.
    pub flow: Flow,
    /// All of them.
    pub class: Class,
    /// Why not.
    pub why: String,
}

/// Compares two states of a node for all first packets of connections.
#[must_use]
pub fn prove(left: &Walker, right: &Walker) -> Proof {
    let entries = entry::all(left, right);
    let proofs: Vec<Proof> = entries.into_par_iter().map(|e| of_entry([left, right], &e)).collect();
    let mut whole = Proof { assumptions: assumptions(left, right), ..Proof::default() };
    for mut proof in proofs {
        whole.differences.append(&mut proof.differences);
        whole.undecided.append(&mut proof.undecided);
        whole.classes += proof.classes;
    }
    whole
}

fn of_entry(sides: [&Walker; 2], entry: &Entry) -> Proof {
    let mut proof = Proof::default();
    Prover { sides, desk: Rc::default() }.entry(entry, &mut proof);
    proof
}

/// Two states to be compared.
struct Prover<'a> {
    sides: [&'a Walker<'a>; 2],
    desk: Rc<Desk>,
}

/// What both walks of a packet told.
struct Seen {
    walks: [Walk; 2],
    /// The packets that both treat as they treat this one.
    class: Region,
    aside: Vec<Region>,
    lost: Option<String>,
    /// Whether another packet of the class must show the same.
    doubted: bool,
}

impl Prover<'_> {
    fn entry(&self, entry: &Entry, proof: &mut Proof) {
        let mut waiting = vec![entry.region.clone()];
        while let Some(region) = waiting.pop() {
            let sample = entry.sample(&region);
            let mut seen = self.walk(entry, sample, region);
            waiting.append(&mut seen.aside);
            let verdict = Verdict::of(&seen.walks, seen.lost.take());
            match self.objection(entry, &sample, &seen, &verdict) {
                Some(parts) => waiting.extend(parts),
                None => self.record(entry, &sample, &seen, verdict, proof),
            }
        }
    }

    fn walk(&self, entry: &Entry, sample: Sample, region: Region) -> Seen {
        let links = entry.links.clone();
        let watch = Rc::new(Watch::new(sample, region, links, Rc::clone(&self.desk)));
        let packet = entry.packet(&sample);
        let walks = [0, 1].map(|side| {
            watch.turn_to(side);
            self.sides[usize::from(side)].walk_class(packet, Rc::clone(&watch))
        });
        let doubted = watch.needs_second() || names_open_value(&walks, &watch);
        let (class, aside, lost) = watch.finish();
        Seen { walks, class, aside, lost, doubted }
    }

    /// Walks another packet of a class if a constant may have passed for a field of the first one.
    /// Returns the parts to look at instead, if it is treated otherwise.
    fn objection(
        &self,
        entry: &Entry,
        sample: &Sample,
        seen: &Seen,
        verdict: &Verdict,
    ) -> Option<Vec<Region>> {
        if !seen.doubted || seen.class.is_single() {
            return None;
        }
        let other = seen.class.other(sample);
        let mut second = self.walk(entry, other, seen.class.clone());
        if second.class != seen.class {
            second.aside.push(second.class);
            return Some(second.aside);
        }
        let same = Verdict::of(&second.walks, second.lost).is_like(verdict);
        (!same).then(|| without(&seen.class, sample))
    }

    fn record(
        &self,
        entry: &Entry,
        sample: &Sample,
        seen: &Seen,
        verdict: Verdict,
        proof: &mut Proof,
    ) {
        proof.classes += 1;
        let told = || (entry.flow(sample, self.sides[0]), entry.class(&seen.class, self.sides[0]));
        match verdict {
            Verdict::Equal => {}
            Verdict::Different { left, right } => {
                let (flow, class) = told();
                proof.differences.push(Difference { flow, class, left, right });
            }
            Verdict::Unknown(why) => {
                let (flow, class) = told();
                proof.undecided.push(Undecided { flow, class, why });
            }
        }
    }
}

/// Tells whether an outcome names an endpoint that may be a field of the packet.
fn names_open_value(walks: &[Walk; 2], watch: &Watch) -> bool {
    let outcomes = walks.iter().flat_map(|walk| &walk.paths).map(|path| &path.outcome);
    outcomes.into_iter().any(|outcome| match outcome {
        Outcome::Deliver(to) => {
            watch.is_open(Asked::Address(to.endpoint.ip()))
                || watch.is_open(Asked::Port(to.endpoint.port()))
        }
        _ => false,
    })
}

/// Returns a region in two parts: the value that a sample has in the first field with several, and
/// all others.
fn without(region: &Region, sample: &Sample) -> Vec<Region> {
    let Some(field) = Field::ALL.into_iter().find(|field| !region.set(*field).is_single()) else {
        return Vec::new();
    };
    let value = sample.get(field);
    let parts = region.set(field).split(&Line::inside((value, value)));
    parts.into_iter().map(|(_, set)| region.with(field, set)).collect()
}

fn assumptions(left: &Walker, right: &Walker) -> Vec<String> {
    let mut all: Vec<String> = GENERAL.map(str::to_owned).into();
    for assumed in [left, right].into_iter().flat_map(Walker::assumed) {
        if !all.contains(&assumed) {
            all.push(assumed);
        }
    }
    all
}

/// What every proof rests on.
const GENERAL: [&str; 6] = [
    "packets open connections of TCP, UDP, SCTP or ICMP echo; what follows on a connection is not compared",
    "no client has an affinity yet, and no connection is open",
    "processes of the node let the kernel choose their source address",
    "what is behind a link of its own sends with its own address",
    "an IPVS scheduler is as likely in one state as in another",
    "shares that differ by less than one in a million are equal: draws round differently",
];
