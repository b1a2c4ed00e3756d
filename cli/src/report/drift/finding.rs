//! One finding, told.

use std::fmt::Write;

use kps_compare::drift::{Change, Effect, Finding, Kind, Line, Outcomes};
use kps_flow::Outcome;
use serde_json::{Map, Value, json};

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
    pub fn json(&self) -> Value {
        let finding = self.finding;
        let left_by = match finding.kind {
            Kind::LeftOver(mode) => Some(mode.as_str()),
            _ => None,
        };
        let line = |line: &Line| json!({ "change": change(line.change), "text": line.text });
        let lines: Vec<Value> = finding.lines.iter().map(line).collect();
        let effects: Vec<Value> = finding.effects.iter().map(|e| self.effect(e)).collect();
        json!({
            "kind": word(finding.kind),
            "mode": left_by,
            "service": finding.service,
            "lines": lines,
            "effects": effects,
        })
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
        for (name, story) in self.stories.into_iter().flat_map(|stories| stories.of(witness)) {
            let _ = writeln!(text, "    as it {name}:");
            for line in story.lines() {
                let _ = writeln!(text, "{}", format!("      {line}").trim_end());
            }
        }
    }

    fn effect(&self, effect: &Effect) -> Value {
        let stories = self.stories.into_iter().flat_map(|stories| stories.of(effect));
        let stories: Map<String, Value> =
            stories.map(|(name, story)| (name.replace(' ', "_"), Value::from(story))).collect();
        json!({
            "service": effect.service,
            "frontend": effect.frontend,
            "client": effect.class.to_string(),
            "flow": effect.flow.to_string(),
            "expected": shares(&effect.expected),
            "found": shares(&effect.found),
            "stories": stories,
        })
    }
}

fn shares(outcomes: &Outcomes) -> Vec<Value> {
    let one = |(outcome, share): &(Outcome, _)| json!({ "outcome": outcome.to_string(), "share": format!("{share}") });
    outcomes.iter().map(one).collect()
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
