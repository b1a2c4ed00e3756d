//! What the suite would notice: rules of a recorded cluster are changed a little, one change at a time, and a kernel with
//! the changed rules is held against the walker of the unchanged ones.
//!
//! `KPS_MUTATIONS=50 cargo test -p kps-kernel --test mutations -- --nocapture --test-threads=1`
//! prints the tables of `docs/mutations.md`; `KPS_SEED` draws others.
//!
//! A machine without the tools or without rights skips this with a line; with `CI=true` it fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

#[path = "../../../render/tests/corpus/mod.rs"]
mod corpus;
mod iptables;
mod mutant;
mod nftables;
#[path = "../suite/mod.rs"]
mod suite;

use std::env;

use kps_compare::conform::aim;
use kps_flow::{Answer, Flow, Strictness, agree};
use kps_kernel::{Kernel, Program};
use kps_model::{Cluster, Mode, NodeView, Source, read};
use kps_render::node_state;
use kps_ruleset::NodeState;
use kps_sim::{Options, Walk, Walker};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

use mutant::{Kind, Mutant};
use suite::Suite;

#[test]
fn changed_nftables_rules_are_noticed() {
    try_mutants(Mode::Nftables, nftables::mutants);
}

#[test]
fn changed_iptables_rules_are_noticed() {
    try_mutants(Mode::Iptables, iptables::mutants);
}

fn number(name: &str) -> Option<u32> {
    env::var(name).ok()?.parse().ok()
}

/// A change, with what the suite said.
struct Trial {
    kind: Kind,
    place: String,
    verdict: Result<String, String>,
}

fn try_mutants(mode: Mode, mutants: fn(&NodeState) -> Vec<Mutant>) {
    let kernel = Kernel::new().with_program(Program::new(env!("CARGO_BIN_EXE_kps-kernel-node")));
    if let Err(why) = kernel.observe(&NodeState::default(), &[]) {
        assert!(env::var_os("CI").is_none(), "the kernel cannot be asked: {why}");
        println!("skipped: {why}");
        return;
    }
    let (count, seed) = (number("KPS_MUTATIONS").unwrap_or(5), number("KPS_SEED").unwrap_or(5));
    let trials: Vec<Trial> =
        (0..count).map(|number| one(&kernel, mode, mutants, [seed, number])).collect();
    let noticed = trials.iter().filter(|trial| trial.verdict.is_ok()).count();
    println!("{mode}: seed {seed}, {noticed} of {count} changes noticed");
    println!("\n| | change | where | noticed by |\n|---|---|---|---|");
    for (number, Trial { kind, place, verdict }) in (1..).zip(&trials) {
        let said = match verdict {
            Ok(how) => how.clone(),
            Err(why) => format!("**missed**: {why}"),
        };
        println!("| {number} | {kind} | `{}` | {said} |", place.replace('|', "\\|"));
    }
}

/// Draws a cluster and a change to its rules, and has the suite look.
fn one(
    kernel: &Kernel,
    mode: Mode,
    mutants: fn(&NodeState) -> Vec<Mutant>,
    [seed, number]: [u32; 2],
) -> Trial {
    // Rules that the tools do not take never reach a packet.
    let loads = |world: &World| kernel.observe(&world.changed(), &[]).is_ok();
    let world = (0..1000)
        .filter_map(|attempt| World::draw(mode, mutants, [seed, number, attempt]))
        .find(loads)
        .unwrap();
    let flows = aim::flows(&world.cluster, &world.views, &Walker::new(&world.state));
    let changed = world.changed();
    let suite = Suite::new(kernel, &world.state, &world.views, flows);
    let verdict = suite
        .look(&changed)
        .unwrap()
        .map(|noticed| noticed.to_string().replace("\n  ", "; ").replace('|', "\\|"))
        .ok_or_else(|| reason(&world, &changed, suite.flows()));
    Trial { kind: world.mutant.kind, place: world.mutant.place, verdict }
}

/// A node, and a change to its rules.
struct World {
    cluster: Cluster,
    views: Vec<NodeView>,
    state: NodeState,
    mutant: Mutant,
}

impl World {
    fn changed(&self) -> NodeState {
        let mut changed = self.state.clone();
        (self.mutant.apply)(&mut changed);
        changed
    }

    /// Takes one of the recorded clusters, and draws a change of the kind whose turn it is. `None` if
    /// there is none.
    fn draw(
        mode: Mode,
        mutants: fn(&NodeState) -> Vec<Mutant>,
        [seed, number, attempt]: [u32; 3],
    ) -> Option<World> {
        let mut key = [0; 32];
        key[..12].copy_from_slice(&[seed, number, attempt].map(u32::to_le_bytes).concat());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &key);
        let mut runner = TestRunner::new_with_rng(RunnerConfig::default(), random);
        let (which, place) = any::<(Index, Index)>().new_tree(&mut runner).unwrap().current();
        let mut cases = corpus::cases(mode, 25);
        cases.retain(|case| case.dumps.parent().unwrap().ends_with("1.37.2"));
        let case = cases.swap_remove(which.index(cases.len()));
        let (state, _) = node_state(&case.views, mode);
        let kind = Kind::ALL[usize::try_from(number).unwrap() % Kind::ALL.len()];
        let mut places = mutants(&state);
        places.retain(|mutant| mutant.kind == kind);
        (!places.is_empty()).then(|| {
            let objects = case.dumps.ancestors().nth(2).unwrap().join("cluster.yaml");
            World {
                cluster: read(&[Source::Path(objects)]).cluster,
                mutant: places.swap_remove(place.index(places.len())),
                views: case.views,
                state,
            }
        })
    }
}

/// Tells why a change is missed, as far as walks do.
fn reason<'a>(
    world: &World,
    changed: &NodeState,
    flows: impl ExactSizeIterator<Item = &'a Flow>,
) -> String {
    let options = Options { fresh: true, trace: true, ..Options::default() };
    let walkers = [&world.state, changed].map(Walker::new);
    let (all, mut visitors) = (flows.len(), 0);
    for flow in flows {
        let [before, after] = walkers.each_ref().map(|walker| walker.walk(flow, &options));
        let answer = |walk: &Walk| Answer::Exact(walk.distribution());
        if agree(&answer(&before), &answer(&after), Strictness::Shares).is_err() {
            return format!("the walk of {flow} shows it");
        }
        let mut steps = before.paths.iter().chain(&after.paths).flat_map(|path| &path.steps);
        visitors += usize::from(steps.any(|step| world.mutant.is_at(&step.place)));
    }
    match visitors {
        0 => format!("none of {all} flows comes there"),
        _ => format!("{visitors} of {all} flows come there, and none comes out otherwise"),
    }
}
