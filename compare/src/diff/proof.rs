//! What comes of comparing two sides over many packets.

use kps_flow::{Distribution, Flow, Outcome};

/// How two sides compare.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    /// Packets with which they do not do the same.
    pub differences: Vec<Difference>,
    /// Packets for which it is not known.
    pub undecided: Vec<Undecided>,
    /// What the answer rests on.
    pub assumptions: Vec<String>,
    /// How many classes of packets were compared.
    pub classes: u64,
}

/// A class of packets with which two sides do not do the same.
#[derive(Debug, Clone)]
pub struct Difference {
    /// A packet of it.
    pub flow: Flow,
    /// What the left side does.
    pub left: Distribution<Outcome>,
    /// What the right side does.
    pub right: Distribution<Outcome>,
}

/// A class of packets of which one side's outcome is not known.
#[derive(Debug, Clone)]
pub struct Undecided {
    /// A packet of it.
    pub flow: Flow,
    /// Why.
    pub reasons: Vec<String>,
}
