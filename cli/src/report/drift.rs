//! What `sim drift` found, for people, programs and CI.

mod groups;
mod stories;

use std::collections::BTreeMap;
use std::fmt::Write;

use kps_compare::drift::{Change, Drift, Effect, Finding, Fit, Kind, Outcomes, Setting, files};
use kps_flow::Outcome;
use serde_json::{Map, Value, json};

use super::bars::percent;
use super::junit::Case;
use super::style::{BAD, GOOD, NAME, WARNING};
use groups::{Group, groups};
pub use stories::Stories;

/// How many of anything are written out for people.
const MOST: usize = 8;

/// A node's drift, with what it is told with.
pub struct Drifted<'a> {
    /// The drift.
    pub drift: &'a Drift,
    /// The node.
    pub node: &'a str,
    /// The files that the dumps lack.
    pub missing: &'a [&'static str],
    /// Tells stories of witnesses, if they are asked for.
    pub stories: Option<Stories<'a>>,
}

impl Drifted<'_> {
    /// Writes for people: the verdict first.
    pub fn text(&self) -> String {
        let mut text = self.verdict();
        text.push_str(&self.fit());
        for finding in &self.drift.findings {
            text.push('\n');
            self.tell(&mut text, finding);
        }
        text
    }

    /// Writes for programs; `docs/drift.md` says what the fields mean.
    pub fn json(&self) -> Value {
        let fit = &self.drift.fit;
        let others = fit.others.iter().map(|other| {
            json!({
                "mode": other.mode.as_str(),
                "kube_version": other.version.to_string(),
                "off": other.off,
            })
        });
        let findings = self.drift.findings.iter().map(|finding| self.finding(finding));
        json!({
            "node": self.node,
            "mode": fit.mode.as_str(),
            "kube_versions": fit.versions.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "settings_found": settings(&fit.settings),
            "settings_suggested": settings(&fit.suggested),
            "expected": fit.expected,
            "off": fit.off,
            "others": others.collect::<Vec<_>>(),
            "services": self.drift.services.len(),
            "affected": self.drift.affected(),
            "packets": self.drift.packets,
            "files_missing": self.missing,
            "findings": findings.collect::<Vec<_>>(),
        })
    }

    /// Returns a case for each ServicePort, and one for each thing that is about none.
    pub fn cases(&self) -> Vec<Case> {
        let mut failures: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut shared = Vec::new();
        for finding in &self.drift.findings {
            let mut text = String::new();
            self.tell(&mut text, finding);
            let services: Vec<&str> = match &finding.service {
                Some(service) => vec![service.as_str()],
                None => finding.services(),
            };
            for service in &services {
                failures.entry(service).or_default().push(text.clone());
            }
            if services.is_empty() {
                shared.push(text);
            }
        }
        let names = self.drift.services.iter().map(String::as_str);
        for name in names {
            failures.entry(name).or_default();
        }
        let of_services = failures.into_iter().map(|(name, failures)| case(name, failures));
        let (harmless, shared) =
            if self.drift.is_harmless() { (shared, Vec::new()) } else { (Vec::new(), shared) };
        let shared = Case { notes: harmless, ..case("what all Services share", shared) };
        of_services.chain([shared]).collect()
    }

    fn verdict(&self) -> String {
        let (drift, node) = (self.drift, self.node);
        let (affected, all) = (drift.affected(), drift.services.len());
        let (known, gone): (Vec<&str>, Vec<&str>) =
            affected.into_iter().partition(|name| drift.services.iter().any(|known| known == name));
        let packets = drift.packets;
        if drift.findings.is_empty() {
            return format!(
                "{GOOD}as it should be{GOOD:#}: node {node}, {all} ServicePorts, {packets} packets\n"
            );
        }
        let (style, word) =
            if drift.is_harmless() { (WARNING, "harmless") } else { (BAD, "drift") };
        let gone = match gone.len() {
            0 => String::new(),
            number => format!(" and {number} that there should not be"),
        };
        format!(
            "{style}{word}{style:#}: {} on node {node}; {} of {all} ServicePorts{gone} treated \
             otherwise, {packets} packets\n",
            counted(drift.findings.len(), "finding"),
            known.len(),
        )
    }

    /// Says what the dump was taken for, and how sure that is.
    fn fit(&self) -> String {
        let Fit { mode, versions, settings, suggested, expected, off, others } = &self.drift.fit;
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let mut text = format!(
            "{mode} mode, rules of kube-proxy {}: {off} of {expected} rules, chains, elements and \
             servers off\n",
            versions.join(" or ")
        );
        if let Some(next) = others.first() {
            let _ = writeln!(
                text,
                "next best: {} mode, kube-proxy {}: {} off",
                next.mode, next.version, next.off
            );
        }
        for (word, settings) in [("found in the dump", settings), ("would fit better", suggested)] {
            for setting in settings {
                let _ = writeln!(text, "{word}: {setting}");
            }
        }
        for file in self.missing.iter().filter(|file| files(*mode).contains(file)) {
            let _ = writeln!(text, "not in the dump: {file}, taken to be as it should be");
        }
        text
    }

    fn tell(&self, text: &mut String, finding: &Finding) {
        let style = if finding.effects.is_empty() { WARNING } else { BAD };
        let about = match &finding.service {
            Some(service) => format!("Service {service}"),
            None => whose(finding.kind),
        };
        let _ = writeln!(text, "{style}{}{style:#} {NAME}{about}{NAME:#}", word(finding.kind));
        for line in finding.lines.iter().take(MOST) {
            let _ = writeln!(text, "  {}", line.text);
        }
        tell_more(text, "  ", finding.lines.len());
        if finding.effects.is_empty() {
            let _ = writeln!(text, "  no packet that was asked is treated otherwise");
        }
        for group in groups(&finding.effects) {
            self.tell_group(text, &group);
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
        for (name, story) in self.stories.iter().flat_map(|stories| stories.of(witness)) {
            let _ = writeln!(text, "    as it {name}:");
            for line in story.lines() {
                let _ = writeln!(text, "{}", format!("      {line}").trim_end());
            }
        }
    }

    fn finding(&self, finding: &Finding) -> Value {
        let left_by = match finding.kind {
            Kind::LeftOver(mode) => Some(mode.as_str()),
            _ => None,
        };
        let line = |line: &kps_compare::drift::Line| json!({ "change": change(line.change), "text": line.text });
        json!({
            "kind": word(finding.kind),
            "mode": left_by,
            "service": finding.service,
            "lines": finding.lines.iter().map(line).collect::<Vec<_>>(),
            "effects": finding.effects.iter().map(|e| self.effect(e)).collect::<Vec<_>>(),
        })
    }

    fn effect(&self, effect: &Effect) -> Value {
        let outcomes = |outcomes: &Outcomes| -> Vec<Value> {
            let one = |(outcome, share): &(Outcome, _)| json!({ "outcome": outcome.to_string(), "share": format!("{share}") });
            outcomes.iter().map(one).collect()
        };
        let stories = self.stories.iter().flat_map(|stories| stories.of(effect));
        let stories: Map<String, Value> =
            stories.map(|(name, story)| (name.replace(' ', "_"), Value::from(story))).collect();
        json!({
            "service": effect.service,
            "frontend": effect.frontend,
            "client": effect.class.to_string(),
            "flow": effect.flow.to_string(),
            "expected": outcomes(&effect.expected),
            "found": outcomes(&effect.found),
            "stories": stories,
        })
    }
}

fn settings(settings: &[Setting]) -> Map<String, Value> {
    let entry = |s: &Setting| (s.field.clone(), Value::from(s.value.as_str()));
    settings.iter().map(entry).collect()
}

fn case(name: &str, failures: Vec<String>) -> Case {
    let message = "not as it should be".to_owned();
    Case { name: name.to_owned(), message, failures, notes: Vec::new() }
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn listed(mut words: Vec<String>) -> String {
    let more = words.len().saturating_sub(MOST);
    words.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    words.join(", ") + &more
}

fn tell_more(text: &mut String, indent: &str, all: usize) {
    if let Some(more) = all.checked_sub(MOST).filter(|more| *more > 0) {
        let _ = writeln!(text, "{indent}and {more} more");
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
