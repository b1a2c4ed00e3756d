//! Rules against promises: what [`judge`](mod@crate::judge) finds, told by ServicePort, kind of
//! address and client class.

use std::collections::BTreeMap;

use kps_flow::{ClientClass, Outcome, Promise};
use kps_model::intent::Frontend;
use kps_model::{NodeView, PortKey, PortView};

use super::catalogue::Lint;
use super::decision::Decision;
use super::finding::{Finding, Witness};
use super::scene::Scene;
use super::target::{self, Target, targets};
use crate::judge::{self, Judge, Judgement};

/// A promise that is not kept, for the packets of a class.
#[derive(Debug, Clone)]
pub struct Broken<'v> {
    /// The ServicePort.
    pub port: &'v PortView,
    /// The kind of address.
    pub frontend: Frontend,
    /// Who dials.
    pub class: ClientClass,
    /// A packet of the class, what is promised for it and what happens.
    pub finding: judge::Finding,
    /// The rule that breaks the promise, if one does.
    pub decision: Option<Decision>,
}

/// Asks a packet of each client class for each address of each ServicePort.
#[must_use]
pub fn sampled<'s>(scene: &'s Scene<'_>) -> Vec<Broken<'s>> {
    scene.subject.views.iter().flat_map(|view| sampled_in(scene, view)).collect()
}

fn sampled_in<'s>(scene: &'s Scene<'_>, view: &'s NodeView) -> Vec<Broken<'s>> {
    let judge = Judge::new(view, scene.subject.config.mode);
    let clients = |target| scene.clients(view.family).map(move |client| (target, client));
    let broken = targets(view).flat_map(clients).filter_map(|(target, client)| {
        let Target { port, frontend, address, number } = target;
        let flow = scene.flow(client, port.port.key.protocol, address, number);
        let Judgement::Broken(finding) = judge.judge(&scene.walker, &flow) else { return None };
        let decision = decision(scene, &finding);
        Some(Broken { port, frontend, class: client.class, finding: *finding, decision })
    });
    broken.collect()
}

/// Finds the rule that breaks a promise.
fn decision(scene: &Scene<'_>, finding: &judge::Finding) -> Option<Decision> {
    let meant: Vec<_> = match &finding.promise {
        Promise::Endpoints(endpoints) => endpoints.keys().copied().collect(),
        _ => Vec::new(),
    };
    let is_wrong = |outcome: &Outcome| finding.promise.permits(outcome).is_err();
    Decision::of(scene, &finding.flow, &meant, is_wrong)
}

/// Tells syncs that failed.
#[must_use]
pub fn failures(scene: &Scene<'_>) -> Vec<Finding> {
    let failures = scene.subject.failures.iter();
    failures.map(|why| Finding::new(Lint::SyncFails, Vec::new(), why.clone())).collect()
}

/// Tells broken promises, those of a ServicePort and kind of address together.
#[must_use]
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    // Without rules nothing is kept, which is told once.
    if !scene.subject.failures.is_empty() {
        return Vec::new();
    }
    let mut groups: BTreeMap<(&PortKey, &str, Lint), Vec<Broken<'_>>> = BTreeMap::new();
    for broken in sampled(scene) {
        let key = (&broken.port.port.key, target::word(broken.frontend), broken.lint());
        groups.entry(key).or_default().push(broken);
    }
    groups
        .into_iter()
        .filter_map(|((key, word, lint), all)| told(scene, key, word, lint, &all))
        .collect()
}

fn told(
    scene: &Scene<'_>,
    key: &PortKey,
    word: &str,
    lint: Lint,
    all: &[Broken<'_>],
) -> Option<Finding> {
    let first = all.first()?;
    let mut classes: Vec<String> = all.iter().map(|broken| broken.class.to_string()).collect();
    classes.sort();
    classes.dedup();
    let detail = format!(
        "{}, by {word}, from {}: {}",
        target::port(first.port),
        classes.join(", "),
        first.says()
    );
    let decided = first.decision.as_ref().map(Decision::told);
    let witness = Witness { decided, ..scene.witness(first.finding.flow.clone()) };
    Some(Finding::new(lint, vec![target::service(key)], detail).with(Some(witness)))
}

impl Broken<'_> {
    fn lint(&self) -> Lint {
        let outcomes = &self.finding.outcomes;
        let is_kept = |outcome: &Outcome| self.finding.promise.permits(outcome).is_ok();
        if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Unknown(_))) {
            Lint::OutcomeUnknown
        } else if self.decision.as_ref().is_some_and(Decision::is_foreign) {
            Lint::ForeignRuleDecides
        } else if outcomes.iter().all(is_kept) {
            Lint::SharesUneven
        } else if outcomes.iter().any(is_kept) {
            Lint::SharesLost
        } else {
            Lint::PromiseBroken
        }
    }

    fn says(&self) -> String {
        let promised = match &self.finding.promise {
            Promise::Endpoints(endpoints) => match endpoints.len() {
                1 => "delivery to its endpoint".to_owned(),
                number => format!("even delivery to {number} endpoints"),
            },
            Promise::Refused => "a refusal".to_owned(),
            Promise::Discarded => "a drop".to_owned(),
            Promise::Host => "delivery to the node itself".to_owned(),
            Promise::Onward => "passage unchanged".to_owned(),
        };
        format!("{promised} is promised and not what happens")
    }
}
