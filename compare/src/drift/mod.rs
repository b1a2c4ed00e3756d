//! What a node has against what it should have.
//!
//! ```text
//! objects --Expected, for each mode and release--> the one that fits the dump best
//!                                                         |
//! dump --parts: kube-proxy's own | left over | foreign    +--> Lines, each with its ServicePort
//!                         |                               |
//!                         +------> walks of packets ------+--> Effects --> Findings
//! ```
//!
//! Lines are compared with the order that kube-proxy leaves open left open. What they come to is
//! asked of packets: a packet of each client class for each address of each ServicePort goes
//! through the dump and through what is expected (module `packets`), and where the outcomes differ, the
//! parts of the dump are taken away one by one until it is plain which of them is to blame. On
//! request, a proof over all packets adds one of each class that differs.

mod effects;
mod expected;
mod findings;
mod fit;
mod leftovers;
mod lines;
mod merge;
mod owners;
mod packets;
mod parts;
mod settings;

use std::collections::BTreeSet;

use kps_flow::{ClientClass, Flow, Outcome};
use kps_model::{Cluster, Config, KubeVersion, Mode};
use kps_ruleset::NodeState;
use num_rational::BigRational;

pub use expected::{files, needed};
pub use findings::find;
pub use fit::{Fit, Other};
pub use lines::{Change, Line};
pub use merge::{Merged, Shared};
pub use settings::Setting;

/// What is held against what.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The objects.
    pub cluster: &'a Cluster,
    /// The name of the node.
    pub node: &'a str,
    /// The configurations that kube-proxy may run with, one a mode. Of several that fit alike, the
    /// first is taken.
    pub configs: &'a [Config],
    /// Whether the configurations are what should be.
    pub settings: Settings,
    /// The releases that it may be of, the likeliest first.
    pub versions: &'a [KubeVersion],
    /// What the node has.
    pub dump: &'a NodeState,
    /// The files that a dump may have and this one has not, such as `ip6tables-save.txt`: what
    /// they would show is taken to be as it should be.
    pub unseen: &'a [&'static str],
    /// Which packets are asked.
    pub packets: Packets,
}

/// Which packets are asked of a dump and of what should be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packets {
    /// Some of each class, biased to the constants of the rules.
    Sampled,
    /// These, and one of each class of packets that a proof over all packets finds to differ.
    All,
}

/// Where settings come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settings {
    /// They are given, and rules that others made are not as they should be.
    Given,
    /// They are not known, so those that fit the dump best are taken.
    Found,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// The mode, release and settings that fit best.
    pub fit: Fit,
    /// What the node should have.
    pub expected: NodeState,
    /// The dump with what it does not show, which is taken to be as it should be; `None` if it shows
    /// all.
    pub completed: Option<NodeState>,
    /// The ServicePorts that the node has, in order.
    pub services: Vec<String>,
    /// How many packets were asked.
    pub packets: usize,
    /// How many classes a proof over all packets looked at, and why it cannot decide some of them;
    /// `None` if packets are sampled.
    pub proof: Option<Proved>,
    /// What is not as it should be: by ServicePort, then what is not kube-proxy's.
    pub findings: Vec<Finding>,
}

/// A proof over all packets that open a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proved {
    /// How many classes there are.
    pub classes: u64,
    /// The packets of classes that cannot be decided, with the reasons.
    pub undecided: Vec<(Flow, String)>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// In which way.
    pub kind: Kind,
    /// The ServicePort that it is about; `None` for what all share.
    pub service: Option<String>,
    /// The lines of the dumps, and those that should be there.
    pub lines: Vec<Line>,
    /// What it changes for packets; empty if no packet that was asked is treated otherwise.
    pub effects: Vec<Effect>,
}

/// In which way something is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It should be there.
    Missing,
    /// It is kube-proxy's and should be gone.
    Stale,
    /// It is there and looks otherwise.
    Changed,
    /// Rules that are not kube-proxy's decide over packets to Services.
    Foreign,
    /// It is of kube-proxy in another mode.
    LeftOver(Mode),
}

/// What becomes otherwise of the packets of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The ServicePort that they are for.
    pub service: String,
    /// By what kind of address.
    pub frontend: &'static str,
    /// Who sends them.
    pub class: ClientClass,
    /// One of them: a witness.
    pub flow: Flow,
    /// What should become of it, with exact shares.
    pub expected: Outcomes,
    /// What does.
    pub found: Outcomes,
}

/// Outcomes with their exact shares, in order.
pub type Outcomes = Vec<(Outcome, BigRational)>;

impl Effect {
    /// Returns the kinds of what should become of packets.
    #[must_use]
    pub fn expected_kinds(&self) -> BTreeSet<&'static str> {
        kinds(&self.expected)
    }

    /// Returns the kinds of what becomes of packets.
    #[must_use]
    pub fn found_kinds(&self) -> BTreeSet<&'static str> {
        kinds(&self.found)
    }
}

fn kinds(outcomes: &Outcomes) -> BTreeSet<&'static str> {
    let kind = |outcome: &Outcome| match outcome {
        Outcome::Deliver(delivery) if delivery.source.is_rewritten() => "masqueraded",
        Outcome::Deliver(_) => "delivered",
        Outcome::Reject(_) => "refused",
        Outcome::Drop => "dropped",
        Outcome::Local => "local",
        Outcome::Pass(_) => "passed",
        Outcome::Unknown(_) => "unknown",
    };
    outcomes.iter().map(|(outcome, _)| kind(outcome)).collect()
}

impl Finding {
    /// Tells whether it is left over and changes nothing for any packet that was asked.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        matches!(self.kind, Kind::LeftOver(_)) && self.effects.is_empty()
    }

    /// Returns the ServicePorts whose packets are treated otherwise, each once, in order.
    #[must_use]
    pub fn services(&self) -> Vec<&str> {
        let services: BTreeSet<&str> = self.effects.iter().map(|e| e.service.as_str()).collect();
        services.into_iter().collect()
    }
}

impl Drift {
    /// Tells whether all there is to tell is what is left over and changes nothing.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        self.findings.iter().all(Finding::is_harmless)
    }

    /// Returns the ServicePorts for which a packet is treated otherwise, each once, in order.
    #[must_use]
    pub fn affected(&self) -> Vec<&str> {
        let services: BTreeSet<&str> = self.findings.iter().flat_map(Finding::services).collect();
        services.into_iter().collect()
    }
}
