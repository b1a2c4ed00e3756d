//! Packets in place of a proof: one of each client class for each kind of address of each
//! ServicePort, and for the addresses and ports beside them.

use std::collections::HashSet;
use std::net::IpAddr;

use kps_flow::{ClientClass, Distribution, Family, Flow, Outcome, Protocol};
use kps_model::{Detector, NodeView, PortView};
use rayon::prelude::*;

use super::place::{Index, addresses};
use super::proof::{Difference, Proof, Undecided};
use super::same;
use crate::lint::{Client, Scene};

/// Compares what two sides do with packets of all classes.
#[must_use]
pub fn prove(left: &Scene<'_>, right: &Scene<'_>) -> Proof {
    let mut proof = Proof { assumptions: assumptions(left, right), ..Proof::default() };
    for (view, other) in left.subject.views.iter().zip(right.subject.views) {
        let questions = Questions::new(by_interface(left, right), view, other);
        let answers: Vec<Answers> = questions
            .ports()
            .par_iter()
            .map(|port| ask(left, right, questions.about(port)))
            .collect();
        let beside = ask(left, right, questions.beside_all());
        answers.into_iter().chain([beside]).for_each(|answers| answers.add_to(&mut proof));
    }
    proof
}

fn assumptions(left: &Scene<'_>, right: &Scene<'_>) -> Vec<String> {
    let mut all = vec![
        "packets are samples: one of each client class for each kind of address; each is the first of \
         its connection"
            .to_owned(),
    ];
    for assumed in left.walker.assumed().into_iter().chain(right.walker.assumed()) {
        if !all.contains(&assumed) {
            all.push(assumed);
        }
    }
    all
}

/// Returns the side whose host says by which interfaces pods come: where only objects are given,
/// interfaces are named as the local detector expects.
fn by_interface<'s, 'a>(left: &'s Scene<'a>, right: &'s Scene<'a>) -> &'s Scene<'a> {
    let by_name = |view: &NodeView| {
        matches!(view.detector, Some(Detector::Interface(_) | Detector::InterfacePrefix(_)))
    };
    if right.subject.views.iter().any(by_name) { right } else { left }
}

/// What came of some packets.
#[derive(Default)]
struct Answers {
    differences: Vec<Difference>,
    undecided: Vec<Undecided>,
    asked: u64,
}

impl Answers {
    fn add_to(self, proof: &mut Proof) {
        proof.differences.extend(self.differences);
        proof.undecided.extend(self.undecided);
        proof.classes += self.asked;
    }
}

fn ask(left: &Scene<'_>, right: &Scene<'_>, flows: impl Iterator<Item = Flow>) -> Answers {
    let mut answers = Answers::default();
    for flow in flows {
        let (left, right) = (left.walk(&flow).distribution(), right.walk(&flow).distribution());
        answers.asked += 1;
        let reasons = reasons(&left, &right);
        if !reasons.is_empty() {
            answers.undecided.push(Undecided { flow, reasons });
        } else if !same(&left, &right) {
            answers.differences.push(Difference { flow, left, right });
        }
    }
    answers
}

/// Returns why an outcome is not known.
fn reasons(left: &Distribution<Outcome>, right: &Distribution<Outcome>) -> Vec<String> {
    let mut reasons = Vec::new();
    for (_, outcome) in left.branches().iter().chain(right.branches()) {
        if let Outcome::Unknown(why) = outcome
            && !reasons.contains(why)
        {
            reasons.push(why.clone());
        }
    }
    reasons
}

/// What is asked in one family.
struct Questions<'a> {
    scene: &'a Scene<'a>,
    view: &'a NodeView,
    other: &'a NodeView,
    index: Index<'a>,
    /// The clients of every class, and a process that has bound the node's address.
    clients: Vec<Client>,
    /// Addresses of the node, loopback included.
    node: Vec<IpAddr>,
}

/// Ports that are tried where no Service port is wanted: the first that no Service has there.
const OTHER_PORTS: [u16; 3] = [9, 7, 19];

