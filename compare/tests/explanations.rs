//! Every difference between two modes is explained by what is documented.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;

use kps_compare::diff::same;
use kps_compare::difference::{Id, Seen, Side, concerns, explain};
use kps_flow::{Distribution, Family, Flow, Outcome};
use kps_model::{Config, KubeVersion, Mode, NodeView, view};
use kps_render::node_state;
use kps_sim::{Options, Walker};
use proptest::prelude::*;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

const SEED: [u8; 32] = *b"the same clusters in every run!!";
const CLUSTERS: u32 = 250;
const FLOWS: usize = 24;
const PAIRS: [[Mode; 2]; 3] =
    [[Mode::Iptables, Mode::Nftables], [Mode::Iptables, Mode::Ipvs], [Mode::Ipvs, Mode::Nftables]];

/// How often each id explained a difference.
type Tally = BTreeMap<Id, u64>;

#[test]
fn iptables_and_nftables_differ_as_documented() {
    differs_as_documented(PAIRS[0]);
}

#[test]
fn iptables_and_ipvs_differ_as_documented() {
    differs_as_documented(PAIRS[1]);
}

#[test]
fn ipvs_and_nftables_differ_as_documented() {
    differs_as_documented(PAIRS[2]);
}

fn differs_as_documented(modes: [Mode; 2]) {
    let tally: RefCell<Tally> = RefCell::default();
    let config =
        RunnerConfig { cases: CLUSTERS, failure_persistence: None, ..RunnerConfig::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let worlds = (world::clusters_and_flows(FLOWS), world::configs(modes[0]));
    let outcome =
        TestRunner::new_with_rng(config, random).run(&worlds, |((cluster, flows), config)| {
            for family in Family::BOTH {
                let cluster = world::family::cluster(cluster.clone(), family);
                let config = world::family::config(config.clone(), family);
                for version in KubeVersion::ALL {
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
