//! A report for people who read a terminal.

use std::fmt::Write;

use anstyle::Style;
use kps_compare::diff::{Group, Remedy, Shown};
use kps_compare::difference::Risk;
use kps_flow::Outcome;
use num_rational::BigRational;

use super::{Migration, counted, risk_word, services};
use crate::report::bars::readable;
use crate::report::style::{BAD, GOOD, NAME, PLAIN, WARNING};

/// How many names of Services are written out.
const MOST_SERVICES: usize = 5;
/// How many outcomes of a side are written out.
const MOST_OUTCOMES: usize = 4;

impl Migration<'_> {
    /// Writes the report: the verdict first, then what differs by cause, the worst first.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let style = if self.report.has_findings() { BAD } else { GOOD };
        let _ = writeln!(out, "{style}{}{style:#}", self.verdict());
        let _ = writeln!(out, "{}", self.sides());
        for unexplained in &self.report.unexplained {
            let _ = writeln!(
                out,
                "\n{BAD}unexplained{BAD:#} {}: no documented difference",
                unexplained.place.kind
            );
            self.tell_packet(&mut out, &Shown::of(&unexplained.difference));
        }
        let (shown, beyond): (Vec<&Group>, Vec<&Group>) =
            self.report.groups.iter().partition(|group| group.is_in_packets());
        for group in shown {
            self.tell_group(&mut out, group);
        }
        if !beyond.is_empty() {
            let _ = writeln!(out, "\n{NAME}Beyond single packets{NAME:#}");
            for group in beyond {
                self.tell_group(&mut out, group);
            }
        }
        self.tell_limits(&mut out);
        out
    }

    /// Says what is compared.
    fn sides(&self) -> String {
        let side = |setup: &kps_compare::diff::Setup, found: bool| {
            let found = if found { ", as dumped" } else { "" };
            format!("{} {}{found}", setup.mode(), setup.version)
        };
        let [from, to] = self.found;
        format!("from {} to {}", side(self.left, from), side(self.right, to))
    }

    fn tell_group(&self, out: &mut String, group: &Group) {
        let about = group.cause.about();
        let style = style(group.risk);
        let word = risk_word(group.risk);
        let _ = writeln!(
            out,
            "\n{style}{word}{style:#} {NAME}{}{NAME:#}: {}",
            group.cause, about.title
        );
        if group.is_in_packets() || !group.facts.is_empty() || !group.ports.is_empty() {
            let _ = writeln!(out, "  {}", about.meaning);
        }
        let _ = writeln!(out, "  see: {}", about.source);
        self.tell_extent(out, group);
        for fact in &group.facts {
            let _ = writeln!(out, "  here: {fact}");
        }
        if let Some(difference) = &group.witness {
            self.tell_packet(out, &Shown::of(difference));
            self.tell_rules(out, group);
        }
        for (when, what) in [("before", about.before), ("after", about.after)] {
            if what != "Nothing." {
                let _ = writeln!(out, "  {when}: {what}");
            }
        }
        tell_settings(out, group);
    }

    fn tell_extent(&self, out: &mut String, group: &Group) {
        let services = services(group);
        if !services.is_empty() {
            let more = if services.len() > MOST_SERVICES { ", ..." } else { "" };
            let shown = services.iter().take(MOST_SERVICES).map(String::as_str);
            let shown = shown.collect::<Vec<_>>().join(", ");
            let counted = counted(services.len(), "Service", "Services");
            let _ = writeln!(out, "  {counted}: {shown}{more}");
        }
        if let Some(nodes) = self.on_nodes(&group.nodes) {
            let _ = writeln!(out, "  {nodes}");
        }
    }

    fn tell_packet(&self, out: &mut String, shown: &Shown) {
        let _ = writeln!(out, "  packet: {}", shown.flow);
        for (name, outcomes) in self.names().iter().zip([&shown.left, &shown.right]) {
            tell_outcomes(out, name, outcomes);
        }
    }

    fn tell_rules(&self, out: &mut String, group: &Group) {
        let Some(told) = self.stories.of(group.cause) else { return };
        for (name, told) in self.names().iter().zip(told) {
            if told.deciding.is_empty() {
                let _ = writeln!(out, "  rules of {name}: none has a part in it");
                continue;
            }
            let _ = writeln!(out, "  rules of {name}:");
            for line in &told.deciding {
                let _ = writeln!(out, "    {line}");
            }
        }
    }

    fn tell_limits(&self, out: &mut String) {
        for undecided in &self.report.undecided {
            let reasons = undecided.reasons.join("; ");
            let _ = writeln!(out, "\n{WARNING}undecided{WARNING:#}: {}: {reasons}", undecided.flow);
        }
        if self.report.assumptions.is_empty() {
            return;
        }
        let _ = writeln!(out, "\nThis rests on:");
        for assumed in &self.report.assumptions {
            let _ = writeln!(out, "  {assumed}");
        }
    }
}

fn tell_settings(out: &mut String, group: &Group) {
    for Remedy { advice, removes, of, left_over } in &group.remedies {
        let _ = writeln!(
            out,
            "  {GOOD}remedy{GOOD:#}: {advice} (tried: {removes} of {of} classes of packets differ no longer, \
             {left_over} of any cause still do)"
        );
    }
    if let (Some(setting), true) = (group.cause.about().setting, group.remedies.is_empty()) {
        let _ = writeln!(out, "  setting: {setting}");
    }
}

fn tell_outcomes(out: &mut String, name: &str, outcomes: &[(Outcome, BigRational)]) {
    if let [(only, _)] = outcomes {
        let _ = writeln!(out, "    {name}: {only}");
        return;
    }
    let _ = writeln!(out, "    {name}:");
    for (outcome, share) in outcomes.iter().take(MOST_OUTCOMES) {
        let _ = writeln!(out, "      {}: {outcome}", readable(share));
    }
    if let Some(more) = outcomes.len().checked_sub(MOST_OUTCOMES).filter(|more| *more > 0) {
        let _ = writeln!(out, "      and {more} more");
    }
}

fn style(risk: Risk) -> Style {
    match risk {
        Risk::Breaks => BAD,
        Risk::Opens => WARNING,
        Risk::ChangesBalance => NAME,
        Risk::Harmless => PLAIN,
    }
}
