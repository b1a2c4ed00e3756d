//! A proof speaks for every packet: random ones, aimed at the constants of the rules, never tell otherwise.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

#[allow(dead_code, reason = "flows are aimed here at more than Services have")]
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;

use kps_flow::{Answer, ClientClass, Dataplane, Distribution, Family, Flow, Outcome, Protocol};
use kps_model::{Cluster, Config, KubeVersion, Mode, view};
use kps_render::node_state;
use kps_ruleset::NodeState;
use kps_ruleset::host::RouteKind;
use kps_sim::Walker;
use kps_sim::prove::{Proof, prove};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

/// How many worlds are looked at, unless `KPS_WORLDS` says.
const WORLDS: u32 = 150;
/// How many packets are sent in each.
const PACKETS: usize = 150;

/// What decides a packet, before it is known what there is to aim at.
type Aim = (Index, Index, Index, Index, Index, u32, u16);

fn aims() -> impl Strategy<Value = Vec<Aim>> {
    let aim = (
        any::<Index>(),
        any::<Index>(),
        any::<Index>(),
        any::<Index>(),
        any::<Index>(),
        any::<u32>(),
        any::<u16>(),
    );
    proptest::collection::vec(aim, PACKETS)
}

/// One side of a comparison: a mode and a release.
fn sides() -> impl Strategy<Value = (Mode, KubeVersion)> {
    let modes = proptest::sample::select(vec![Mode::Iptables, Mode::Nftables, Mode::Ipvs]);
    (modes, proptest::sample::select(KubeVersion::ALL.to_vec()))
}

fn state(
    cluster: &Cluster,
    config: &Config,
    (mode, version): (Mode, KubeVersion),
    family: Family,
) -> NodeState {
    let config = Config { mode, ..config.clone() };
    let view = view(cluster, &config, "a", version, family);
    node_state(&[view], mode).0
}

/// What there is to aim at.
struct Targets {
    family: Family,
    addresses: Vec<IpAddr>,
    ports: Vec<u16>,
    /// Sources with the interface by which they come in; none for a process.
    clients: Vec<(Option<IpAddr>, Option<String>)>,
}

impl Targets {
    fn of(cluster: &Cluster, family: Family, states: [&NodeState; 2]) -> Targets {
        let mut addresses = Vec::new();
        let mut ports = vec![0, 22, 8080, u16::MAX];
        for service in &cluster.services {
            let spec = &service.spec;
            let vips = service.status.load_balancer.ingress.iter().map(|ingress| &ingress.ip);
            let texts = spec.cluster_ips.iter().chain(&spec.external_ips).chain(vips);
            addresses.extend(texts.filter_map(|text| text.parse::<IpAddr>().ok()));
            for port in &spec.ports {
                let numbers = [Some(port.port), port.node_port].into_iter().flatten();
                ports.extend(numbers.filter_map(|number| u16::try_from(number).ok()));
            }
        }
        let endpoints = cluster.slices.iter().flat_map(|slice| &slice.endpoints);
        addresses.extend(
            endpoints.flat_map(|e| &e.addresses).filter_map(|text| text.parse::<IpAddr>().ok()),
        );
        addresses.extend(states.iter().flat_map(|s| &s.host.addresses).map(|a| a.network.addr()));
        addresses.retain(|address: &IpAddr| Family::of(*address) == family);
        let near: Vec<u16> =
            ports.iter().flat_map(|p| [p.wrapping_sub(1), p.wrapping_add(1)]).collect();
        ports.extend(near);
        let mut clients = vec![(None, None); 3];
        for route in &states[0].host.routes {
            let network = route.destination;
            let single = network.prefix_len() == network.max_prefix_len();
            if single && route.kind == RouteKind::Unicast && Family::of(network.addr()) == family {
                clients.push((Some(network.addr()), route.link.map(|link| link.to_string())));
            }
        }
        let uplink = Some("eth0".to_owned());
        clients.extend(addresses.iter().map(|address| (Some(*address), uplink.clone())));
        Targets { family, addresses, ports, clients }
    }

    /// Returns the packet of an aim: three in four parts are constants, one is anything.
    fn flow(&self, (client, to, port, kind, wild, number, other): &Aim) -> Flow {
        let wild = wild.index(16);
        let any = |number: u32| match self.family {
            Family::V4 => IpAddr::V4(number.into()),
            Family::V6 => IpAddr::V6((0x2001_0db8_u128 << 96 | u128::from(number)).into()),
        };
        let (mut source, interface) = client.get(&self.clients).clone();
        if wild % 4 == 0 && interface.as_deref() == Some("eth0") {
            source = Some(any(*number));
        }
        let destination = if wild == 1 { any(*number) } else { *to.get(&self.addresses) };
        let icmp = if self.family == Family::V4 { Protocol::Icmp } else { Protocol::Icmpv6 };
        let protocols = [Protocol::Tcp, Protocol::Tcp, Protocol::Udp, Protocol::Sctp, icmp];
        let protocol = *kind.get(&protocols);
        let port = if wild == 2 { *other } else { *port.get(&self.ports) };
        Flow {
            client: if interface.is_some() { ClientClass::Outside } else { ClientClass::Node },
            interface,
            source,
            source_port: if wild == 3 { *other } else { Flow::DEFAULT_SOURCE_PORT },
            protocol,
            destination,
            port: if protocol.has_ports() { port } else { 0 },
        }
    }
}

