//! What comes of comparing two sides over many packets.

use ipnet::IpNet;
use kps_flow::{ClientClass, Distribution, Flow, Outcome};
use kps_sim::prove;

use super::same;

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

impl Proof {
    /// Takes a proof over all packets, and tells the pods of other nodes by the nodes' `pods` ranges
    /// from clients outside, which rules cannot.
    pub(super) fn of(proof: prove::Proof, pods: &[IpNet]) -> Proof {
        let told = |flow: Flow| {
            let is_pod = flow.source.is_some_and(|ip| pods.iter().any(|range| range.contains(&ip)));
            let is_outside = flow.client == ClientClass::Outside;
            let client = if is_outside && is_pod { ClientClass::RemotePod } else { flow.client };
            Flow { client, ..flow }
        };
        // An address of masquerading that one side is not sure of is no difference.
        let differences = proof.differences.into_iter().filter(|d| !same(&d.left, &d.right));
        let difference =
            |d: prove::Difference| Difference { flow: told(d.flow), left: d.left, right: d.right };
        let undecided =
            |u: prove::Undecided| Undecided { flow: told(u.flow), reasons: vec![u.why] };
        Proof {
            differences: differences.map(difference).collect(),
            undecided: proof.undecided.into_iter().map(undecided).collect(),
            assumptions: proof.assumptions,
            classes: proof.classes,
        }
    }
}
