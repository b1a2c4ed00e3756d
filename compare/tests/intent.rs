//! Rendered rules give what Kubernetes promises, or a documented exception.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;

use kps_compare::{Exception, Judge, Judgement};
use kps_flow::{Family, Flow, Outcome, Promise};
use kps_model::intent::{Claims, Owner};
use kps_model::{Cluster, Config, Intent, KubeVersion, Mode, NodeView, PortView, view};
use kps_render::node_state;
use kps_sim::{Options, Walker};
use proptest::prelude::*;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

const SEED: [u8; 32] = *b"the same clusters in every run!!";
const CLUSTERS: u32 = 250;
const FLOWS: usize = 24;

fn seen(cluster: &Cluster, config: &Config, version: KubeVersion) -> NodeView {
    seen_in(Family::V4, cluster, config, version)
}

fn seen_in(family: Family, cluster: &Cluster, config: &Config, version: KubeVersion) -> NodeView {
    view(cluster, config, "a", version, family)
}

/// Runs a property over clusters, configurations and flows that are the same in every run.
fn over_worlds(
    mode: Mode,
    property: impl Fn(&Cluster, &Config, &[Flow]) -> Result<(), TestCaseError>,
) {
    let config =
        RunnerConfig { cases: CLUSTERS, failure_persistence: None, ..RunnerConfig::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let worlds = (world::clusters_and_flows(FLOWS), world::configs(mode));
    let outcome = TestRunner::new_with_rng(config, random)
        .run(&worlds, |((cluster, flows), config)| property(&cluster, &config, &flows));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// How often each judgement was given.
type Tally = BTreeMap<String, u64>;

#[test]
fn iptables_rules_keep_the_promise_or_are_excused() {
    let often = [Exception::D10, Exception::D11, Exception::D14];
    keeps_or_is_excused(Mode::Iptables, &often);
}

#[test]
fn nftables_rules_keep_the_promise_or_are_excused() {
    let often = [Exception::D07, Exception::D08, Exception::D09, Exception::D20];
    keeps_or_is_excused(Mode::Nftables, &often);
}

#[test]
fn ipvs_keeps_the_promise_or_is_excused() {
    let often = [
        Exception::D07,
        Exception::D09,
        Exception::D11,
        Exception::D12,
        Exception::D14,
        Exception::D20,
        Exception::D25,
    ];
    keeps_or_is_excused(Mode::Ipvs, &often);
}

/// Judges a mode in both families and all releases. `exceptions` are those that must occur, beside
/// that for loopback addresses.
fn keeps_or_is_excused(mode: Mode, exceptions: &[Exception]) {
    for family in Family::BOTH {
        let tally: RefCell<Tally> = RefCell::default();
        over_worlds(mode, |cluster, config, flows| {
            let cluster = world::family::cluster(cluster.clone(), family);
            let config = world::family::config(config.clone(), family);
            let flows: Vec<Flow> =
                flows.iter().map(|flow| world::family::flow(flow.clone(), family)).collect();
            KubeVersion::ALL.into_iter().try_for_each(|version| {
                let view = seen_in(family, &cluster, &config, version);
                keeps_promises(&view, config.mode, &flows, &mut tally.borrow_mut())
            })
        });
        let loopback = if family == Family::V4 { Exception::D03 } else { Exception::D04 };
        let mut expected: Vec<Exception> = exceptions.to_vec();
        expected.push(loopback);
        occur(mode, family, &tally.into_inner(), &expected);
    }
}

fn keeps_promises(
    view: &NodeView,
    mode: Mode,
    flows: &[Flow],
    tally: &mut Tally,
) -> Result<(), TestCaseError> {
    let (state, errors) = node_state(std::slice::from_ref(view), mode);
    prop_assert!(errors.is_empty(), "{errors:?}");
    let walker = Walker::new(&state);
    let (judge, claims) = (Judge::new(view, mode), Claims::of(view));
    for flow in flows {
        let promise = Intent::new(view).promise(flow);
        let found = Intent::indexed(view, &claims).promise(flow);
        prop_assert_eq!(&found, &promise, "an index changes the promise for {}", flow);
        let word = match judge.judge(&walker, flow) {
            Judgement::Kept => promise_word(&promise),
            Judgement::Contested => "contested".to_owned(),
            Judgement::Excused(exception) => exception.to_string(),
            Judgement::Broken(finding) => {
                return Err(TestCaseError::fail(format!("{mode} {}: {finding}", view.version)));
            }
        };
        *tally.entry(word).or_default() += 1;
    }
    Ok(())
}

/// Checks that exactly the expected exceptions occur, and each promise is kept somewhere.
fn occur(mode: Mode, family: Family, tally: &Tally, expected: &[Exception]) {
    println!("{mode} {family}: {tally:?}");
    for exception in Exception::ALL {
        let (occurs, meant) =
            (tally.contains_key(&exception.to_string()), expected.contains(&exception));
        assert_eq!(occurs, meant, "{mode} {family}: {exception}");
    }
    for word in ["endpoints", "refused", "discarded", "host", "onward"] {
        assert!(tally.contains_key(word), "{mode} {family}: {word} is never promised and kept");
    }
}

fn promise_word(promise: &Promise) -> String {
    match promise {
        Promise::Endpoints(_) => "endpoints",
        Promise::Refused => "refused",
        Promise::Discarded => "discarded",
        Promise::Host => "host",
        Promise::Onward => "onward",
    }
    .to_owned()
}

/// Returns what becomes of a flow, outcome by outcome.
fn outcomes(view: &NodeView, mode: Mode, flow: &Flow) -> Vec<Outcome> {
    let (state, _) = node_state(std::slice::from_ref(view), mode);
    let walk = Walker::new(&state).walk(flow, &Options::default());
    walk.distribution().merged().into_keys().cloned().collect()
}

/// Tells whether some Service has the client for an endpoint of this node. The hairpin set of nftables
/// holds these whatever their Service, so a Service whose slice knows the node of a pod that another
/// Service's slice does not place has a say in that Service's hairpins.
fn is_local_pod(view: &NodeView, flow: &Flow) -> bool {
    let mut endpoints = view.ports.iter().flat_map(PortView::reachable_endpoints);
    endpoints.any(|endpoint| endpoint.is_local && flow.source == Some(endpoint.address.ip()))
}

#[test]
fn another_service_does_not_change_what_becomes_of_a_packet() {
    over_worlds(Mode::Nftables, |cluster, config, flows| {
        let mut fewer = cluster.clone();
        fewer.services.pop();
        let (all, fewer) =
            (seen(cluster, config, KubeVersion::NEWEST), seen(&fewer, config, KubeVersion::NEWEST));
        for flow in flows.iter().take(6) {
            let before = Intent::new(&fewer).owner(flow);
            let after = Intent::new(&all).owner(flow);
            if let (Owner::Port(one, _), Owner::Port(same, _)) = (before, after)
                && one.port.key == same.port.key
                && is_local_pod(&fewer, flow) == is_local_pod(&all, flow)
            {
                prop_assert_eq!(
                    outcomes(&fewer, config.mode, flow),
                    outcomes(&all, config.mode, flow)
                );
            }
        }
        Ok(())
    });
}

#[test]
fn the_order_of_objects_does_not_matter() {
    over_worlds(Mode::Nftables, |cluster, config, _| {
        let mut turned = cluster.clone();
        turned.services.reverse();
        turned.slices.reverse();
        turned.nodes.reverse();
        let (one, other) = (
            seen(cluster, config, KubeVersion::NEWEST),
            seen(&turned, config, KubeVersion::NEWEST),
        );
        prop_assert_eq!(one, other);
        Ok(())
    });
}