fn answer(walker: &Walker, flow: &Flow) -> Distribution<Outcome> {
    match walker.decide(flow) {
        Answer::Exact(outcomes) => outcomes,
        other => panic!("{other:?}"),
    }
}

/// Tells whether outcomes differ, or cannot be told.
fn differ(left: &Distribution<Outcome>, right: &Distribution<Outcome>) -> Option<bool> {
    let shares = |outcomes: &Distribution<Outcome>| -> BTreeMap<Outcome, u128> {
        let mut shares = BTreeMap::new();
        for (weight, outcome) in outcomes.branches() {
            *shares.entry(outcome.clone()).or_insert(0) += weight.to_fixed();
        }
        shares
    };
    let (left, right) = (shares(left), shares(right));
    let unknown = |outcome: &Outcome| matches!(outcome, Outcome::Unknown(_));
    if left.keys().chain(right.keys()).any(unknown) {
        return None;
    }
    let close = |(one, other): (&u128, &u128)| one.abs_diff(*other) < (1 << 64) / 1_000_000;
    Some(!(left.keys().eq(right.keys()) && left.values().zip(right.values()).all(close)))
}

/// What a proof says of a packet.
fn said(proof: &Proof, flow: &Flow) -> Option<bool> {
    if proof.undecided.iter().any(|undecided| undecided.class.contains(flow)) {
        return None;
    }
    Some(proof.differences.iter().any(|difference| difference.class.contains(flow)))
}

/// Clusters with everything that a comparison takes, and packets.
type World = (Cluster, Config, (Mode, KubeVersion), (Mode, KubeVersion), bool, Vec<Aim>);

/// What was looked at.
#[derive(Debug, Default)]
struct Tally {
    classes: u64,
    different: u64,
    undecided: u64,
    packets: u64,
    differing: u64,
}

impl Tally {
    /// Holds a proof against its own witnesses and against packets.
    fn hold(&mut self, sides: [&NodeState; 2], flows: &[Flow]) -> Result<(), TestCaseError> {
        let [left, right] = sides.map(Walker::new);
        let proof = prove(&left, &right);
        self.classes += proof.classes;
        self.different += proof.differences.len() as u64;
        self.undecided += proof.undecided.len() as u64;
        for difference in &proof.differences {
            let flow = &difference.flow;
            prop_assert!(difference.class.contains(flow), "{} has not {flow}", difference.class);
            prop_assert_eq!(differ(&answer(&left, flow), &difference.left), Some(false));
            prop_assert_eq!(differ(&answer(&right, flow), &difference.right), Some(false));
            prop_assert_eq!(differ(&difference.left, &difference.right), Some(true));
        }
        for flow in flows {
            let answers = (answer(&left, flow), answer(&right, flow));
            let is = differ(&answers.0, &answers.1);
            self.packets += 1;
            self.differing += u64::from(is == Some(true));
            prop_assert_eq!(is, said(&proof, flow), "{} {:?}", flow, answers);
        }
        Ok(())
    }
}

/// Runs a law over worlds that are the same in every run: `KPS_WORLDS` of them, by `KPS_SEED`.
fn over_worlds(worlds: u32, law: impl Fn(World, &mut Tally) -> Result<(), TestCaseError>) {
    let given = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (worlds, seed) = (given("KPS_WORLDS").unwrap_or(worlds), given("KPS_SEED").unwrap_or(7));
    let config =
        RunnerConfig { cases: worlds, failure_persistence: None, ..RunnerConfig::default() };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let tally = RefCell::new(Tally::default());
    let world = (
        world::clusters(),
        world::configs(Mode::Nftables),
        sides(),
        sides(),
        any::<bool>(),
        aims(),
    );
    let outcome = TestRunner::new_with_rng(config, random)
        .run(&world, |world| law(world, &mut tally.borrow_mut()));
    println!("seed {seed}, {worlds} worlds: {:?}", tally.into_inner());
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// Writes a world in one of the families.
fn settled(cluster: Cluster, config: Config, v6: bool) -> (Cluster, Config, Family) {
    let family = if v6 { Family::V6 } else { Family::V4 };
    (world::family::cluster(cluster, family), world::family::config(config, family), family)
}

#[test]
fn no_packet_tells_otherwise_than_the_proof_of_two_states() {
    over_worlds(WORLDS, |(cluster, config, left, right, v6, aims), tally| {
        let (cluster, config, family) = settled(cluster, config, v6);
        let sides = [left, right].map(|side| state(&cluster, &config, side, family));
        let targets = Targets::of(&cluster, family, sides.each_ref());
        let flows: Vec<Flow> = aims.iter().map(|aim| targets.flow(aim)).collect();
        tally.hold(sides.each_ref(), &flows)
    });
}

/// Against a node without rules every question is one of the rules alone: no other state's questions
/// narrow a class beside them.
#[test]
fn no_packet_tells_otherwise_than_the_proof_of_a_state_and_its_bare_node() {
    over_worlds(WORLDS, |(cluster, config, side, _, v6, aims), tally| {
        let (cluster, config, family) = settled(cluster, config, v6);
        let full = state(&cluster, &config, side, family);
        let bare = NodeState { host: full.host.clone(), ..NodeState::default() };
        let targets = Targets::of(&cluster, family, [&full, &bare]);
        let flows: Vec<Flow> = aims.iter().map(|aim| targets.flow(aim)).collect();
        tally.hold([&full, &bare], &flows)
    });
}
