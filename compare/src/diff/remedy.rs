//! Settings that remove a difference, each tried before it is told.

use std::collections::HashSet;
use std::sync::Arc;

use kps_flow::Flow;
use kps_model::config::DetectLocal;
use kps_model::{Config, Mode};

use super::cause::Cause;
use super::compare::Move;
use super::proof::{Difference, Proof};
use super::setup::{Installed, Setup};
use super::trail::{Causes, Trail};
use crate::difference::Id;

/// A setting that removes a difference or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// What to set, where.
    pub advice: String,
    /// Of how many classes of packets the difference goes.
    pub removes: u64,
    /// How many there were.
    pub of: u64,
    /// How many classes of packets, of whatever cause, differ then.
    pub left_over: u64,
}

/// A change of one side or of both.
struct Change {
    advice: String,
    left: Option<Config>,
    right: Option<Config>,
}

/// Tries what may remove the differences of a cause, and returns what does. `differing` is how many
/// classes of packets differ without it.
pub(super) fn of(
    moved: &Move<'_>,
    cause: Cause,
    differences: &[Arc<Difference>],
    differing: u64,
) -> Vec<Remedy> {
    let changes = changes(moved, cause).into_iter();
    changes.filter_map(|change| attempt(moved, cause, change, differences, differing)).collect()
}

/// Returns what may remove a difference.
fn changes(moved: &Move<'_>, cause: Cause) -> Vec<Change> {
    let (left, right) = (&moved.left.setup, &moved.right.setup);
    match cause {
        Cause::Documented(Id::D01 | Id::D02) => node_port_addresses(left, right),
        Cause::Documented(Id::D03) => localhost_node_ports(left, right),
        Cause::Documented(Id::D21) => detector(left, right),
        Cause::Setting(setting) => {
            let mut config = right.config.clone();
            setting.take(&mut config, &left.config);
            let value = setting.value(&left.config);
            let advice = format!("leave {} at {value}", setting.name());
            vec![Change { advice, left: None, right: Some(config) }]
        }
        _ => Vec::new(),
    }
}

fn node_port_addresses(left: &Setup, right: &Setup) -> Vec<Change> {
    let with = |setup: &Setup, words: &[&str]| Config {
        node_port_addresses: words.iter().map(|word| (*word).to_owned()).collect(),
        ..setup.config.clone()
    };
    let all = ["0.0.0.0/0", "::/0"];
    let primary = ["primary"];
    let set = |words: &[&str], when: &str| {
        format!("set nodePortAddresses to [{}] {when}", words.join(", "))
    };
    match (left.mode(), right.mode()) {
        (Mode::Nftables, _) => vec![
            Change {
                advice: set(&primary, "in the new mode"),
                left: None,
                right: Some(with(right, &primary)),
            },
            Change {
                advice: set(&all, "before moving"),
                left: Some(with(left, &all)),
                right: None,
            },
        ],
        _ => vec![
            Change {
                advice: set(&all, "in the new mode"),
                left: None,
                right: Some(with(right, &all)),
            },
            Change {
                advice: set(&primary, "before moving"),
                left: Some(with(left, &primary)),
                right: None,
            },
        ],
    }
}

fn localhost_node_ports(left: &Setup, right: &Setup) -> Vec<Change> {
    let off = |setup: &Setup| {
        let config = Config { localhost_node_ports: false, ..setup.config.clone() };
        (setup.mode() == Mode::Iptables).then_some(config)
    };
    let when = if left.mode() == Mode::Iptables { "before moving" } else { "in the new mode" };
    let advice = format!("set iptables.localhostNodePorts to false {when}");
    vec![Change { advice, left: off(left), right: off(right) }]
}

fn detector(left: &Setup, right: &Setup) -> Vec<Change> {
    let with =
        |setup: &Setup| Config { detect_local: DetectLocal::NodeCidr, ..setup.config.clone() };
    let advice = "set detectLocalMode to NodeCIDR in both modes".to_owned();
    vec![Change { advice, left: Some(with(left)), right: Some(with(right)) }]
}

/// Compares the packets of both sides anew after a change.
fn attempt(
    moved: &Move<'_>,
    cause: Cause,
    change: Change,
    differences: &[Arc<Difference>],
    differing: u64,
) -> Option<Remedy> {
    let changed = |side: &Installed, config: Option<Config>| {
        let config = config.filter(|_| !side.is_found)?;
        let setup = Setup { config, ..side.setup.clone() };
        Some(setup.install(moved.cluster, moved.node))
    };
    let left = changed(moved.left, change.left);
    let right = changed(moved.right, change.right);
    if left.is_none() && right.is_none() {
        return None;
    }
    let tried = Move {
        left: left.as_ref().unwrap_or(moved.left),
        right: right.as_ref().unwrap_or(moved.right),
        ..*moved
    };
    let proof = tried.proof();
    let (of, left_over) = (differences.len() as u64, proof.differences.len() as u64);
    let removes = of.saturating_sub(remaining(&tried, cause, differences, &proof));
    // What moves differences elsewhere is no remedy.
    let helps = removes > 0 && left_over < differing;
    helps.then_some(Remedy { advice: change.advice, removes, of, left_over })
}

/// Returns how many of the packets that differ by a cause still do.
fn remaining(
    tried: &Move<'_>,
    cause: Cause,
    differences: &[Arc<Difference>],
    proof: &Proof,
) -> u64 {
    let trail = Trail::new(tried.cluster, tried.node, tried.left, tried.right);
    let causes = Causes::new(tried.left, &trail, tried.right);
    let before: HashSet<&Flow> = differences.iter().map(|difference| &difference.flow).collect();
    let still = proof.differences.iter().filter(|after| before.contains(&after.flow));
    still.filter(|after| causes.of(after).contains(&cause)).count() as u64
}
