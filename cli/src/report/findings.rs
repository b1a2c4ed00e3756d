//! What `sim check` found, for people, programs and CI.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use kps_compare::lint::{Finding, Lint, Witness};
use kps_model::{Place, Severity};
use serde_json::{Value, json};

use super::junit::Case;
use super::style::{BAD, NAME, PLAIN, WARNING};

/// How many names of nodes are written out.
const MOST_NODES: usize = 3;

/// How many findings of a lint are written out.
const MOST_FINDINGS: usize = 20;

/// How many outcomes of a packet are written out.
const MOST_OUTCOMES: usize = 6;

/// Findings, with what their objects and nodes are compared with.
pub struct Checked<'a> {
    /// The findings, in order.
    pub findings: &'a [Finding],
    /// Where objects were read.
    pub places: &'a HashMap<String, Place>,
    /// All nodes that were looked at.
    pub nodes: &'a [String],
}

/// Lists every lint.
pub fn list() -> String {
    let mut text = String::new();
    for lint in Lint::ALL {
        let about = lint.about();
        let _ = writeln!(text, "{} ({})", about.id, about.severity);
        let _ = writeln!(text, "  {}", about.what);
        let _ = writeln!(text, "  Do: {}", about.advice);
        let _ = writeln!(text, "  See: {}", about.source);
    }
    text
}

