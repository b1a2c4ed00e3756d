//! Whatever is lost and changes an outcome is reported, and for no Service that it does not touch.

use kps_compare::drift::{Drift, Kind};
use kps_flow::{Answer, Family, Flow, Strictness, agree};
use kps_model::intent::Owner;
use kps_model::{Cluster, Config, Intent, KubeVersion, Mode, view};
use kps_ruleset::NodeState;
use kps_sim::{Options, Walker};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::corpus::{Recorded, recorded};
use crate::thing::{self, Thing};
use crate::world::{self, family};
use crate::{dumped, rendered, runner};

const CASES: u32 = 40;
const FLOWS: usize = 24;

/// A node with damage.
struct Damaged {
    node: &'static str,
    cluster: Cluster,
    config: Config,
    version: KubeVersion,
    before: NodeState,
    after: NodeState,
    found: Drift,
}

pub fn worlds(mode: Mode) -> impl Strategy<Value = (Cluster, Vec<Flow>, Config, KubeVersion)> {
    let versions = prop::sample::select(KubeVersion::ALL.to_vec());
    let families = prop::sample::select(Family::BOTH.to_vec());
    let worlds = (world::clusters_and_flows(FLOWS), world::configs(mode), versions, families);
    worlds.prop_map(|((cluster, flows), config, version, to)| {
        let flows = flows.into_iter().map(|flow| family::flow(flow, to)).collect();
        (family::cluster(cluster, to), flows, family::config(config, to), version)
    })
}

impl Damaged {
    fn new(world: (Cluster, Config, KubeVersion), damage: impl FnOnce(&mut NodeState)) -> Damaged {
        let (cluster, config, version) = world;
        let before = dumped(&rendered(&cluster, "a", &config, version));
        let mut after = before.clone();
        damage(&mut after);
        let found = crate::of(&cluster, "a", std::slice::from_ref(&config), &[version], &after);
        Damaged { node: "a", cluster, config, version, before, after, found }
    }

    /// Takes a thing from a recorded dump.
    fn without_thing(recorded: &Recorded, lost: &Thing) -> Damaged {
        let (node, config, version) = (Recorded::NODE, recorded.config().clone(), recorded.version);
        let (cluster, before) = (recorded.cluster.clone(), recorded.dump.clone());
        let mut after = before.clone();
        lost.remove(&mut after);
        let found = crate::of(&cluster, node, std::slice::from_ref(&config), &[version], &after);
        Damaged { node, cluster, config, version, before, after, found }
    }

    /// Every flow that is treated otherwise is told with its Service.
    fn is_told(&self, flows: &[Flow]) -> Result<(), TestCaseError> {
        let (before, after) = (Walker::new(&self.before), Walker::new(&self.after));
        for flow in flows {
            if is_same(&before, &after, flow) {
                continue;
            }
            let view = view(&self.cluster, &self.config, self.node, self.version, flow.family());
            match Intent::new(&view).owner(flow) {
                Owner::Port(port, _) => {
                    let name = port.port.key.to_string();
                    let is_named = self.named().contains(&name);
                    prop_assert!(is_named, "{flow} for {name}: {:#?}", self.found.findings);
                }
                // Which of several wins is open, and may have changed.
                Owner::Contested => {}
                Owner::Nobody => {
                    prop_assert!(!self.found.findings.is_empty(), "{flow}");
                }
            }
        }
        Ok(())
    }

    fn named(&self) -> Vec<String> {
        let findings = self.found.findings.iter();
        let own = findings.clone().filter_map(|finding| finding.service.clone());
        own.chain(self.found.affected().into_iter().map(str::to_owned)).collect()
    }

    /// Every effect is one.
    fn is_true(&self) -> Result<(), TestCaseError> {
        let (before, after) = (Walker::new(&self.before), Walker::new(&self.after));
        for effect in self.found.findings.iter().flat_map(|finding| &finding.effects) {
            let view =
                view(&self.cluster, &self.config, self.node, self.version, effect.flow.family());
            let is_contested = matches!(Intent::new(&view).owner(&effect.flow), Owner::Contested);
            let is_one = is_contested || !is_same(&before, &after, &effect.flow);
            prop_assert!(is_one, "{effect:?}");
        }
        Ok(())
    }

