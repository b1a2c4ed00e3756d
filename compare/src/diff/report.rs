//! What a move changes, grouped as a person thinks: by cause, with the Services that it touches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kps_flow::{ClientClass, Distribution, Flow, Outcome};
use num_rational::BigRational;

use super::cause::Cause;
use super::place::{Kind, Place, Row};
use super::proof::{Difference, Undecided};
use super::remedy::Remedy;
use crate::difference::Risk;

/// What a move changes on some nodes.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The nodes, in the order in which they were looked at.
    pub nodes: Vec<String>,
    /// What changes, by cause, the worst first.
    pub groups: Vec<Group>,
    /// Packets that fare differently, and nothing that is documented says why.
    pub unexplained: Vec<Unexplained>,
    /// Packets whose outcome is not known on one side.
    pub undecided: Vec<Undecided>,
    /// What the answer rests on.
    pub assumptions: Vec<String>,
    /// How many classes of packets were compared.
    pub classes: u64,
    /// How many of them differ.
    pub differing: u64,
    /// The ServicePorts, each with what can be dialled and what differs there. Packets past all
    /// Services are in the row of none.
    pub rows: BTreeMap<Option<Row>, Cells>,
    /// Syncs that fail on a side.
    pub failures: Vec<String>,
}

/// What can be dialled of a ServicePort, and what differs there.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    /// The kinds of address that it has.
    pub kinds: BTreeSet<Kind>,
    /// What differs, by kind of address and client.
    pub differing: BTreeMap<(Kind, ClientClass), Cell>,
}

/// A class of packets that fare differently.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Why.
    pub causes: BTreeSet<Cause>,
    /// The worst that it may do.
    pub risk: Risk,
    /// A packet of it, with what both sides do.
    pub difference: Arc<Difference>,
}

/// What changes for one cause.
#[derive(Debug, Clone)]
pub struct Group {
    /// The cause.
    pub cause: Cause,
    /// The worst that it does here.
    pub risk: Risk,
    /// The ServicePorts that it touches, ordered.
    pub ports: BTreeSet<Row>,
    /// How many classes of packets differ by it; 0 if no single packet shows it.
    pub classes: u64,
    /// A packet that shows it, with what both sides do.
    pub witness: Option<Arc<Difference>>,
    /// What is seen of it elsewhere than in packets.
    pub facts: Vec<String>,
    /// Settings that would remove it, tried on the first node that has it.
    pub remedies: Vec<Remedy>,
    /// The nodes on which it is so.
    pub nodes: Vec<String>,
}

/// A packet with what becomes of it on both sides, multiplied out.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The packet.
    pub flow: Flow,
    /// Each outcome of the left side with its exact share.
    pub left: Vec<(Outcome, BigRational)>,
    /// Each outcome of the right side with its exact share.
    pub right: Vec<(Outcome, BigRational)>,
}

/// A packet that fares differently for no documented reason.
#[derive(Debug, Clone)]
pub struct Unexplained {
    /// Where it aims.
    pub place: Place,
    /// The packet, with what both sides do.
    pub difference: Arc<Difference>,
    /// The nodes on which it is so.
    pub nodes: Vec<String>,
}

impl Shown {
    /// Shows a difference.
    #[must_use]
    pub fn of(difference: &Difference) -> Shown {
        let shares = |distribution: &Distribution<Outcome>| {
            let merged = distribution.merged().into_iter();
            merged.map(|(outcome, share)| (outcome.clone(), share)).collect()
        };
        Shown {
            flow: difference.flow.clone(),
            left: shares(&difference.left),
            right: shares(&difference.right),
        }
    }
}

impl Group {
    /// A group without anything in it yet.
    #[must_use]
    pub fn new(cause: Cause, risk: Risk, node: &str) -> Group {
        Group {
            cause,
            risk,
            ports: BTreeSet::new(),
            classes: 0,
            witness: None,
            facts: Vec::new(),
            remedies: Vec::new(),
            nodes: vec![node.to_owned()],
        }
    }

    /// Tells whether single packets show it.
    #[must_use]
    pub fn is_in_packets(&self) -> bool {
        self.classes > 0
    }

    fn order(&self) -> (bool, Risk, Cause) {
        (!self.is_in_packets(), self.risk, self.cause)
    }

    fn add(&mut self, other: Group) {
        // A witness on the node where the cause does worst says most.
        if other.risk < self.risk || self.witness.is_none() {
            self.witness = other.witness.or(self.witness.take());
        }
        self.risk = self.risk.min(other.risk);
        self.ports.extend(other.ports);
        self.classes += other.classes;
        self.nodes.extend(other.nodes);
        for fact in other.facts {
            if !self.facts.contains(&fact) {
                self.facts.push(fact);
            }
        }
        if self.remedies.is_empty() {
            self.remedies = other.remedies;
        }
    }
}

impl Report {
    /// Tells whether single packets fare differently, or may.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        self.differing > 0 || !self.undecided.is_empty() || !self.failures.is_empty()
    }

    /// Returns the group of a cause.
    #[must_use]
    pub fn group(&self, cause: Cause) -> Option<&Group> {
        self.groups.iter().find(|group| group.cause == cause)
    }

    /// Returns how many ServicePorts have packets that fare differently.
    #[must_use]
    pub fn touched(&self) -> usize {
        let rows = self.rows.iter().filter(|(row, _)| row.is_some());
        rows.filter(|(_, cells)| !cells.differing.is_empty()).count()
    }

    /// Adds the report of another node.
    pub fn add(&mut self, other: Report) {
        self.nodes.extend(other.nodes);
        self.classes += other.classes;
        self.differing += other.differing;
        let mut groups: BTreeMap<Cause, Group> = std::mem::take(&mut self.groups)
            .into_iter()
            .map(|group| (group.cause, group))
            .collect();
        for group in other.groups {
            match groups.get_mut(&group.cause) {
                Some(known) => known.add(group),
                None => drop(groups.insert(group.cause, group)),
            }
        }
        self.groups = groups.into_values().collect();
        self.add_unexplained(other.unexplained);
        self.add_new(other.undecided, other.assumptions, other.failures);
        for (row, cells) in other.rows {
            let known = self.rows.entry(row).or_default();
            known.kinds.extend(cells.kinds);
            for (place, cell) in cells.differing {
                known.differing.entry(place).or_insert(cell);
            }
        }
        self.sort();
    }

    /// Puts groups in the order in which they are told: those that packets show first, the worst of
    /// them first.
    pub(super) fn sort(&mut self) {
        self.groups.sort_by_key(Group::order);
    }

    fn add_unexplained(&mut self, more: Vec<Unexplained>) {
        for new in more {
            match self.unexplained.iter_mut().find(|known| known.place == new.place) {
                Some(known) => known.nodes.extend(new.nodes),
                None => self.unexplained.push(new),
            }
        }
    }

    fn add_new(
        &mut self,
        undecided: Vec<Undecided>,
        assumptions: Vec<String>,
        failures: Vec<String>,
    ) {
        for new in undecided {
            if !self.undecided.iter().any(|known| known.reasons == new.reasons) {
                self.undecided.push(new);
            }
        }
        for (all, more) in [(&mut self.assumptions, assumptions), (&mut self.failures, failures)] {
            for new in more {
                if !all.contains(&new) {
                    all.push(new);
                }
            }
        }
    }
}
