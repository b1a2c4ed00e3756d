//! From lines and effects to findings.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use kps_model::Mode;
use kps_ruleset::NodeState;
use kps_sim::prove::Proof;

use super::effects::{Blamed, Cause, Stripped, Trial, class};
use super::expected::Expected;
use super::fit::{Best, best};
use super::lines::{Change, Line};
use super::packets::Hints;
use super::{Drift, Effect, Finding, Kind, Packets, Proved, Subject, leftovers, packets};
use crate::lint;
use crate::lint::Scene;

/// Holds a dump against what the node should have; `None` if it lacks the files of every mode that
/// there is a configuration for.
#[must_use]
pub fn find(subject: &Subject<'_>) -> Option<Drift> {
    let Best { expected, fit } = best(subject)?;
    let lines = expected.differences(subject);
    let found = expected.completed(Cow::Borrowed(subject.dump), subject.unseen);
    let scene = scene(subject, &expected, &found);
    let parts = expected.parts(&found);
    let stripped = Stripped::of(&parts);
    let trial = Trial::new(&expected, parts, &scene.walker, &stripped);
    let mut questions = packets::sampled(
        &scene,
        &Hints {
            lines: &lines,
            foreign: parts.foreign_rules(),
            left_over: leftovers::dialled_by(&parts, &expected.owners),
        },
    );
    let proof = (subject.packets == Packets::All).then(|| trial.prove());
    if let Some(proof) = &proof {
        questions.extend(packets::proven(&scene, &expected.owners, proof));
    }
    let blamed = trial.ask_all(&questions);
    let mut findings = own(lines, &blamed);
    findings.extend(foreign(&blamed));
    findings.extend(left_over(leftovers::find(&parts).into_values(), &blamed));
    let (services, packets) = (services(&expected), questions.len());
    drop(trial);
    drop(scene);
    let completed = match found {
        Cow::Owned(completed) => Some(completed),
        Cow::Borrowed(_) => None,
    };
    let (proof, expected) = (proof.map(proved), expected.state);
    Some(Drift { fit, expected, completed, services, packets, proof, findings })
}

fn proved(proof: Proof) -> Proved {
    let undecided = proof.undecided.into_iter().map(|class| (class.flow, class.why));
    Proved { classes: proof.classes, undecided: undecided.collect() }
}

fn scene<'s>(subject: &Subject<'s>, expected: &'s Expected, found: &'s NodeState) -> Scene<'s> {
    Scene::new(lint::Subject {
        cluster: subject.cluster,
        config: &expected.config,
        node: subject.node,
        views: &expected.views,
        state: found,
        failures: &[],
    })
}

/// Returns the ServicePorts of all families, each once.
fn services(expected: &Expected) -> Vec<String> {
    let ports = expected.views.iter().flat_map(|view| &view.ports);
    let names: BTreeSet<String> = ports.map(|port| port.port.key.to_string()).collect();
    names.into_iter().collect()
}

/// Groups lines by ServicePort, each with its effects. Effects on a ServicePort without lines of its
/// own come of what all share, or else of the only lines that there are.
fn own(lines: Vec<Line>, blamed: &[Blamed]) -> Vec<Finding> {
    let mut groups: BTreeMap<Option<String>, (Vec<Line>, Vec<&Effect>)> = BTreeMap::new();
    for line in lines {
        groups.entry(line.service.clone()).or_default().0.push(line);
    }
    let only = groups.keys().next().filter(|_| groups.len() == 1).cloned().flatten();
    for blamed in blamed.iter().filter(|blamed| blamed.causes.contains(&Cause::Own)) {
        let port = blamed.effect.service.as_str();
        let service = port.split(':').next().unwrap_or_default();
        let own = [port, service].map(|name| Some(name.to_owned()));
        let key = own.into_iter().find(|name| groups.contains_key(name));
        let key = key.unwrap_or_else(|| only.clone());
        groups.entry(key).or_default().1.push(&blamed.effect);
    }
    let finding = |(service, (lines, effects)): (Option<String>, (Vec<Line>, Vec<&Effect>))| {
        Finding { kind: kind(&lines), service, effects: by_class(effects), lines }
    };
    groups.into_iter().map(finding).collect()
}

fn kind(lines: &[Line]) -> Kind {
    let all = |change| !lines.is_empty() && lines.iter().all(|line| line.change == change);
    if all(Change::Missing) {
        Kind::Missing
    } else if all(Change::Extra) {
        Kind::Stale
    } else {
        Kind::Changed
    }
}

/// Groups effects by the foreign rules that decide.
fn foreign(blamed: &[Blamed]) -> Vec<Finding> {
    let mut groups: BTreeMap<&[String], Vec<&Effect>> = BTreeMap::new();
    for blamed in blamed.iter().filter(|blamed| blamed.causes.contains(&Cause::Foreign)) {
        groups.entry(&blamed.rules).or_default().push(&blamed.effect);
    }
    let finding = |(rules, effects): (&[String], Vec<&Effect>)| Finding {
        kind: Kind::Foreign,
        service: None,
        lines: rules.iter().map(|rule| line(rule)).collect(),
        effects: by_class(effects),
    };
    groups.into_iter().map(finding).collect()
}

fn left_over(found: impl Iterator<Item = (Mode, Vec<Line>)>, blamed: &[Blamed]) -> Vec<Finding> {
    let by_it: Vec<&Blamed> =
        blamed.iter().filter(|b| b.causes.contains(&Cause::LeftOver)).collect();
    let finding = |(mode, mut lines): (Mode, Vec<Line>)| {
        let rules: BTreeSet<&String> = by_it.iter().flat_map(|blamed| &blamed.rules).collect();
        lines.extend(rules.into_iter().map(|rule| line(rule)));
        let effects = by_class(by_it.iter().map(|blamed| &blamed.effect).collect());
        Finding { kind: Kind::LeftOver(mode), service: None, lines, effects }
    };
    found.map(finding).collect()
}

fn line(rule: &str) -> Line {
    Line { change: Change::Extra, text: rule.to_owned(), service: None, dialled: None }
}

/// Returns one effect of each class: the first.
fn by_class(effects: Vec<&Effect>) -> Vec<Effect> {
    let mut seen = BTreeSet::new();
    effects.into_iter().filter(|effect| seen.insert(class(effect))).cloned().collect()
}
