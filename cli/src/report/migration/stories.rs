//! What happens to the packets that show differences, on both sides, rule by rule.

use std::collections::BTreeMap;

use kps_compare::diff::{Cause, Installed, Move, Report};
use kps_compare::difference::Risk;
use kps_flow::Flow;
use kps_sim::{Options, Walker};

use crate::owners::Owners;
use crate::report::story::Story;

/// The stories of each cause's packet.
#[derive(Default)]
pub struct Stories(BTreeMap<Cause, (Risk, [Told; 2])>);

/// What one side does with a packet.
#[derive(Default)]
pub struct Told {
    /// The rules that decide, a line each.
    pub deciding: Vec<String>,
    /// The whole story.
    pub whole: String,
}

impl Stories {
    /// Tells the packets of a node's report, unless another node's packet shows the cause as well.
    pub fn add(&mut self, moved: &Move<'_>, report: &Report) {
        let is_new =
            |cause: &Cause, risk: Risk| self.0.get(cause).is_none_or(|known| risk < known.0);
        let new: Vec<(Cause, Risk, &Flow)> = report
            .groups
            .iter()
            .filter(|group| is_new(&group.cause, group.risk))
            .filter_map(|group| Some((group.cause, group.risk, &group.witness.as_ref()?.flow)))
            .collect();
        if new.is_empty() {
            return;
        }
        let tellers = [moved.left, moved.right].map(|side| Teller::new(moved, side));
        for (cause, risk, flow) in new {
            let told = tellers.each_ref().map(|teller| teller.tell(flow));
            self.0.insert(cause, (risk, told));
        }
    }

    /// Returns what both sides do with the packet of a cause.
    pub fn of(&self, cause: Cause) -> Option<&[Told; 2]> {
        self.0.get(&cause).map(|(_, told)| told)
    }
}

/// A side that can tell of packets.
struct Teller<'a> {
    moved: &'a Move<'a>,
    side: &'a Installed,
    walker: Walker<'a>,
    owners: Owners,
}

impl<'a> Teller<'a> {
    fn new(moved: &'a Move<'a>, side: &'a Installed) -> Teller<'a> {
        let owners = Owners::new(side.setup.mode(), &side.views, &side.state);
        Teller { moved, side, walker: Walker::new(&side.state), owners }
    }

    fn tell(&self, flow: &Flow) -> Told {
        let options = Options { fresh: true, trace: true, ..Options::default() };
        let walk = self.walker.walk(flow, &options);
        let story = Story {
            flow,
            state: &self.side.state,
            walker: &self.walker,
            walk: &walk,
            owners: &self.owners,
            is_reply: false,
            cluster: Some(self.moved.cluster),
        };
        let Some(path) = walk.paths.first() else { return Told::default() };
        let whole = anstream::adapter::strip_str(&story.text(path)).to_string();
        Told { deciding: story.deciding(path), whole }
    }
}
