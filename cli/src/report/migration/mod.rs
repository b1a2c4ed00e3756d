//! What `sim diff` found, for people, programs, browsers and CI.

mod cases;
mod document;
mod page;
mod stories;
mod text;

use std::fmt::Write;

use kps_compare::diff::{Group, Report, Row, Setup};
use kps_compare::difference::Risk;
use kps_model::PortKey;

pub use stories::Stories;

/// A report with the sides that it compares and the stories of its packets.
pub struct Migration<'a> {
    /// What is moved from.
    pub left: &'a Setup,
    /// What is moved to.
    pub right: &'a Setup,
    /// Whether each side's rules are those of a dump.
    pub found: [bool; 2],
    /// What differs.
    pub report: &'a Report,
    /// What happens to the packets that show it.
    pub stories: &'a Stories,
}

/// The risks with the words that go on with a number of kinds of difference.
const RISKS: [(Risk, &str, &str); 4] = [
    (Risk::Breaks, "breaks", "break"),
    (Risk::Opens, "opens", "open"),
    (Risk::ChangesBalance, "changes balance", "change balance"),
    (Risk::Harmless, "harmless", "harmless"),
];

/// Returns the word for a risk.
fn risk_word(risk: Risk) -> &'static str {
    RISKS.iter().find(|(known, ..)| *known == risk).map_or("", |(_, word, _)| word)
}

/// Writes a row's ServicePort, with its protocol and, for IPv6, the family.
fn row_label(row: &Row) -> String {
    let PortKey { protocol, .. } = &row.key;
    let family = if row.family == kps_flow::Family::V6 { " IPv6" } else { "" };
    format!("{} {protocol}{family}", row.key)
}

/// Writes a number with the word that goes with it.
fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns the Services of a group, each once.
fn services(group: &Group) -> Vec<String> {
    let name = |row: &Row| format!("{}/{}", row.key.namespace, row.key.name);
    let mut names: Vec<String> = group.ports.iter().map(name).collect();
    names.dedup();
    names
}

impl Migration<'_> {
    /// Returns the verdict in a line.
    fn verdict(&self) -> String {
        let report = self.report;
        let nodes = match report.nodes.as_slice() {
            [only] => format!("node {only}"),
            many => format!("{} nodes", many.len()),
        };
        let shown: Vec<&Group> = report.groups.iter().filter(|g| g.is_in_packets()).collect();
        if !report.has_findings() {
            let classes = report.classes;
            return format!("no difference in {classes} classes of packets on {nodes}");
        }
        let mut counts: Vec<String> = Vec::new();
        for (risk, _, words) in RISKS {
            let count = shown.iter().filter(|group| group.risk == risk).count();
            if count > 0 {
                counts.push(format!("{count} {words}"));
            }
        }
        let rows = report.rows.keys().flatten().count();
        let mut line = format!(
            "{} of difference: {}; {} of {} classes of packets differ, {} of {rows} Service ports \
             are touched, on {nodes}",
            counted(shown.len(), "kind", "kinds"),
            counts.join(", "),
            report.differing,
            report.classes,
            report.touched(),
        );
        for (count, word) in
            [(report.unexplained.len(), "unexplained"), (report.undecided.len(), "undecided")]
        {
            if count > 0 {
                let _ = write!(line, "; {count} {word}");
            }
        }
        line
    }

    /// Names both sides so that they can be told apart in a word or two.
    fn names(&self) -> [String; 2] {
        let (left, right) = (self.left, self.right);
        if left.mode() != right.mode() {
            [left, right].map(|side| side.mode().to_string())
        } else if left.version != right.version {
            [left, right].map(|side| side.version.to_string())
        } else {
            ["before".to_owned(), "after".to_owned()]
        }
    }

    /// Returns on which nodes something is so, if there are several.
    fn on_nodes(&self, nodes: &[String]) -> Option<String> {
        let all = self.report.nodes.len();
        let more = if nodes.len() > 3 { ", ..." } else { "" };
        let named: Vec<&str> = nodes.iter().take(3).map(String::as_str).collect();
        let named = named.join(", ");
        (all > 1).then(|| format!("on {} of {all} nodes: {named}{more}", nodes.len()))
    }
}
