//! Sends probes and answers to them, and gathers what becomes of both.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use kps_flow::{Delivery, Family, Flow, Outcome, Protocol, RejectKind, SourceNat};

use crate::KernelError;
use crate::exchange::{Answer, Exchange};
use crate::namespace::Device;
use crate::node::{Ears, Process};
use crate::packet::{self, Ends, Probe, Seen, Sighting};

/// Queues of devices hold 500 packets; they are emptied long before.
const BATCH: usize = 64;
/// Packets move while we write them; this is for what the kernel puts off.
const LINGER: Duration = Duration::from_millis(30);
/// The first source port, and how many there are: no two probes of a client share one, so none is
/// translated only because another has its place.
const PORTS: (u16, usize) = (10_000, 50_000);

/// The far ends of a node: where packets are sent from, and where they come out.
pub struct Ground<'a> {
    devices: &'a [Device],
    ears: Ears,
    seen: BTreeMap<u32, Sightings>,
}

/// What was seen of a probe.
#[derive(Default)]
struct Sightings {
    /// Its ends, and the device by which it left; no device if the node itself got it.
    probe: Option<(Ends, Option<usize>)>,
    answer: Option<Ends>,
    refused: Option<RejectKind>,
}

impl<'a> Ground<'a> {
    /// Listens on the node and behind its devices.
    pub fn new(devices: &'a [Device]) -> Result<Ground<'a>, KernelError> {
        Ok(Ground { devices, ears: Ears::open()?, seen: BTreeMap::new() })
    }

    /// Sends the first packet of each flow, and answers if told to.
    pub fn exchange(
        &mut self,
        flows: &[Flow],
        answered: bool,
    ) -> Result<Vec<Exchange>, KernelError> {
        if flows.len() > PORTS.1 {
            return Err(KernelError::TooManyFlows(flows.len()));
        }
        self.seen.clear();
        let probes =
            self.in_batches((0..).zip(flows), |ground, (number, flow)| ground.send(number, flow));
        if answered {
            self.in_batches(probes.iter().flatten(), Ground::answer);
        }
        let exchange = |probe: &Option<Probe>| {
            let seen = probe.and_then(|probe| self.seen.get(&probe.number));
            let answer = probe.and_then(|probe| came_back(&probe, seen?));
            Exchange {
                outcome: probe.map(|probe| outcome(&probe, seen)),
                answer: answer.filter(|_| answered),
            }
        };
        Ok(probes.iter().map(exchange).collect())
    }

    /// Does something for each, and gathers what comes of it before any queue is full.
    fn in_batches<T, U>(
        &mut self,
        all: impl Iterator<Item = T>,
        act: impl Fn(&Self, T) -> U,
    ) -> Vec<U> {
        let mut done = Vec::new();
        for each in all {
            done.push(act(self, each));
            if done.len() % BATCH == 0 {
                self.gather();
            }
        }
        self.gather();
        thread::sleep(LINGER);
        self.gather();
        done
    }

    /// Sends a probe; `None` if no such packet can be sent here.
    fn send(&self, number: u32, flow: &Flow) -> Option<Probe> {
        let port = PORTS.0.checked_add(u16::try_from(number).ok()?)?;
        let destination = SocketAddr::new(flow.destination, flow.port);
        let probe = |source| Probe {
            number,
            protocol: flow.protocol,
            ends: Ends { source: SocketAddr::new(source, port), destination },
        };
        if let Some(interface) = &flow.interface {
            let device = self.devices.iter().find(|device| device.name == *interface)?;
            let probe = probe(flow.source?);
            device.wire.send(&probe.packet()?).ok()?;
            return Some(probe);
        }
        let (process, source) = Process::dial(flow.protocol, flow.source, flow.destination)?;
        let probe = probe(source);
        process.send(&probe.packet()?, flow.family());
        Some(probe)
    }

    /// Answers a probe that was seen, from where it was seen. What the node itself gets by TCP and
    /// ICMP the kernel has answered: nothing listens, so that it resets or echoes.
    fn answer(&self, probe: &Probe) -> Option<()> {
        let (ends, device) = self.seen.get(&probe.number)?.probe?;
        let bytes = probe.answer(ends)?;
        if let Some(device) = device {
            self.devices.get(device)?.wire.send(&bytes).ok()?;
        } else if matches!(probe.protocol, Protocol::Udp | Protocol::Sctp) {
            let (from, to) = (ends.destination.ip(), ends.source.ip());
            let (process, _) = Process::dial(probe.protocol, Some(from), to)?;
            process.send(&bytes, Family::of(to));
        }
        Some(())
    }

    fn gather(&mut self) {
        let mut buffer = [0; 2048];
        for (number, device) in self.devices.iter().enumerate() {
            while let Ok(length) = device.wire.recv(&mut buffer) {
                if let Some(seen) = packet::read(buffer.get(..length).unwrap_or_default()) {
                    note(&mut self.seen, seen, Some(number));
                }
            }
        }
        let mut heard = Vec::new();
        self.ears.hear(&mut heard);
        for seen in heard {
            note(&mut self.seen, seen, None);
        }
    }
}

/// Notes what was seen behind a device, or by the node itself.
fn note(all: &mut BTreeMap<u32, Sightings>, Seen { number, what }: Seen, device: Option<usize>) {
    let sightings = all.entry(number).or_default();
    match what {
        Sighting::Refused(kind) => sightings.refused = Some(kind),
        Sighting::Answer(ends) => sightings.answer = Some(ends),
        Sighting::Probe(ends) => {
            // One that the node hears on its way out over loopback leaves all the same.
            if device.is_some() || sightings.probe.is_none() {
                sightings.probe = Some((ends, device));
            }
        }
    }
}

/// A probe that arrived somewhere is not refused by a rule: a closed port of the node answers, too.
fn outcome(probe: &Probe, seen: Option<&Sightings>) -> Outcome {
    let Some(seen) = seen else { return Outcome::Drop };
    let Some((ends, device)) = seen.probe else {
        return seen.refused.map_or(Outcome::Drop, Outcome::Reject);
    };
    let kept = ends.source == probe.ends.source;
    let source = if kept { SourceNat::Kept } else { SourceNat::Rewritten(Some(ends.source.ip())) };
    if ends.destination != probe.ends.destination {
        return Outcome::Deliver(Delivery { endpoint: ends.destination, source });
    }
    if device.is_none() { Outcome::Local } else { Outcome::Pass(source) }
}

/// Tells where the answer to a probe came out, if anyone got the probe.
fn came_back(probe: &Probe, seen: &Sightings) -> Option<Answer> {
    seen.probe?;
    let Some(Ends { source: from, destination: to }) = seen.answer else {
        return Some(Answer::Lost);
    };
    let returned = to == probe.ends.source;
    Some(if returned { Answer::Returned { from } } else { Answer::Astray { from, to } })
}
