//! A report for programs. The form is documented in `docs/diff.schema.json`, which a test makes of
//! these types.

use kps_compare::diff::{Group, Setup, Shown};
use kps_flow::Outcome;
use num_rational::BigRational;
use serde::Serialize;

use super::{Migration, risk_word, row_label};

/// What a move changes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Document {
    /// The verdict in a line.
    pub verdict: String,
    /// What is moved from.
    pub from: Side,
    /// What is moved to.
    pub to: Side,
    /// The nodes that were looked at.
    pub nodes: Vec<String>,
    /// How many classes of packets were compared, on all nodes.
    pub classes: u64,
    /// How many of them differ.
    pub differing: u64,
    /// What differs, by cause: first what single packets show, the worst first.
    pub differences: Vec<Difference>,
    /// Packets that fare differently, and no documented difference says why.
    pub unexplained: Vec<Packet>,
    /// Packets of which the outcome is not known on one side.
    pub undecided: Vec<Undecided>,
    /// Syncs that fail.
    pub failures: Vec<String>,
    /// What the answer rests on.
    pub assumptions: Vec<String>,
}

/// One side of a move.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Side {
    /// iptables, nftables or ipvs.
    pub mode: String,
    /// The release of kube-proxy.
    pub version: String,
    /// Whether the rules are those of a dump.
    pub dumped: bool,
}

/// What differs for one cause.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// The stable id: D01 to D41, the name of a setting, `release` or `rules`.
    pub id: String,
    /// A few words.
    pub title: &'static str,
    /// breaks, opens, changes balance or harmless.
    pub risk: &'static str,
    /// What each mode does, or what the setting does.
    pub meaning: &'static str,
    /// Where it is documented.
    pub source: &'static str,
    /// What to do before moving.
    pub before: &'static str,
    /// What to look at after moving.
    pub after: &'static str,
    /// The Service ports that it touches, each with its protocol.
    pub ports: Vec<String>,
    /// How many classes of packets differ by it; 0 if no single packet shows it.
    pub classes: u64,
    /// The nodes on which it is so.
    pub nodes: Vec<String>,
    /// A packet that shows it.
    pub witness: Option<Packet>,
    /// What is seen of it elsewhere than in packets.
    pub facts: Vec<String>,
    /// The setting that is said to remove it.
    pub setting: Option<&'static str>,
    /// Settings that were tried and remove it.
    pub remedies: Vec<Remedy>,
}

/// A packet with what becomes of it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Packet {
    /// Who sends it where.
    pub flow: String,
    /// What the side to move from does.
    pub from: Vec<Share>,
    /// What the side to move to does.
    pub to: Vec<Share>,
    /// The rules that decide there, where packets go one way of several the first.
    pub from_rules: Vec<String>,
    /// The same on the other side.
    pub to_rules: Vec<String>,
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

/// A packet of which the outcome is not known.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Undecided {
    /// Who sends it where.
    pub flow: String,
    /// Why.
    pub reasons: Vec<String>,
}

/// A setting that removes a difference.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Remedy {
    /// What to set, and where.
    pub advice: String,
    /// How many classes of packets it takes the difference from.
    pub removes: u64,
    /// Of how many.
    pub of: u64,
    /// How many classes differ then, of whatever cause.
    pub left_over: u64,
}

impl Migration<'_> {
    /// Writes the report.
    ///
    /// # Errors
    /// If it cannot be written, which no report does.
    pub fn json(&self) -> std::io::Result<String> {
        Ok(serde_json::to_string_pretty(&self.document())? + "\n")
    }

    pub(super) fn document(&self) -> Document {
        let report = self.report;
        let undecided = report
            .undecided
            .iter()
            .map(|it| Undecided { flow: it.flow.to_string(), reasons: it.reasons.clone() });
        Document {
            verdict: self.verdict(),
            from: side(self.left, self.found[0]),
            to: side(self.right, self.found[1]),
            nodes: report.nodes.clone(),
            classes: report.classes,
            differing: report.differing,
            differences: report.groups.iter().map(|group| self.difference(group)).collect(),
            unexplained: report
                .unexplained
                .iter()
                .map(|it| packet(&Shown::of(&it.difference)))
                .collect(),
            undecided: undecided.collect(),
            failures: report.failures.clone(),
            assumptions: report.assumptions.clone(),
        }
    }

    fn difference(&self, group: &Group) -> Difference {
        let about = group.cause.about();
        let witness = group.witness.as_ref().map(|difference| {
            let shown = Shown::of(difference);
            let rules = self.stories.of(group.cause);
            let rules =
                |side: usize| rules.map(|told| told[side].deciding.clone()).unwrap_or_default();
            Packet { from_rules: rules(0), to_rules: rules(1), ..packet(&shown) }
        });
        let remedy = |it: &kps_compare::diff::Remedy| Remedy {
            advice: it.advice.clone(),
            removes: it.removes,
            of: it.of,
            left_over: it.left_over,
        };
        Difference {
            id: group.cause.to_string(),
            title: about.title,
            risk: risk_word(group.risk),
            meaning: about.meaning,
            source: about.source,
            before: about.before,
            after: about.after,
            ports: group.ports.iter().map(row_label).collect(),
            classes: group.classes,
            nodes: group.nodes.clone(),
            witness,
            facts: group.facts.clone(),
            setting: about.setting,
            remedies: group.remedies.iter().map(remedy).collect(),
        }
    }
}

fn side(setup: &Setup, dumped: bool) -> Side {
    Side { mode: setup.mode().to_string(), version: setup.version.to_string(), dumped }
}

fn packet(shown: &Shown) -> Packet {
    let shares = |outcomes: &[(Outcome, BigRational)]| {
        let share = |(outcome, share): &(Outcome, BigRational)| Share {
            outcome: outcome.to_string(),
            share: share.to_string(),
        };
        outcomes.iter().map(share).collect()
    };
    Packet {
        flow: shown.flow.to_string(),
        from: shares(&shown.left),
        to: shares(&shown.right),
        from_rules: Vec::new(),
        to_rules: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    /// `BLESS=1 cargo test` writes the file anew.
    #[test]
    fn the_documented_schema_is_that_of_the_types() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/diff.schema.json");
        let schema = schemars::schema_for!(Document);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
}
