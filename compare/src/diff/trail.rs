//! From one side to the other in steps, each of which changes one thing: whatever a packet's outcome
//! changes at is why it differs.
//!
//! ```text
//! what the left node has -> what its setup installs -> the other release -> each other setting
//!                                    -> the other mode -> what the right node has
//! ```

use std::collections::BTreeSet;

use kps_flow::{Distribution, Family, Flow, Outcome};
use kps_model::{Cluster, NodeView};
use kps_sim::{Options, Walker};

use super::cause::Cause;
use super::place::Index;
use super::proof::Difference;
use super::same;
use super::setting::Setting;
use super::setup::{Installed, Setup};
use crate::difference::{Seen, explain};

/// What one step changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The rules that a node has become those that its setup installs, or the other way.
    Rules,
    /// The release.
    Release,
    /// A setting.
    Setting(Setting),
    /// The mode.
    Mode,
}

/// What is installed after each step between two sides.
#[derive(Debug)]
pub struct Trail {
    between: Vec<(Step, Installed)>,
    last: Step,
}

impl Trail {
    /// Installs whatever lies between two sides on a node.
    #[must_use]
    pub fn new(cluster: &Cluster, node: &str, left: &Installed, right: &Installed) -> Trail {
        let mut steps: Vec<(Step, Setup)> = Vec::new();
        if left.is_found {
            steps.push((Step::Rules, left.setup.clone()));
        }
        steps.extend(setups(&left.setup, &right.setup));
        let ends_found = right.is_found;
        // The last step leads to the right side itself.
        let last = if ends_found { Step::Rules } else { steps.pop().map_or(Step::Mode, |s| s.0) };
        let install = |(step, setup): (Step, Setup)| (step, setup.install(cluster, node));
        Trail { between: steps.into_iter().map(install).collect(), last }
    }
}

/// Returns the setups between two, and the second, each with what changes on the way to it.
fn setups(left: &Setup, right: &Setup) -> Vec<(Step, Setup)> {
    let mut setup = left.clone();
    let mut steps = Vec::new();
    if left.version != right.version {
        setup.version = right.version;
        steps.push((Step::Release, setup.clone()));
    }
    for setting in Setting::ALL {
        if setting.value(&setup.config) != setting.value(&right.config) {
            setting.take(&mut setup.config, &right.config);
            steps.push((Step::Setting(setting), setup.clone()));
        }
    }
    if setup != *right {
        steps.push((Step::Mode, right.clone()));
    }
    steps
}

/// Tells the causes of differences between two sides.
pub struct Causes<'a> {
    stops: Vec<Stop<'a>>,
}

/// A side, or what lies between, ready to be asked.
struct Stop<'a> {
    step: Step,
    installed: &'a Installed,
    walker: Option<Walker<'a>>,
    indices: Vec<Index<'a>>,
}

impl<'a> Causes<'a> {
    /// Makes two sides and the trail between them ready.
    #[must_use]
    pub fn new(left: &'a Installed, trail: &'a Trail, right: &'a Installed) -> Causes<'a> {
        let mut stops = vec![Stop::new(Step::Mode, left, None)];
        for (step, installed) in &trail.between {
            stops.push(Stop::new(*step, installed, Some(Walker::new(&installed.state))));
        }
        stops.push(Stop::new(trail.last, right, None));
        Causes { stops }
    }

    /// Returns the ServicePorts of the left side in a family.
    #[must_use]
    pub fn index(&self, family: Family) -> Option<&Index<'a>> {
        self.stops.first()?.index(family)
    }

    /// Returns why two sides do not do the same with a packet; nothing if there is a change that
    /// nothing explains.
    #[must_use]
    pub fn of(&self, difference: &Difference) -> BTreeSet<Cause> {
        let flow = &difference.flow;
        let mut causes = BTreeSet::new();
        let mut before = difference.left.clone();
        for (number, pair) in self.stops.windows(2).enumerate() {
            let [from, to] = pair else { continue };
            let is_last = number + 2 == self.stops.len();
            let after = match &to.walker {
                Some(walker) if !is_last => first_packet(walker, flow),
                _ => difference.right.clone(),
            };
            if !same(&before, &after) {
                let found = to.causes(flow, (from, &before), &after);
                if found.is_empty() {
                    return BTreeSet::new();
                }
                causes.extend(found);
            }
            before = after;
        }
        causes
    }
}

fn first_packet(walker: &Walker<'_>, flow: &Flow) -> Distribution<Outcome> {
    walker.walk(flow, &Options { fresh: true, ..Options::default() }).distribution()
}

impl<'a> Stop<'a> {
    fn new(step: Step, installed: &'a Installed, walker: Option<Walker<'a>>) -> Stop<'a> {
        let indices = installed.views.iter().map(Index::new).collect();
        Stop { step, installed, walker, indices }
    }

    fn index(&self, family: Family) -> Option<&Index<'a>> {
        self.indices.iter().find(|index| index.view.family == family)
    }

    /// Returns why the step to here changes what becomes of a packet.
    fn causes(
        &self,
        flow: &Flow,
        (from, before): (&Stop<'_>, &Distribution<Outcome>),
        after: &Distribution<Outcome>,
    ) -> BTreeSet<Cause> {
        match self.step {
            Step::Rules => BTreeSet::from([Cause::Rules]),
            Step::Setting(setting) => BTreeSet::from([Cause::Setting(setting)]),
            Step::Mode => self.documented(flow, (from, before), after),
            Step::Release => {
                let documented = self.documented(flow, (from, before), after);
                if documented.is_empty() { BTreeSet::from([Cause::Release]) } else { documented }
            }
        }
    }

    fn documented(
        &self,
        flow: &Flow,
        (from, before): (&Stop<'_>, &Distribution<Outcome>),
        after: &Distribution<Outcome>,
    ) -> BTreeSet<Cause> {
        let (Some(left), Some(right)) = (from.narrow(flow), self.narrow(flow)) else {
            return BTreeSet::new();
        };
        let seen = |stop: &Stop<'_>, view, outcomes| Seen {
            mode: stop.installed.setup.mode(),
            view,
            outcomes,
        };
        let ids = explain(flow, seen(from, &left, before), seen(self, &right, after));
        ids.into_iter().map(Cause::Documented).collect()
    }

    fn narrow(&self, flow: &Flow) -> Option<NodeView> {
        Some(self.index(flow.family())?.narrow(flow))
    }
}