impl Checked<'_> {
    /// Writes findings for people: the count first, then lint by lint, each explained once.
    pub fn text(&self) -> String {
        let mut text = self.summary();
        for findings in self.findings.chunk_by(|one, other| one.lint == other.lint) {
            let Some(first) = findings.first() else { continue };
            let about = first.lint.about();
            let style = style(about.severity);
            let _ = writeln!(
                text,
                "\n{style}{}{style:#} {NAME}{}{NAME:#}: {}",
                about.severity, about.id, about.what
            );
            for finding in findings.iter().take(MOST_FINDINGS) {
                text.push_str(&self.paragraph(finding));
            }
            match findings.len().saturating_sub(MOST_FINDINGS) {
                0 => {}
                more => {
                    let _ = writeln!(text, "  and {more} more, which --output json lists");
                }
            }
            let _ = writeln!(text, "  do: {}", about.advice);
        }
        text
    }

    fn paragraph(&self, finding: &Finding) -> String {
        let objects: Vec<String> = finding.objects.iter().map(|name| self.placed(name)).collect();
        let mut text = match objects.split_last() {
            None => format!("  {}\n", finding.detail),
            Some((last, others)) => {
                let others = others.iter().flat_map(|name| ["  ", name, "\n"]);
                format!("{}  {last}: {}\n", others.collect::<String>(), finding.detail)
            }
        };
        if let Some(nodes) = self.on_nodes(finding) {
            let _ = writeln!(text, "    {nodes}");
        }
        text.extend(finding.witness.iter().map(|witness| self.shown(finding, witness)));
        text
    }

    /// Returns findings for programs.
    pub fn json(&self) -> Value {
        let findings: Vec<Value> = self.findings.iter().map(|finding| self.one(finding)).collect();
        json!({ "nodes": self.nodes, "findings": findings })
    }

    /// Returns a case for each lint, with the findings as its failures.
    pub fn cases(&self) -> Vec<Case> {
        let mut by_lint: BTreeMap<Lint, Vec<String>> = BTreeMap::new();
        for finding in self.findings {
            let objects: Vec<String> = finding.objects.iter().map(|o| self.placed(o)).collect();
            let mut text = format!("{}: {}\n", objects.join(", "), finding.detail);
            if let Some(nodes) = self.on_nodes(finding) {
                let _ = writeln!(text, "{nodes}");
            }
            text.extend(finding.witness.iter().map(|witness| self.shown(finding, witness)));
            by_lint.entry(finding.lint).or_default().push(text);
        }
        let case = |lint: &Lint| {
            let about = lint.about();
            let told = by_lint.remove(lint).unwrap_or_default();
            let is_note = about.severity == Severity::Note;
            let (failures, notes) = if is_note { (Vec::new(), told) } else { (told, Vec::new()) };
            Case { name: about.id.to_owned(), message: about.what.to_owned(), failures, notes }
        };
        Lint::ALL.iter().map(case).collect()
    }

    fn summary(&self) -> String {
        let count = |severity| {
            let all = self.findings.iter();
            all.filter(|finding| finding.lint.about().severity == severity).count()
        };
        let nodes = match self.nodes {
            [only] => format!("node {only}"),
            many => counted(many.len(), "node"),
        };
        let counts = [Severity::Error, Severity::Warning, Severity::Note]
            .map(|severity| counted(count(severity), &severity.to_string()));
        format!("{} on {nodes}\n", counts.join(", "))
    }

    fn placed(&self, object: &str) -> String {
        match self.places.get(object) {
            Some(place) => format!("{place}: {object}"),
            None => object.to_owned(),
        }
    }

    /// Returns on which nodes it is so, if it is about nodes and there are several.
    fn on_nodes(&self, finding: &Finding) -> Option<String> {
        if finding.nodes.is_empty() || self.nodes.len() < 2 {
            return None;
        }
        let (some, all) = (finding.nodes.len(), self.nodes.len());
        let absent = || self.nodes.iter().filter(|node| !finding.nodes.contains(node));
        Some(match all - some.min(all) {
            0 => format!("on all {all} nodes"),
            few @ 1..=MOST_NODES if some > MOST_NODES => {
                format!("on {some} of {all} nodes: all but {}", listed(absent(), few))
            }
            _ => format!("on {some} of {all} nodes: {}", listed(finding.nodes.iter(), some)),
        })
    }

    /// Writes a packet, with the node that it is sent to if there are several.
    fn shown(&self, finding: &Finding, witness: &Witness) -> String {
        let node = finding.nodes.first().filter(|_| self.nodes.len() > 1);
        let node = node.map(|node| format!(" on {node}")).unwrap_or_default();
        let mut text = format!("    packet{node}: {}\n", witness.flow);
        for (outcome, share) in witness.outcomes.iter().take(MOST_OUTCOMES) {
            let _ = writeln!(text, "      {share}: {outcome}");
        }
        match witness.outcomes.len().saturating_sub(MOST_OUTCOMES) {
            0 => {}
            more => {
                let _ = writeln!(text, "      and {more} more");
            }
        }
        if let Some(rule) = &witness.decided {
            let _ = writeln!(text, "    decided by {rule}");
        }
        text
    }

    fn one(&self, finding: &Finding) -> Value {
        let about = finding.lint.about();
        let object = |name: &String| {
            let place = self.places.get(name);
            json!({
                "name": name,
                "file": place.map(|place| &place.source),
                "line": place.and_then(|place| place.line),
            })
        };
        let witness = finding.witness.as_ref().map(|witness| {
            let outcomes = witness.outcomes.iter().map(|(outcome, share)| {
                json!({ "outcome": outcome.to_string(), "share": share.to_string() })
            });
            json!({ "flow": witness.flow.to_string(), "outcomes": outcomes.collect::<Vec<_>>(), "decided_by": witness.decided })
        });
        json!({
            "lint": about.id,
            "severity": about.severity.to_string(),
            "detail": finding.detail,
            "objects": finding.objects.iter().map(object).collect::<Vec<_>>(),
            "nodes": finding.nodes,
            "witness": witness,
            "what": about.what,
            "advice": about.advice,
            "source": about.source,
        })
    }
}

fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Lists the first names of so many.
fn listed<'n>(names: impl Iterator<Item = &'n String>, number: usize) -> String {
    let first: Vec<&str> = names.take(MOST_NODES).map(String::as_str).collect();
    match number.saturating_sub(MOST_NODES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn style(severity: Severity) -> anstyle::Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => WARNING,
        Severity::Note => PLAIN,
    }
}
