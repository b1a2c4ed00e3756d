//! Every difference between two modes is explained by what is documented.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;

use kps_compare::diff::same;
use kps_compare::difference::{Id, Seen, Side, concerns, explain};
use kps_flow::{Distribution, Family, Flow, Outcome};
use kps_model::objects::NodeAddress;
use kps_model::{Cluster, Config, KubeVersion, Mode, NodeView, view};
use kps_render::node_state;
use kps_sim::prove::prove;
use kps_sim::{Options, Walker};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

const SEED: [u8; 32] = *b"the same clusters in every run!!";
const CLUSTERS: u32 = 120;
const FLOWS: usize = 24;

/// How often each id explained a difference.
type Tally = BTreeMap<Id, u64>;

#[test]
fn iptables_and_nftables_differ_as_documented() {
    use Id::*;
    let ids = [D01, D02, D03, D04, D07, D08, D09, D10, D11, D14, D20, D31];
    differs_as_documented([Mode::Iptables, Mode::Nftables], &ids);
}

#[test]
fn iptables_and_ipvs_differ_as_documented() {
    use Id::*;
    let ids = [D03, D04, D07, D09, D10, D11, D12, D14, D19, D20, D21, D25, D31];
    differs_as_documented([Mode::Iptables, Mode::Ipvs], &ids);
}

#[test]
fn ipvs_and_nftables_differ_as_documented() {
    use Id::*;
    let ids = [D01, D02, D08, D11, D12, D14, D19, D20, D21, D25, D31];
    differs_as_documented([Mode::Ipvs, Mode::Nftables], &ids);
}