impl<'a> Questions<'a> {
    fn new(scene: &'a Scene<'a>, view: &'a NodeView, other: &'a NodeView) -> Questions<'a> {
        let bound = Client {
            class: ClientClass::Node,
            family: view.family,
            address: Some(view.node_ip),
            interface: None,
        };
        let clients = scene.clients(view.family).cloned().chain([bound]).collect();
        let node = view.interface_addresses.clone();
        Questions { scene, view, other, index: Index::new(view), clients, node }
    }

    /// Returns the ServicePorts of both sides, each once.
    fn ports(&self) -> Vec<&'a PortView> {
        let known: HashSet<_> = self.view.ports.iter().map(|port| &port.port.key).collect();
        let more = self.other.ports.iter().filter(|port| !known.contains(&port.port.key));
        self.view.ports.iter().chain(more).collect()
    }

    fn about(&self, port: &'a PortView) -> impl Iterator<Item = Flow> {
        let clients = self.clients_of(port);
        let exact: Vec<Flow> = self
            .targets(port)
            .flat_map(|(to, number)| self.dialled(&clients, port.port.key.protocol, to, number))
            .collect();
        exact.into_iter().chain(self.beside(port))
    }

    /// Returns where a ServicePort can be dialled.
    fn targets(&self, port: &'a PortView) -> impl Iterator<Item = (IpAddr, u16)> {
        let own = addresses(&port.port).map(|(_, address)| (address, port.port.port));
        let node_port = port.port.node_port;
        let on_node = self.node.iter().filter_map(move |ip| node_port.map(|number| (*ip, number)));
        own.chain(on_node)
    }

    /// Returns packets to the addresses of a ServicePort that miss all its ports.
    fn beside(&self, port: &'a PortView) -> Vec<Flow> {
        let echo = match self.view.family {
            Family::V4 => Protocol::Icmp,
            Family::V6 => Protocol::Icmpv6,
        };
        let mut flows = Vec::new();
        let own = addresses(&port.port).map(|(_, address)| address);
        for to in own.filter(|to| self.index.is_first(*to, &port.port.key)) {
            let protocol = port.port.key.protocol;
            let free = |number: &&u16| !self.index.has_port(to, protocol, **number);
            let own = port.port.node_port.iter().chain(&port.port.health_check_node_port);
            let others = OTHER_PORTS.iter().find(free).into_iter().chain(own);
            for number in others {
                flows.extend(self.dialled(&self.clients, protocol, to, *number));
            }
            flows.extend(self.dialled(&self.clients, echo, to, 0));
        }
        flows
    }

    /// Returns packets past all Services: to unassigned cluster IPs.
    fn beside_all(&self) -> impl Iterator<Item = Flow> {
        let ranges = self.view.service_cidrs.iter().chain(&self.other.service_cidrs);
        let free = ranges.filter_map(|range| range.hosts().find(|ip| !self.index.has(*ip)));
        free.flat_map(|to| self.dialled(&self.clients, Protocol::Tcp, to, 80))
    }

    fn dialled(&self, clients: &[Client], protocol: Protocol, to: IpAddr, port: u16) -> Vec<Flow> {
        let can = |client: &&Client| client.class == ClientClass::Node || !to.is_loopback();
        let who = clients.iter().filter(can);
        who.map(|client| self.scene.flow(client, protocol, to, port)).collect()
    }

    /// Returns the clients that a ServicePort tells apart: those of every class, an endpoint of its
    /// own here and elsewhere, and one from each of its source ranges.
    fn clients_of(&self, port: &PortView) -> Vec<Client> {
        let mut clients = self.clients.clone();
        for (class, is_local) in [(ClientClass::Pod, true), (ClientClass::RemotePod, false)] {
            let pods = port.endpoints.iter().filter(|e| e.is_local == is_local);
            let pod = pods.map(|e| e.address.ip()).find(|ip| !self.node.contains(ip));
            clients.extend(pod.map(|ip| self.scene.client_at(class, ip)));
        }
        for range in &port.port.source_ranges {
            let first = range.hosts().find(|ip| !ip.is_unspecified() && !self.node.contains(ip));
            clients.extend(first.map(|ip| self.scene.client_at(ClientClass::Outside, ip)));
        }
        clients
    }
}
