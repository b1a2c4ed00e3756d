//! The walker and the kernel agree: random clusters under random settings, their rules rendered and
//! loaded, every kind of packet sent through both.
//!
//! A machine without the tools or without rights skips this with a line; with `CI=true` it fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::cell::Cell;
use std::env;

use kps_compare::conform::{Conformity, aim, hold};
use kps_flow::Family;
use kps_kernel::{Kernel, KernelError, Program};
use kps_model::{Cluster, Config, KubeVersion, Mode, NodeView, arbitrary, view};
use kps_render::node_state;
use kps_ruleset::NodeState;
use kps_sim::Walker;
use proptest::prelude::*;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, RngSeed, TestRng, TestRunner};

#[test]
fn nftables_does_what_the_walker_says() {
    conforms(Mode::Nftables);
}

#[test]
fn iptables_does_what_the_walker_says() {
    conforms(Mode::Iptables);
}

#[test]
fn ipvs_does_what_the_walker_says() {
    conforms(Mode::Ipvs);
}

/// How many clusters: `KPS_CLUSTERS`, or few enough for every run.
fn clusters() -> u32 {
    number("KPS_CLUSTERS").unwrap_or(16)
}

fn number(name: &str) -> Option<u32> {
    env::var(name).ok()?.parse().ok()
}

fn conforms(mode: Mode) {
    let kernel = Kernel::new().with_program(Program::new(env!("CARGO_BIN_EXE_kps-kernel-node")));
    if let Err(why) = kernel.observe(&trivial(mode), &[]) {
        assert!(env::var_os("CI").is_none(), "the kernel cannot be asked: {why}");
        println!("skipped: {why}");
        return;
    }
    let seed = number("KPS_SEED").unwrap_or(5);
    let (asked, coincidences) = (Cell::new(0), Cell::new(0));
    let settings = RunnerConfig {
        cases: clusters(),
        failure_persistence: None,
        max_shrink_iters: 200,
        rng_seed: RngSeed::Fixed(seed.into()),
        ..RunnerConfig::default()
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let worlds = (arbitrary::cluster(), arbitrary::config(mode), arbitrary::version());
    let result =
        TestRunner::new_with_rng(settings, random).run(&worlds, |(cluster, config, version)| {
            let counts = differences(&kernel, &cluster, &config, version)?;
            asked.set(asked.get() + counts.0);
            coincidences.set(coincidences.get() + counts.1);
            Ok(())
        });
    println!(
        "{mode}: seed {seed}, {} clusters, {} flows sent, {} kept a port by chance",
        clusters(),
        asked.get(),
        coincidences.get()
    );
    if let Err(failure) = result {
        panic!("{failure}");
    }
    // One port in some 60 000 is drawn again; a lost masquerade would show far more often.
    assert!(coincidences.get() <= 1 + asked.get() / 10_000, "sources are not rewritten");
}

/// Returns the least state that takes what the states of a mode take.
fn trivial(mode: Mode) -> NodeState {
    let mut state = NodeState::default();
    if mode == Mode::Ipvs {
        state.host.sysctls.insert("net.ipv4.vs.conntrack".into(), "1".into());
    }
    state
}

/// Asks both about every flow, and returns how many were sent, and how many differ by chance.
fn differences(
    kernel: &Kernel,
    cluster: &Cluster,
    config: &Config,
    version: KubeVersion,
) -> Result<(usize, usize), TestCaseError> {
    let see = |family| view(cluster, config, arbitrary::NODE, version, family);
    let views: Vec<NodeView> = Family::BOTH.map(see).into();
    let (state, errors) = node_state(&views, config.mode);
    prop_assert!(errors.is_empty(), "{errors:?}");
    let walker = Walker::new(&state);
    let flows = aim::flows(cluster, &views, &walker);
    let observed = match kernel.observe(&state, &flows) {
        Ok(observed) => observed,
        Err(KernelError::Refused { tool, message }) => {
            return Err(TestCaseError::fail(format!("{tool}: {message}")));
        }
        Err(why) => return Err(TestCaseError::fail(why.to_string())),
    };
    let (mut wrong, mut sent, mut by_chance) = (Vec::new(), 0, 0);
    for (flow, seen) in flows.iter().zip(observed) {
        sent += usize::from(!seen.counts.is_empty());
        match hold(&walker, flow, &seen) {
            Conformity::Agrees | Conformity::NotSent => {}
            Conformity::ByChance => by_chance += 1,
            Conformity::Undecided(why) => wrong.push(format!("{flow}: {}", why.join(", "))),
            Conformity::Differs(difference) => wrong.push(difference.to_string()),
        }
    }
    let shown: Vec<_> = wrong.iter().take(5).map(String::as_str).collect();
    prop_assert!(wrong.is_empty(), "{} of {}: {}", wrong.len(), flows.len(), shown.join("\n"));
    Ok((sent, by_chance))
}