/// Explains every difference between two modes, and checks that exactly the expected ids occur.
fn differs_as_documented(modes: [Mode; 2], expected: &[Id]) {
    let tally: RefCell<Tally> = RefCell::default();
    let config =
        RunnerConfig { cases: CLUSTERS, failure_persistence: None, ..RunnerConfig::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let worlds = (world::clusters_and_flows(FLOWS), world::configs(modes[0]));
    let outcome =
        TestRunner::new_with_rng(config, random).run(&worlds, |((cluster, flows), config)| {
            let (cluster, flows) = with_more_addresses(cluster, flows);
            for family in Family::BOTH {
                let cluster = world::family::cluster(cluster.clone(), family);
                let config = world::family::config(config.clone(), family);
                for version in [KubeVersion::V1_34, KubeVersion::NEWEST] {
                    let views = modes.map(|mode| {
                        view(&cluster, &Config { mode, ..config.clone() }, "a", version, family)
                    });
                    let flows = flows.iter().map(|flow| world::family::flow(flow.clone(), family));
                    compare(modes, &views, flows, &mut tally.borrow_mut())?;
                }
            }
            Ok(())
        });
    println!("{modes:?}: {tally:?}");
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let occurring: Vec<Id> = tally.into_inner().into_keys().collect();
    assert_eq!(occurring, expected);
}

/// How many worlds the proofs look at, unless `KPS_WORLDS` says: a proof takes a second or so.
const PROVED: u32 = 6;

#[test]
fn whatever_a_proof_finds_is_explained() {
    let cases = std::env::var("KPS_WORLDS").map_or(PROVED, |text| text.parse().unwrap());
    let failure_persistence = None;
    // A smaller world is worth a few proofs, not a thousand.
    let max_shrink_iters = 40;
    let config =
        RunnerConfig { cases, failure_persistence, max_shrink_iters, ..RunnerConfig::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let pairs = vec![
        [Mode::Iptables, Mode::Nftables],
        [Mode::Iptables, Mode::Ipvs],
        [Mode::Ipvs, Mode::Nftables],
    ];
    let families = Family::BOTH.to_vec();
    let worlds =
        (world::clusters(), world::configs(Mode::Iptables), select(pairs), select(families));
    let outcome = TestRunner::new_with_rng(config, random)
        .run(&worlds, |(cluster, config, modes, family)| proved(cluster, &config, modes, family));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// Explains every class of packets that two modes treat differently.
fn proved(
    cluster: Cluster,
    config: &Config,
    modes: [Mode; 2],
    family: Family,
) -> Result<(), TestCaseError> {
    let (cluster, _) = with_more_addresses(cluster, Vec::new());
    let cluster = world::family::cluster(cluster, family);
    let config = world::family::config(config.clone(), family);
    let views = modes.map(|mode| {
        view(&cluster, &Config { mode, ..config.clone() }, "a", KubeVersion::NEWEST, family)
    });
    let states = [0, 1].map(|side| node_state(&views[side..=side], modes[side]).0);
    let proof = prove(&Walker::new(&states[0]), &Walker::new(&states[1]));
    for found in proof.differences.iter().filter(|found| !same(&found.left, &found.right)) {
        let [left, right] = [(0, &found.left), (1, &found.right)].map(|(side, outcomes)| Seen {
            mode: modes[side],
            view: &views[side],
            outcomes,
        });
        let told = || format!("{:?} {:?}", found.left.merged(), found.right.merged());
        prop_assert!(
            !explain(&found.flow, left, right).is_empty(),
            "unexplained: {modes:?} {}: {} {:#?}",
            found.class,
            told(),
            views[0]
        );
    }
    Ok(())
}

/// Addresses of the node beside its primary one; the last may be that of a Service, too.
const OTHERS: [&str; 2] = ["192.0.2.77", "203.0.113.1"];

/// Gives the node more addresses, and aims at them whatever aims at its primary one.
fn with_more_addresses(mut cluster: Cluster, mut flows: Vec<Flow>) -> (Cluster, Vec<Flow>) {
    let more =
        OTHERS.map(|text| NodeAddress { kind: "ExternalIP".to_owned(), address: text.to_owned() });
    cluster.nodes[0].status.addresses.extend(more);
    let at_node: Vec<Flow> =
        flows.iter().filter(|flow| flow.destination == world::NODE).cloned().collect();
    for text in OTHERS {
        let destination = text.parse().unwrap();
        flows.extend(at_node.iter().map(|flow| Flow { destination, ..flow.clone() }));
    }
    (cluster, flows)
}

fn compare(
    modes: [Mode; 2],
    views: &[NodeView; 2],
    flows: impl Iterator<Item = Flow>,
    tally: &mut Tally,
) -> Result<(), TestCaseError> {
    let states = [0, 1].map(|side| node_state(&views[side..=side], modes[side]).0);
    let walkers = [Walker::new(&states[0]), Walker::new(&states[1])];
    let sides = [0, 1].map(|side| Side { mode: modes[side], view: &views[side] });
    let concerns = concerns(sides[0], sides[1]);
    for flow in flows {
        let happens: [Distribution<Outcome>; 2] = [0, 1].map(|side| {
            let options = Options { fresh: true, ..Options::default() };
            walkers[side].walk(&flow, &options).distribution()
        });
        if same(&happens[0], &happens[1]) {
            continue;
        }
        let [left, right] = [0, 1].map(|side| Seen {
            mode: modes[side],
            view: &views[side],
            outcomes: &happens[side],
        });
        let ids = explain(&flow, left, right);
        let told = || {
            let told = happens.each_ref().map(|d| format!("{:?}", d.merged()));
            let judged = [left, right]
                .map(|s| kps_compare::judge_outcomes(s.outcomes, s.view, s.mode, &flow));
            format!("{modes:?} {} {flow}: {told:#?} {judged:?} {:#?}", views[0].version, views[0])
        };
        prop_assert!(!ids.is_empty(), "unexplained: {}", told());
        for id in ids {
            *tally.entry(id).or_default() += 1;
            let is_named = concerns.iter().any(|concern| concern.id == id);
            prop_assert!(is_named, "{id} is no concern: {}", told());
        }
    }
    Ok(())
}
