//! The story of a witness, as it should be and as it is.

use kps_compare::drift::{Drift, Effect, Outcomes};
use kps_flow::Outcome;
use kps_ruleset::NodeState;
use kps_sim::{Options, Walker};

use super::document::Sides;
use crate::cluster::Proxied;
use crate::owners::Owners;
use crate::report::story::Story;

/// Both sides, ready to be walked.
pub struct Stories<'a> {
    proxied: &'a Proxied<'a>,
    should_be: Side<'a>,
    is: Side<'a>,
}

struct Side<'a> {
    state: &'a NodeState,
    walker: Walker<'a>,
    owners: Owners,
}

impl<'a> Stories<'a> {
    /// Makes both sides of a drift ready.
    pub fn new(drift: &'a Drift, dump: &'a NodeState, proxied: &'a Proxied<'a>) -> Stories<'a> {
        let side = |state| Side {
            state,
            walker: Walker::new(state),
            owners: Owners::of_state(Some(proxied), state),
        };
        let is = side(drift.completed.as_ref().unwrap_or(dump));
        Stories { proxied, should_be: side(&drift.expected), is }
    }

    /// Tells of a witness on both sides, each of a way that the other side has not.
    pub fn of(&self, effect: &Effect) -> Sides {
        Sides {
            should_be: self.one(&self.should_be, effect, &effect.found),
            is: self.one(&self.is, effect, &effect.expected),
        }
    }

    fn one(&self, side: &Side<'_>, effect: &Effect, others: &Outcomes) -> String {
        let Side { state, walker, owners } = side;
        let options = Options { trace: true, fresh: true, ..Options::default() };
        let walk = walker.walk(&effect.flow, &options);
        let is_new = |outcome: &Outcome| others.iter().all(|(other, _)| other != outcome);
        let mut paths = walk.paths.iter();
        let path = paths.find(|path| is_new(&path.outcome)).or_else(|| walk.paths.first());
        let story = Story {
            flow: &effect.flow,
            state,
            walker,
            walk: &walk,
            owners,
            is_reply: false,
            cluster: Some(self.proxied.cluster),
        };
        path.map(|path| story.text(path)).unwrap_or_default()
    }
}
