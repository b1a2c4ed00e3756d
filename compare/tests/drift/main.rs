//! Dumps against what should be there: recorded ones, small damaged ones, and random damage.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod corpus;
mod damage;
mod foreign;
mod moved;
mod order;
mod small;
mod thing;
#[path = "../world/mod.rs"]
mod world;

use kps_compare::drift::{Drift, Packets, Settings, Subject, find};
use kps_flow::Family;
use kps_model::{Cluster, Config, KubeVersion, Mode, view};
use kps_render::node_state;
use kps_ruleset::nftables::{parse_ruleset, print_ruleset};
use kps_ruleset::{Name, NodeState, ipset, iptables, ipvs};
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

const MODES: [Mode; 3] = [Mode::Nftables, Mode::Ipvs, Mode::Iptables];
const SEED: [u8; 32] = *b"the same drifts in every run!!!!";

/// Runs properties over as many worlds, which are the same in every run.
fn runner(cases: u32) -> TestRunner {
    let config = RunnerConfig { cases, failure_persistence: None, ..RunnerConfig::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &SEED))
}

fn drift(cluster: &Cluster, node: &str, configs: &[Config], dump: &NodeState) -> Drift {
    let versions: Vec<KubeVersion> = KubeVersion::ALL.into_iter().rev().collect();
    of(cluster, node, configs, &versions, dump)
}

/// Holds a dump against clusters with configurations and releases that are known.
fn of(
    cluster: &Cluster,
    node: &str,
    configs: &[Config],
    versions: &[KubeVersion],
    dump: &NodeState,
) -> Drift {
    asking(Packets::Sampled, cluster, node, configs, versions, dump)
}

fn asking(
    packets: Packets,
    cluster: &Cluster,
    node: &str,
    configs: &[Config],
    versions: &[KubeVersion],
    dump: &NodeState,
) -> Drift {
    let (settings, unseen) = (Settings::Given, &[]);
    find(&Subject { cluster, node, configs, settings, versions, dump, unseen, packets }).unwrap()
}

/// Prints a state in the form of its dumps and reads it again.
fn dumped(state: &NodeState) -> NodeState {
    let mut dump = NodeState { host: state.host.clone(), ..NodeState::default() };
    dump.nftables = parse_ruleset(&print_ruleset(&state.nftables)).value;
    for family in [iptables::Family::Ipv4, iptables::Family::Ipv6] {
        let text = iptables::print_ruleset(state.iptables.family(family), false);
        *dump.iptables.family_mut(family) = iptables::parse_ruleset(&text, family).value;
    }
    dump.ipset = ipset::parse_sets(&ipset::print_save(&state.ipset)).value;
    dump.ipvs = ipvs::parse_table(&ipvs::print_save(&state.ipvs)).value;
    dump
}

fn rendered(cluster: &Cluster, node: &str, config: &Config, version: KubeVersion) -> NodeState {
    let views = Family::BOTH.map(|family| view(cluster, config, node, version, family));
    let (state, errors) = node_state(&views, config.mode);
    assert!(errors.is_empty(), "{errors:?}");
    state
}

fn chain_mut<'r>(
    rules: &'r mut iptables::Ruleset,
    table: &str,
    chain: &str,
) -> Option<&'r mut iptables::Chain> {
    rules.tables.get_mut(&Name::new(table))?.chains.get_mut(&Name::new(chain))
}
