//! Sends probes and gathers what becomes of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use kps_flow::{Delivery, Flow, Observation, Outcome, SourceNat};

use crate::KernelError;
use crate::namespace::Device;
use crate::node::{Ears, Process};
use crate::packet::{self, Probe, Seen, Sighting};

/// Queues of devices hold 500 packets; they are emptied long before.
const BATCH: usize = 64;
/// Packets move while we write them; this is for what the kernel puts off.
const LINGER: Duration = Duration::from_millis(30);
/// The first source port, and how many there are: no two probes of a client share one, so none is
/// translated only because another has its place.
const PORTS: (u16, usize) = (10_000, 50_000);

/// What was seen of a probe, and whether inside the node.
#[derive(Default)]
struct Sightings {
    left: Option<(SocketAddr, SocketAddr)>,
    received: Option<(SocketAddr, SocketAddr)>,
    refused: Option<kps_flow::RejectKind>,
}

/// Sends the first packet of each flow.
pub fn send(devices: &[Device], flows: &[Flow]) -> Result<Vec<Observation>, KernelError> {
    if flows.len() > PORTS.1 {
        return Err(KernelError::TooManyFlows(flows.len()));
    }
    let ears = Ears::open()?;
    let mut seen: BTreeMap<u32, Sightings> = BTreeMap::new();
    let mut probes = Vec::with_capacity(flows.len());
    for (number, flow) in (0..).zip(flows) {
        probes.push(send_one(devices, number, flow));
        if probes.len() % BATCH == 0 {
            gather(devices, &ears, &mut seen);
        }
    }
    gather(devices, &ears, &mut seen);
    thread::sleep(LINGER);
    gather(devices, &ears, &mut seen);
    let outcome = |(number, probe): (u32, &Option<Probe>)| {
        let outcome = probe.as_ref().map(|probe| outcome(probe, seen.get(&number)));
        Observation { counts: outcome.into_iter().map(|outcome| (outcome, 1)).collect() }
    };
    Ok((0..).zip(&probes).map(outcome).collect())
}

/// Sends one; `None` if no such packet can be sent here.
fn send_one(devices: &[Device], number: u32, flow: &Flow) -> Option<Probe> {
    let port = PORTS.0.checked_add(u16::try_from(number).ok()?)?;
    let destination = SocketAddr::new(flow.destination, flow.port);
    let probe = |source| Probe {
        number,
        protocol: flow.protocol,
        source: SocketAddr::new(source, port),
        destination,
    };
    if let Some(interface) = &flow.interface {
        let device = devices.iter().find(|device| device.name == *interface)?;
        let probe = probe(flow.source?);
        device.wire.send(&probe.packet()?).ok()?;
        return Some(probe);
    }
    let (process, source) = Process::dial(flow.protocol, flow.source, flow.destination)?;
    let probe = probe(source);
    process.send(&probe.packet()?, flow.family());
    Some(probe)
}

fn gather(devices: &[Device], ears: &Ears, all: &mut BTreeMap<u32, Sightings>) {
    let mut buffer = [0; 2048];
    for device in devices {
        while let Ok(length) = device.wire.recv(&mut buffer) {
            if let Some(seen) = packet::read(buffer.get(..length).unwrap_or_default()) {
                note(all, seen, false);
            }
        }
    }
    let mut heard = Vec::new();
    ears.hear(&mut heard);
    for seen in heard {
        note(all, seen, true);
    }
}

fn note(all: &mut BTreeMap<u32, Sightings>, Seen { number, what }: Seen, inside: bool) {
    let sightings = all.entry(number).or_default();
    match what {
        Sighting::Refused(kind) => sightings.refused = Some(kind),
        Sighting::Probe { source, destination } if inside => {
            sightings.received = Some((source, destination));
        }
        Sighting::Probe { source, destination } => sightings.left = Some((source, destination)),
    }
}

/// A probe that arrived somewhere is not refused by a rule: a closed port of the node answers, too.
fn outcome(probe: &Probe, seen: Option<&Sightings>) -> Outcome {
    let Some(seen) = seen else { return Outcome::Drop };
    let (Some((source, destination)), inside) = (seen.left.or(seen.received), seen.left.is_none())
    else {
        return seen.refused.map_or(Outcome::Drop, Outcome::Reject);
    };
    let kept = source == probe.source;
    let source = if kept { SourceNat::Kept } else { SourceNat::Rewritten(Some(source.ip())) };
    if destination != probe.destination {
        return Outcome::Deliver(Delivery { endpoint: destination, source });
    }
    if inside { Outcome::Local } else { Outcome::Pass(source) }
}