    /// Services are blamed for what is theirs alone: it is there when they are alone, too.
    fn is_attributed(&self, lost: &Thing) -> Result<(), TestCaseError> {
        for finding in &self.found.findings {
            prop_assert!(matches!(finding.kind, Kind::Missing | Kind::Changed), "{finding:?}");
            let owner = finding.service.as_deref().and_then(|name| self.alone(name));
            if let Some(alone) = owner {
                prop_assert!(thing::all(&alone).contains(lost), "{lost:?}: {finding:#?}");
                prop_assert!(!thing::all(&self.without()).contains(lost), "{lost:?}");
            }
        }
        Ok(())
    }

    /// Renders a ServicePort's Service alone.
    fn alone(&self, service: &str) -> Option<NodeState> {
        let name = service.split_once('/')?.1.split(':').next()?;
        let mut cluster = self.cluster.clone();
        cluster.services.retain(|service| service.metadata.name == name);
        Some(dumped(&rendered(&cluster, self.node, &self.config, self.version)))
    }

    /// Renders the node without any Service.
    fn without(&self) -> NodeState {
        let cluster = Cluster { services: Vec::new(), ..self.cluster.clone() };
        dumped(&rendered(&cluster, self.node, &self.config, self.version))
    }
}

pub fn is_same(one: &Walker<'_>, other: &Walker<'_>, flow: &Flow) -> bool {
    let options = Options { fresh: true, ..Options::default() };
    let answer = |walker: &Walker<'_>| Answer::Exact(walker.walk(flow, &options).distribution());
    agree(&answer(one), &answer(other), Strictness::Shares).is_ok()
}

fn loses_one_thing(mode: Mode) {
    let worlds = (worlds(mode), any::<Index>());
    let outcome = runner(CASES).run(&worlds, |((cluster, flows, config, version), index)| {
        let mut lost = None;
        let damaged = Damaged::new((cluster, config, version), |state| {
            let things = thing::all(state);
            lost = (!things.is_empty()).then(|| things[index.index(things.len())].clone());
            if let Some(thing) = &lost {
                thing.remove(state);
            }
        });
        damaged.is_told(&flows)?;
        damaged.is_true()?;
        lost.iter().try_for_each(|lost| damaged.is_attributed(lost))
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// Takes things from what the real kube-proxy left, here and there.
#[test]
fn what_recorded_dumps_lose_is_told_for_the_right_services() {
    let newest = |recorded: &Recorded| recorded.version == KubeVersion::NEWEST;
    for (number, recorded) in recorded().iter().filter(|r| newest(r)).enumerate() {
        let things = thing::all(&recorded.dump);
        let lost = things.iter().skip(number).step_by(things.len() / 2 + 1);
        for lost in lost {
            let damaged = Damaged::without_thing(recorded, lost);
            let is_told = !damaged.found.findings.is_empty();
            assert!(is_told, "{}: {lost:?}", recorded.name);
            damaged.is_true().and_then(|()| damaged.is_attributed(lost)).unwrap();
        }
    }
}

#[test]
fn a_loss_in_nftables_is_told_for_the_right_services() {
    loses_one_thing(Mode::Nftables);
}

#[test]
fn a_loss_in_iptables_is_told_for_the_right_services() {
    loses_one_thing(Mode::Iptables);
}

#[test]
fn a_loss_in_ipvs_is_told_for_the_right_services() {
    loses_one_thing(Mode::Ipvs);
}

#[test]
fn rules_out_of_order_are_told() {
    for mode in [Mode::Nftables, Mode::Iptables] {
        let worlds = (worlds(mode), any::<Index>());
        let outcome = runner(CASES).run(&worlds, |((cluster, flows, config, version), index)| {
            let damaged = Damaged::new((cluster, config, version), |state| {
                let things = thing::all(state);
                if !things.is_empty() {
                    things[index.index(things.len())].reverse_chain(state);
                }
            });
            damaged.is_told(&flows)?;
            damaged.is_true()
        });
        if let Err(failure) = outcome {
            panic!("{mode}: {failure}");
        }
    }
}

#[test]
fn several_losses_are_told() {
    for mode in crate::MODES {
        let worlds = (worlds(mode), prop::collection::vec(any::<Index>(), 2..6));
        let outcome = runner(CASES).run(&worlds, |((cluster, flows, config, version), some)| {
            let damaged = Damaged::new((cluster, config, version), |state| {
                for index in some {
                    let things = thing::all(state);
                    if !things.is_empty() {
                        things[index.index(things.len())].remove(state);
                    }
                }
            });
            damaged.is_told(&flows)?;
            damaged.is_true()
        });
        if let Err(failure) = outcome {
            panic!("{mode}: {failure}");
        }
    }
}
