//! The story of a witness, as it should be and as it is.

use kps_compare::drift::{Drift, Effect, Outcomes};
use kps_flow::Outcome;
use kps_ruleset::NodeState;
use kps_sim::{Options, Walker};

use crate::cluster::Proxied;
use crate::owners::Owners;
use crate::report::story::Story;

/// Both sides, ready to be walked.
pub struct Stories<'a> {
    proxied: &'a Proxied<'a>,
    sides: [Side<'a>; 2],
}

struct Side<'a> {
    name: &'static str,
    state: &'a NodeState,
    walker: Walker<'a>,
    owners: Owners,
    /// The outcomes of the other side.
    others: fn(&Effect) -> &Outcomes,
}

impl<'a> Stories<'a> {
    /// Makes both sides of a drift ready.
    pub fn new(drift: &'a Drift, dump: &'a NodeState, proxied: &'a Proxied<'a>) -> Stories<'a> {
        let side = |name, state, others| Side {
            name,
            state,
            walker: Walker::new(state),
            owners: Owners::of_state(Some(proxied), state),
            others,
        };
        let sides = [
            side("should be", &drift.expected, |effect| &effect.found),
            side("is", drift.completed.as_ref().unwrap_or(dump), |effect| &effect.expected),
        ];
        Stories { proxied, sides }
    }

    /// Tells of a witness on both sides, of a way that the other side has not.
    pub fn of(&self, effect: &Effect) -> Vec<(&'static str, String)> {
        self.sides.iter().filter_map(|side| Some((side.name, self.one(side, effect)?))).collect()
    }

    fn one(&self, side: &Side<'_>, effect: &Effect) -> Option<String> {
        let Side { state, walker, owners, .. } = side;
        let options = Options { trace: true, fresh: true, ..Options::default() };
        let walk = walker.walk(&effect.flow, &options);
        let others = (side.others)(effect);
        let is_new = |outcome: &Outcome| others.iter().all(|(other, _)| other != outcome);
        let paths = &walk.paths;
        let path = paths.iter().find(|path| is_new(&path.outcome)).or_else(|| paths.first())?;
        let story = Story {
            flow: &effect.flow,
            state,
            walker,
            walk: &walk,
            owners,
            is_reply: false,
            cluster: Some(self.proxied.cluster),
        };
        Some(story.text(path))
    }
}
