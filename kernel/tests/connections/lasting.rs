//! Who stays where: clients with affinity until it expires, connections whatever becomes of rules.

use std::net::SocketAddr;
use std::time::Duration;

use kps_compare::conform::possible;
use kps_flow::{Flow, Outcome, Protocol};
use kps_kernel::{Exchange, Input, Kernel, Setup, Step, Variant};
use kps_model::Mode;
use kps_render::nftables;
use kps_ruleset::nftables::print_script;
use kps_sim::Walker;

use crate::world::{CLUSTER_IP, PORT, Plan, World};
use crate::{BY_RULES, kernel};

const CLIENTS: u8 = 30;

fn send(flows: &[Flow]) -> Step {
    Step::Send { flows: flows.to_vec(), answered: true }
}

/// Returns the endpoint of each exchange, each of which must be one that the walker allows.
fn endpoints(world: &World, flows: &[Flow], exchanges: &[Exchange]) -> Vec<SocketAddr> {
    let walker = Walker::new(&world.state);
    let pairs = flows.iter().zip(exchanges);
    let endpoint = |(flow, exchange): (&Flow, &Exchange)| {
        let seen = exchange.outcome.as_ref().unwrap();
        let allowed = possible(&walker, flow);
        assert!(allowed.iter().any(|outcome| outcome.covers(seen)), "{flow}: {seen}");
        match seen {
            Outcome::Deliver(delivery) => delivery.endpoint,
            other => panic!("{flow}: {other}"),
        }
    };
    pairs.map(endpoint).collect()
}

#[test]
fn a_client_stays_at_its_endpoint_until_affinity_expires() {
    for mode in BY_RULES {
        let Some(kernel) = kernel(mode) else { return };
        let endpoints_there = ["10.244.1.1", "10.244.1.2", "10.244.1.3"];
        let plan = Plan { spec: &AFFINITY, ..Plan::plain("affinity", mode, &endpoints_there) };
        let world = plan.make();
        let clients: Vec<Flow> = (1..=CLIENTS).map(|client| world.dialled_by(client)).collect();
        // Flows at new places are new connections.
        let times = |number: usize| send(&vec![clients.clone(); number].concat());
        let wait = Step::Wait(Duration::from_secs(11));
        let sent = kernel.follow(&world.state, &[times(1), times(2), wait, times(3)]).unwrap();
        let last = |exchanges: &[Exchange]| {
            endpoints(&world, &clients, &exchanges[exchanges.len() - clients.len()..])
        };
        let [first, again, late] = [0, 1, 2].map(|step| last(&sent[step]));
        assert_eq!(first, again, "{mode}: a client strays");
        // 30 clients choose the same of three once in 3^30.
        assert_ne!(first, late, "{mode}: affinity does not expire");
    }
}

const AFFINITY: [&str; 2] =
    ["sessionAffinity: ClientIP", "sessionAffinityConfig: {clientIP: {timeoutSeconds: 10}}"];

#[test]
fn connections_outlive_their_endpoint_and_new_ones_go_elsewhere() {
    // Only the first packet is sent, again and again. IPVS takes a SYN for one of a new connection
    // if the real server gets no more of them (`ip_vs_in_hook`), so that it gets datagrams.
    for (mode, protocol) in [
        (Mode::Nftables, Protocol::Tcp),
        (Mode::Iptables, Protocol::Tcp),
        (Mode::Ipvs, Protocol::Udp),
    ] {
        let Some(kernel) = kernel(mode) else { continue };
        let world = |endpoints: &[&str]| {
            Plan { protocol, ..Plan::plain("removal", mode, endpoints) }.make()
        };
        let (before, after) = (world(&["10.244.1.1", "10.244.1.2"]), world(&["10.244.1.2"]));
        outlive(&kernel, mode, &before, &after);
    }
}

fn outlive(kernel: &Kernel, mode: Mode, before: &World, after: &World) {
    let flows: Vec<Flow> = (1..=CLIENTS).map(|client| before.dialled_by(client)).collect();
    let twice = [flows.clone(), flows.clone()].concat();
    let steps = [send(&flows), Step::Load(replaced(mode, after)), send(&twice)];
    let sent = kernel.follow(&before.state, &steps).unwrap();
    let opened = endpoints(before, &flows, &sent[0]);
    let (lasting, new) = sent[1].split_at(flows.len());
    let lasting = endpoints(before, &flows, lasting);
    assert_eq!(opened, lasting, "{mode}: a connection moves");
    let gone: SocketAddr = "10.244.1.1:8080".parse().unwrap();
    assert!(lasting.contains(&gone), "{mode}: nobody was at the endpoint that goes");
    // The walker knows only the endpoint that is left.
    let new = endpoints(after, &flows, new);
    assert!(!new.contains(&gone), "{mode}: the endpoint that is gone gets a new connection");
}

/// Returns what the tools are given when the endpoint goes. With IPVS kube-proxy first lets a real
/// server that has connections get no new ones (`graceful_termination.go`).
fn replaced(mode: Mode, after: &World) -> Vec<Input> {
    match mode {
        Mode::Nftables => after
            .views
            .iter()
            .map(|view| print_script(&nftables::plan(view).into_commands()))
            .map(|script| Input::new("nft", &["-f", "-"], script))
            .collect(),
        Mode::Iptables => Setup::new(&after.state, Variant::Chosen).rules,
        Mode::Ipvs => {
            let edit = format!("-e -u {CLUSTER_IP}:{PORT} -r 10.244.1.1:8080 -m -w 0\n");
            vec![Input::new("ipvsadm", &["--restore"], edit)]
        }
    }
}
