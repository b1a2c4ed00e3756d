//! A report for programs. The form is documented in `docs/drift.schema.json`, which a test makes of
//! these types.

use std::collections::BTreeMap;

use kps_compare::drift::{self, Drift, Outcomes, Setting};
use kps_flow::{Flow, Outcome};
use serde::Serialize;

/// What nodes have against what they should have.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Document {
    /// The nodes that were looked at.
    pub nodes: Vec<Node>,
    /// The nodes whose dumps cannot be read.
    pub unread: Vec<String>,
    /// What is not as it should be.
    pub findings: Vec<Finding>,
}

/// What a node's dump was taken for, and how much of it is off.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Node {
    /// The node.
    pub name: String,
    /// The mode that fits best: iptables, nftables or ipvs.
    pub mode: &'static str,
    /// The releases that fit alike, the likeliest first.
    pub kube_versions: Vec<String>,
    /// Fields of the KubeProxyConfiguration that were found in the dump.
    pub settings_found: BTreeMap<String, String>,
    /// Fields that would fit better than those given.
    pub settings_suggested: BTreeMap<String, String>,
    /// How many chains, rules, elements and servers there should be.
    pub expected: usize,
    /// How many of them are missing or otherwise, with those that are too many.
    pub off: usize,
    /// What else was tried, best first.
    pub others: Vec<Other>,
    /// How many ServicePorts the node has.
    pub services: usize,
    /// The ServicePorts for which a packet is treated otherwise.
    pub affected: Vec<String>,
    /// How many packets were asked.
    pub packets: usize,
    /// With all packets: how many classes of them were compared.
    pub classes: Option<u64>,
    /// With all packets: packets of the classes that cannot be decided, with the reasons.
    pub undecided: Vec<Undecided>,
    /// Files that the dump lacks: what those of the mode would show is taken to be as it should be.
    pub files_missing: Vec<&'static str>,
}

/// A mode and release that does not fit as well.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Other {
    /// The mode.
    pub mode: &'static str,
    /// The release.
    pub kube_version: String,
    /// How much would be off.
    pub off: usize,
}

/// A packet of which the outcome is not known.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Undecided {
    /// Who sends it where.
    pub flow: String,
    /// Why.
    pub why: String,
}

/// Something that is not as it should be.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// missing, stale, changed, foreign or left over.
    pub kind: &'static str,
    /// Of what is left over: the mode that it is of.
    pub mode: Option<&'static str>,
    /// The ServicePort, or the Service of several, that it belongs to; null for what all share or
    /// nobody has.
    pub service: Option<String>,
    /// The nodes on which it is so; lines and witnesses are those of the first.
    pub nodes: Vec<String>,
    /// The lines of dumps, and those that should be there.
    pub lines: Vec<Line>,
    /// What it changes, one for each ServicePort, kind of address and class of clients.
    pub effects: Vec<Effect>,
}

/// A line that is not as it should be.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Line {
    /// missing, extra or changed.
    pub change: &'static str,
    /// The line with its place.
    pub text: String,
}

/// What becomes otherwise of the packets of a class.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Effect {
    /// The ServicePort that packets are for; `no Service` if nobody says.
    pub service: String,
    /// cluster IP, load balancer IP, external IP, node port, port of no Service, stale address,
    /// contested address or address of no Service.
    pub frontend: &'static str,
    /// Who sends them.
    pub client: String,
    /// A witness: one packet of the class.
    pub flow: String,
    /// What should become of it.
    pub expected: Vec<Share>,
    /// What does.
    pub found: Vec<Share>,
    /// The story of the witness, if it was asked for.
    pub stories: Option<Sides>,
}

/// An outcome with its exact share.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Share {
    /// What happens.
    pub outcome: String,
    /// A fraction, such as `1/3`; 1 is certain.
    pub share: String,
}

/// A story on both sides, as `sim trace` tells it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sides {
    /// As it should be.
    pub should_be: String,
    /// As it is.
    pub is: String,
}

impl Node {
    /// Sums up the drift of a node.
    pub fn of(node: &str, drift: &Drift, missing: &[&'static str]) -> Node {
        let fit = &drift.fit;
        let other = |other: &drift::Other| Other {
            mode: other.mode.as_str(),
            kube_version: other.version.to_string(),
            off: other.off,
        };
        Node {
            name: node.to_owned(),
            mode: fit.mode.as_str(),
            kube_versions: fit.versions.iter().map(ToString::to_string).collect(),
            settings_found: settings(&fit.settings),
            settings_suggested: settings(&fit.suggested),
            expected: fit.expected,
            off: fit.off,
            others: fit.others.iter().map(other).collect(),
            services: drift.services.len(),
            affected: drift.affected().into_iter().map(str::to_owned).collect(),
            packets: drift.packets,
            classes: drift.proof.as_ref().map(|proof| proof.classes),
            undecided: drift
                .proof
                .iter()
                .flat_map(|proof| &proof.undecided)
                .map(undecided)
                .collect(),
            files_missing: missing.to_vec(),
        }
    }
}

impl Effect {
    /// Writes an effect.
    pub fn of(effect: &drift::Effect, stories: Option<Sides>) -> Effect {
        Effect {
            service: effect.service.clone(),
            frontend: effect.frontend,
            client: effect.class.to_string(),
            flow: effect.flow.to_string(),
            expected: shares(&effect.expected),
            found: shares(&effect.found),
            stories,
        }
    }
}

fn undecided((flow, why): &(Flow, String)) -> Undecided {
    Undecided { flow: flow.to_string(), why: why.clone() }
}

fn settings(settings: &[Setting]) -> BTreeMap<String, String> {
    settings.iter().map(|setting| (setting.field.clone(), setting.value.clone())).collect()
}

fn shares(outcomes: &Outcomes) -> Vec<Share> {
    let share = |(outcome, share): &(Outcome, num_rational::BigRational)| Share {
        outcome: outcome.to_string(),
        share: share.to_string(),
    };
    outcomes.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::Document;

    /// `BLESS=1 cargo test` writes the file anew.
    #[test]
    fn the_documented_schema_is_that_of_the_types() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/drift.schema.json");
        let schema = schemars::schema_for!(Document);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
}
