//! One finding, told.

use std::fmt::Write;

use kps_compare::drift::{Change, Effect, Finding, Kind, Line};

use super::document::{self, Sides};
use super::groups::{Group, groups};
use super::{MOST, Stories, listed, tell_more};
use crate::report::bars::percent;
use crate::report::style::{BAD, NAME, WARNING};

/// A finding, with what it is told with.
pub struct Told<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Tells stories of its witnesses.
    pub stories: Option<&'a Stories<'a>>,
    /// Says on which nodes it is so.
    pub place: Option<String>,
}

impl Told<'_> {
    /// Writes for people.
    pub fn text(&self) -> String {
        let finding = self.finding;
        let style = if finding.effects.is_empty() { WARNING } else { BAD };
        let about = match &finding.service {
            Some(service) => format!("Service {service}"),
            None => whose(finding.kind),
        };
        let mut text = format!("{style}{}{style:#} {NAME}{about}{NAME:#}\n", word(finding.kind));
        if let Some(place) = &self.place {
            let _ = writeln!(text, "  {place}");
        }
        for line in finding.lines.iter().take(MOST) {
            let _ = writeln!(text, "  {}", line.text);
        }
        tell_more(&mut text, "  ", finding.lines.len());
        if finding.effects.is_empty() {
            text.push_str("  no packet that was asked is treated otherwise\n");
        }
        for group in groups(&finding.effects) {
            self.tell_group(&mut text, &group);
        }
        text
    }

    /// Returns it for programs.
    pub fn document(&self, nodes: &[String]) -> document::Finding {
        let finding = self.finding;
        let mode = match finding.kind {
            Kind::LeftOver(mode) => Some(mode.as_str()),
            _ => None,
        };
        let line =
            |line: &Line| document::Line { change: change(line.change), text: line.text.clone() };
        let effect = |effect: &Effect| {
            let stories = self.stories.map(|stories| stories.of(effect));
            document::Effect::of(effect, stories)
        };
        document::Finding {
            kind: word(finding.kind),
            mode,
            service: finding.service.clone(),
            nodes: nodes.to_vec(),
            lines: finding.lines.iter().map(line).collect(),
            effects: finding.effects.iter().map(effect).collect(),
        }
    }

    fn tell_group(&self, text: &mut String, group: &Group<'_>) {
        let Some(witness) = group.effects.first() else { return };
        let classes = listed(group.classes());
        let services = group.services();
        let whose = match services.as_slice() {
            [only] => only.clone(),
            many => format!("{} ServicePorts ({})", many.len(), listed(many.to_vec())),
        };
        let _ = writeln!(text, "  {whose} by {}, from {classes}", witness.frontend);
        let _ = writeln!(text, "    {}", witness.flow);
        for (name, outcomes) in [("expected", &witness.expected), ("found", &witness.found)] {
            if let [(only, _)] = outcomes.as_slice() {
                let _ = writeln!(text, "      {name}: {only}");
                continue;
            }
            for (outcome, share) in outcomes.iter().take(MOST) {
                let _ = writeln!(text, "      {name} {}: {outcome}", percent(share));
            }
            tell_more(text, "      ", outcomes.len());
        }
        if let Some(stories) = self.stories {
            let Sides { should_be, is } = stories.of(witness);
            tell_story(text, "should be", &should_be);
            tell_story(text, "is", &is);
        }
    }
}

fn tell_story(text: &mut String, side: &str, story: &str) {
    let _ = writeln!(text, "    as it {side}:");
    for line in story.lines() {
        let _ = writeln!(text, "{}", format!("      {line}").trim_end());
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Missing => "missing",
        Kind::Stale => "stale",
        Kind::Changed => "changed",
        Kind::Foreign => "foreign",
        Kind::LeftOver(_) => "left over",
    }
}

/// Says whose something is that no single Service has.
fn whose(kind: Kind) -> String {
    match kind {
        Kind::Foreign => "rules of others".to_owned(),
        Kind::LeftOver(mode) => format!("of {mode} mode"),
        Kind::Missing | Kind::Stale | Kind::Changed => "what Services share".to_owned(),
    }
}

fn change(change: Change) -> &'static str {
    match change {
        Change::Missing => "missing",
        Change::Extra => "extra",
        Change::Changed => "changed",
    }
}
