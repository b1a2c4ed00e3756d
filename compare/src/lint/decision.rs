//! Which rule decides what becomes of a packet, and whose it is.

use std::net::SocketAddr;

use kps_flow::{Flow, Outcome};
use kps_ruleset::nftables::{Hook, Policy};
use kps_sim::trace::{Deed, Language, Place, RulePlace, Step};
use kps_sim::{Options, Path};

use super::scene::Scene;

/// The rule after which nothing could change the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Where it is.
    pub place: RulePlace,
    /// The rule as its tool prints it; empty for the policy of a chain.
    pub rule: String,
}

impl Decision {
    /// Finds the rule that gave the first packet of a flow the first outcome that is wrong. Nothing
    /// decides where every rule passes the packet on.
    #[must_use]
    pub fn of(
        scene: &Scene<'_>,
        flow: &Flow,
        meant: &[SocketAddr],
        is_wrong: impl Fn(&Outcome) -> bool,
    ) -> Option<Decision> {
        let options = Options { fresh: true, trace: true, ..Options::default() };
        let walk = scene.walker.walk(flow, &options);
        let path = walk.paths.iter().find(|path| is_wrong(&path.outcome))?;
        let place = deciding(path, meant)?;
        let rule = scene.walker.rule_text(&place).unwrap_or_default();
        Some(Decision { place, rule })
    }

    /// Tells whether the rule is somebody else's than kube-proxy's.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        let (table, chain) = (self.place.table.as_str(), self.place.chain.as_str());
        self.place.language != Language::Ipvs
            && table != "kube-proxy"
            && !chain.starts_with("KUBE-")
            && !self.rule.contains("-j KUBE-")
    }

    /// Returns place and rule in words.
    #[must_use]
    pub fn told(&self) -> String {
        let place = &self.place;
        if self.rule.is_empty() { place.to_string() } else { format!("{place}: {}", self.rule) }
    }
}

fn deciding(path: &Path, meant: &[SocketAddr]) -> Option<RulePlace> {
    let steps = path.steps.as_slice();
    match &path.outcome {
        Outcome::Drop => {
            last(steps, |deed| matches!(deed, Deed::Drops | Deed::Policy(Policy::Drop)))
        }
        Outcome::Reject(_) => last(steps, |deed| matches!(deed, Deed::Rejects(_))),
        // The endpoint is right, so the source is not: either a rule rewrote it, or one accepted the
        // packet before it came to the one that rewrites.
        Outcome::Deliver(way) if meant.contains(&way.endpoint) => last(steps, is_source_change)
            .or_else(|| last(since(steps, Hook::Postrouting), is_acceptance)),
        Outcome::Deliver(_) => last(steps, is_destination_change),
        Outcome::Local | Outcome::Pass(_) => last(until_routed(steps), is_acceptance),
        Outcome::Unknown(_) => None,
    }
}

fn is_source_change(deed: &Deed) -> bool {
    matches!(deed, Deed::TranslatesSource { .. })
}

fn is_destination_change(deed: &Deed) -> bool {
    matches!(deed, Deed::TranslatesDestination(_) | Deed::Schedules { .. })
}

fn is_acceptance(deed: &Deed) -> bool {
    matches!(deed, Deed::Accepts)
}

fn last(steps: &[Step], is_meant: fn(&Deed) -> bool) -> Option<RulePlace> {
    steps.iter().rev().find_map(|step| match step.place {
        Place::Rule(place) if is_meant(&step.deed) => Some(place),
        _ => None,
    })
}

/// Returns the steps from a hook on.
fn since(steps: &[Step], hook: Hook) -> &[Step] {
    let start = steps.iter().position(|s| matches!(s.deed, Deed::Reaches(at, _) if at == hook));
    start.and_then(|start| steps.get(start..)).unwrap_or_default()
}

/// Returns the steps before the packet was routed, in which its destination could have changed.
fn until_routed(steps: &[Step]) -> &[Step] {
    let end = steps.iter().position(|step| matches!(step.deed, Deed::Routed(_)));
    steps.get(..end.unwrap_or(steps.len())).unwrap_or(steps)
}
