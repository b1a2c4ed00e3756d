//! The walker and the kernel agree: random clusters under random settings, their rules rendered and
//! loaded, every kind of packet sent through both.
//!
//! A machine without the tools or without rights skips this with a line; with `CI=true` it fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod answers;

use std::cell::RefCell;
use std::env;
use std::fmt;
use std::time::Instant;

use kps_compare::conform::{Conformity, aim, hold};
use kps_flow::{Family, Flow, Outcome};
use kps_kernel::{Exchange, Kernel, KernelError, Program, Variant};
use kps_model::{Cluster, Config, KubeVersion, Mode, NodeView, arbitrary, view};
use kps_render::{SyncError, node_state};
use kps_ruleset::NodeState;
use kps_ruleset::ipvs::{Scheduler, ServiceId, VirtualServer};
use kps_sim::Walker;
use proptest::prelude::*;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, RngSeed, TestRng, TestRunner};

#[test]
fn nftables_does_what_the_walker_says() {
    Trial::new("nftables", Mode::Nftables, Variant::Nft).run();
}

#[test]
fn iptables_does_what_the_walker_says() {
    Trial::new("iptables", Mode::Iptables, Variant::Nft).run();
}

#[test]
fn legacy_iptables_does_what_the_walker_says() {
    Trial::new("iptables-legacy", Mode::Iptables, Variant::Legacy).run();
}

#[test]
fn ipvs_does_what_the_walker_says() {
    Trial::new("ipvs", Mode::Ipvs, Variant::Legacy).run();
}

/// How many clusters: `KPS_CLUSTERS`, or few enough for every run.
fn clusters() -> u32 {
    number("KPS_CLUSTERS").unwrap_or(16)
}

fn number(name: &str) -> Option<u32> {
    env::var(name).ok()?.parse().ok()
}

/// Many clusters in one mode, through one kernel.
struct Trial {
    name: &'static str,
    mode: Mode,
    variant: Variant,
    kernel: Kernel,
}

/// What was judged, and how it went.
#[derive(Default)]
struct Tally {
    clusters: usize,
    flows: usize,
    /// Flows of which no packet can be sent.
    unsent: usize,
    answers: usize,
    /// Answers of endpoints to themselves.
    hairpins: usize,
    /// Sources that were masqueraded and drew their own port.
    by_chance: usize,
    wrong: Vec<String>,
}

impl Trial {
    fn new(name: &'static str, mode: Mode, variant: Variant) -> Trial {
        let program = Program::new(env!("CARGO_BIN_EXE_kps-kernel-node"));
        let kernel = Kernel::new().with_variant(variant).with_program(program);
        Trial { name, mode, variant, kernel }
    }

    fn run(&self) {
        if let Err(why) = self.kernel.observe(&self.least(), &[]) {
            assert!(env::var_os("CI").is_none(), "the kernel cannot be asked: {why}");
            println!("skipped: {why}");
            return;
        }
        let (seed, start) = (number("KPS_SEED").unwrap_or(5), Instant::now());
        let total = RefCell::new(Tally::default());
        let worlds = (arbitrary::cluster(), arbitrary::config(self.mode), arbitrary::version());
        let result = runner(seed).run(&worlds, |(cluster, config, version)| {
            let tally = self.judge(&cluster, &config, version)?;
            let first: Vec<_> = tally.wrong.iter().take(5).map(String::as_str).collect();
            prop_assert!(first.is_empty(), "{tally}\n{}", first.join("\n"));
            total.borrow_mut().add(&tally);
            Ok(())
        });
        let total = total.into_inner();
        println!("{}: seed {seed}, {total}, {} s", self.name, start.elapsed().as_secs());
        if let Err(failure) = result {
            panic!("{failure}");
        }
        // One port in some 60 000 is drawn again; a lost masquerade would show far more often.
        assert!(total.by_chance <= 1 + total.flows / 10_000, "sources are not rewritten");
    }

    /// Returns the least state that takes what the states of the mode take.
    fn least(&self) -> NodeState {
        let mut state = NodeState::default();
        if self.mode == Mode::Ipvs {
            let id = ServiceId::Mark { mark: 1, ipv6: false };
            state.ipvs.services.insert(id, VirtualServer::new(Scheduler::RoundRobin));
        }
        state
    }

    /// Asks both about every flow of a cluster.
    fn judge(
        &self,
        cluster: &Cluster,
        config: &Config,
        version: KubeVersion,
    ) -> Result<Tally, TestCaseError> {
        let see = |family| view(cluster, config, arbitrary::NODE, version, family);
        let views: Vec<NodeView> = Family::BOTH.map(see).into();
        let (state, errors) = node_state(&views, config.mode);
        let walker = Walker::new(&state);
        let flows = aim::flows(cluster, &views, &walker);
        let exchanges = match self.kernel.exchange(&state, &flows) {
            Err(KernelError::Refused { .. }) if self.refuses(&errors) => {
                return Ok(Tally::default());
            }
            other => other.map_err(|why| TestCaseError::fail(why.to_string()))?,
        };
        prop_assert!(!self.refuses(&errors), "{errors:?}, but the tools take the rules");
        let mut tally = Tally { clusters: 1, ..Tally::default() };
        for (flow, exchange) in flows.iter().zip(exchanges) {
            tally.answers += usize::from(exchange.answer.is_some());
            tally.hairpins += usize::from(is_hairpin(flow, &exchange));
            tally.wrong.extend(answers::wrong(&walker, flow, &exchange));
            tally.note(hold(&walker, flow, &exchange.observation()));
        }
        Ok(tally)
    }

    /// Tells whether these errors of a sync show with this variant of iptables.
    fn refuses(&self, errors: &[SyncError]) -> bool {
        let shows =
            |error| matches!(error, &SyncError::Transaction { .. }) || self.variant == Variant::Nft;
        errors.iter().any(shows)
    }
}

impl Tally {
    fn note(&mut self, conformity: Conformity) {
        self.flows += 1;
        match conformity {
            Conformity::Agrees => {}
            Conformity::NotSent => (self.flows, self.unsent) = (self.flows - 1, self.unsent + 1),
            Conformity::ByChance => self.by_chance += 1,
            Conformity::Undecided(why) => self.wrong.push(why.join(", ")),
            Conformity::Differs(difference) => self.wrong.push(difference.to_string()),
        }
    }

    fn add(&mut self, other: &Tally) {
        self.clusters += other.clusters;
        self.flows += other.flows;
        self.unsent += other.unsent;
        self.answers += other.answers;
        self.hairpins += other.hairpins;
        self.by_chance += other.by_chance;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { clusters, flows, unsent, answers, hairpins, by_chance, wrong } = self;
        let wrong = wrong.len();
        write!(
            f,
            "{clusters} clusters, {flows} flows ({unsent} more cannot be sent), {answers} answers \
             ({hairpins} hairpin): {wrong} differ, {by_chance} kept a port by chance"
        )
    }
}

/// Tells whether the answer comes from the client itself.
fn is_hairpin(flow: &Flow, exchange: &Exchange) -> bool {
    let Some(Outcome::Deliver(delivery)) = &exchange.outcome else { return false };
    exchange.answer.is_some() && flow.source == Some(delivery.endpoint.ip())
}

fn runner(seed: u32) -> TestRunner {
    let settings = RunnerConfig {
        cases: clusters(),
        failure_persistence: None,
        max_shrink_iters: 200,
        rng_seed: RngSeed::Fixed(seed.into()),
        ..RunnerConfig::default()
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(settings, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}
