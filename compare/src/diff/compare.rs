//! From two sides of a node to a report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ipnet::IpNet;
use kps_flow::Family;
use kps_model::{Cluster, NodeView};
use kps_sim::Walker;
use rayon::prelude::*;

use super::beyond;
use super::cause::Cause;
use super::effect::risk;
use super::place::{Index, Kind, Place, Row, addresses};
use super::proof::{Difference, Proof};
use super::remedy;
use super::report::{Cell, Cells, Group, Report, Unexplained};
use super::sampled;
use super::setup::Installed;
use super::trail::{Causes, Trail};
use crate::difference::Risk;
use crate::lint::{Scene, Subject, pod_ranges};

/// Which packets are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packets {
    /// One of each client class for each kind of address of each ServicePort, and beside them.
    Sampled,
    /// All, class by class.
    All,
}

/// A node, and the two sides of its move.
#[derive(Debug, Clone, Copy)]
pub struct Move<'a> {
    /// The objects.
    pub cluster: &'a Cluster,
    /// The node's name.
    pub node: &'a str,
    /// What is moved from.
    pub left: &'a Installed,
    /// What is moved to.
    pub right: &'a Installed,
    /// Which packets are compared.
    pub packets: Packets,
}

impl<'a> Move<'a> {
    /// Returns what the move changes, and which settings would keep it from doing so.
    #[must_use]
    pub fn report(&self) -> Report {
        let trail = Trail::new(self.cluster, self.node, self.left, self.right);
        let causes = Causes::new(self.left, &trail, self.right);
        let Gathered { mut report, groups, .. } = Gathered::new(self).with(self.proof(), &causes);
        for (cause, Gathering { mut group, differences }) in groups {
            group.remedies = remedy::of(self, cause, &differences, report.differing);
            report.groups.push(group);
        }
        beyond::add(self, &mut report);
        report.sort();
        report
    }

    /// Compares the packets of both sides.
    pub(super) fn proof(&self) -> Proof {
        match self.packets {
            Packets::Sampled => sampled::prove(&self.scene(self.left), &self.scene(self.right)),
            Packets::All => self.all_packets(),
        }
    }

    fn all_packets(&self) -> Proof {
        let sides = [self.left, self.right].map(|side| Walker::new(&side.state));
        let ranges: Vec<IpNet> = self.cluster.nodes.iter().flat_map(pod_ranges).collect();
        Proof::of(kps_sim::prove::prove(&sides[0], &sides[1]), &ranges)
    }

    fn scene(&self, side: &'a Installed) -> Scene<'a> {
        Scene::new(Subject {
            cluster: self.cluster,
            config: &side.setup.config,
            node: self.node,
            views: &side.views,
            state: &side.state,
            failures: &side.failures,
        })
    }
}

/// A report in the making.
struct Gathered<'m, 'a> {
    moved: &'m Move<'a>,
    report: Report,
    groups: BTreeMap<Cause, Gathering>,
}

/// A group in the making, with the packets that belong to it.
struct Gathering {
    group: Group,
    differences: Vec<Arc<Difference>>,
}

impl<'m, 'a> Gathered<'m, 'a> {
    fn new(moved: &'m Move<'a>) -> Gathered<'m, 'a> {
        let mut report = Report { nodes: vec![moved.node.to_owned()], ..Report::default() };
        for side in [moved.left, moved.right] {
            report.failures.extend(side.failures.iter().cloned());
            for view in &side.views {
                add_rows(view, &mut report.rows);
            }
        }
        report.failures.dedup();
        Gathered { moved, report, groups: BTreeMap::new() }
    }

    fn with(mut self, proof: Proof, causes: &Causes<'_>) -> Self {
        self.report.classes = proof.classes;
        self.report.differing = proof.differences.len() as u64;
        self.report.undecided = proof.undecided;
        self.report.assumptions = proof.assumptions;
        let why: Vec<BTreeSet<Cause>> =
            proof.differences.par_iter().map(|difference| causes.of(difference)).collect();
        for (difference, why) in proof.differences.into_iter().zip(why) {
            let index = causes.index(difference.flow.family());
            if let Some(place) = index.map(|index| index.place(&difference.flow)) {
                self.add(&Arc::new(difference), place, why);
            }
        }
        self
    }

    fn add(&mut self, difference: &Arc<Difference>, place: Place, causes: BTreeSet<Cause>) {
        if causes.is_empty() {
            let (place, difference) = (place.clone(), Arc::clone(difference));
            let nodes = vec![self.moved.node.to_owned()];
            self.report.unexplained.push(Unexplained { place, difference, nodes });
        }
        for cause in &causes {
            self.add_to_group(difference, &place, *cause);
        }
        self.add_cell(difference, place, causes);
    }

    fn add_to_group(&mut self, difference: &Arc<Difference>, place: &Place, cause: Cause) {
        let risk = risk(difference, cause);
        let node = self.moved.node;
        let new = || Gathering { group: Group::new(cause, risk, node), differences: Vec::new() };
        let Gathering { group, differences } = self.groups.entry(cause).or_insert_with(new);
        differences.push(Arc::clone(difference));
        if risk < group.risk || group.witness.is_none() {
            group.witness = Some(Arc::clone(difference));
        }
        group.risk = group.risk.min(risk);
        group.classes += 1;
        group.ports.extend(place.row.clone());
    }

    fn add_cell(&mut self, difference: &Arc<Difference>, place: Place, causes: BTreeSet<Cause>) {
        let risk = causes.iter().map(|cause| risk(difference, *cause)).min();
        let risk = risk.unwrap_or(Risk::Breaks);
        let cells = self.report.rows.entry(place.row).or_default();
        let key = (place.kind, place.client);
        if cells.differing.get(&key).is_none_or(|known| risk < known.risk) {
            let difference = Arc::clone(difference);
            cells.differing.insert(key, Cell { causes, risk, difference });
        }
        cells.kinds.insert(place.kind);
    }
}

/// Adds a row for each ServicePort, with what can be dialled.
fn add_rows(view: &NodeView, rows: &mut BTreeMap<Option<Row>, Cells>) {
    let index = Index::new(view);
    for port in &view.ports {
        let row = Row { key: port.port.key.clone(), family: view.family };
        let cells = rows.entry(Some(row)).or_default();
        for (kind, address) in addresses(&port.port) {
            cells.kinds.insert(kind);
            if index.is_first(address, &port.port.key) {
                cells.kinds.extend([Kind::OtherPort, Kind::Ping]);
            }
        }
        if port.port.node_port.is_some() {
            cells.kinds.extend([Kind::NodePort, Kind::Loopback]);
        }
    }
    if !view.service_cidrs.is_empty() {
        rows.entry(None).or_default().kinds.insert(Kind::Unassigned);
    }
}

/// Returns the views of a family on both sides.
pub(super) fn views<'a>(moved: &Move<'a>) -> impl Iterator<Item = (&'a NodeView, &'a NodeView)> {
    let (left, right) = (moved.left, moved.right);
    Family::BOTH
        .into_iter()
        .filter_map(move |family| Some((left.view(family)?, right.view(family)?)))
}
