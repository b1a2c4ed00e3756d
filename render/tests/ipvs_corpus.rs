//! The rendered sets, virtual servers, addresses and rules against those that the real kube-proxy
//! made.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod corpus;

use std::collections::{BTreeMap, BTreeSet};

use kps_model::Mode;
use kps_render::ipvs::plan;
use kps_ruleset::iptables::compare::FreeOrder;
use kps_ruleset::ipvs::{ServiceId, Table, VirtualServer};
use kps_ruleset::{NodeState, ipset, iptables, ipvs};

/// What was rendered, and what may differ.
struct Rendered {
    state: NodeState,
    free: Vec<FreeOrder>,
    /// The virtual servers that several Services claim.
    contested: BTreeMap<ServiceId, Vec<VirtualServer>>,
}

#[test]
fn every_cluster_is_rendered_as_installed() {
    let cases = corpus::cases(Mode::Ipvs, 25);
    for case in &cases {
        let dump = NodeState::read_dump(&case.dumps).unwrap();
        assert!(dump.errors.is_empty(), "{:?}", dump.errors);
        let differences = render(case).differences(&dump.state);
        assert!(differences.is_empty(), "{}: {differences:#?}", case.dumps.display());
    }
    println!("{} dumps equal", cases.len());
}

fn render(case: &corpus::Case) -> Rendered {
    let mut rendered =
        Rendered { state: NodeState::default(), free: Vec::new(), contested: BTreeMap::new() };
    for view in &case.views {
        let plan = plan(view);
        rendered.free.extend(plan.free_order());
        let owned = |(id, claims): (ServiceId, Vec<&VirtualServer>)| {
            (id, claims.into_iter().cloned().collect())
        };
        rendered.contested.extend(plan.contested().into_iter().map(owned));
        plan.install(&mut rendered.state);
    }
    rendered
}

impl Rendered {
    fn differences(&mut self, real: &NodeState) -> Vec<String> {
        self.settle(&real.ipvs);
        let mut differences = Vec::new();
        for family in [iptables::Family::Ipv4, iptables::Family::Ipv6] {
            let (real, ours) = (real.iptables.family(family), self.state.iptables.family(family));
            let compared = iptables::compare::compare(real, ours, &self.free);
            differences.extend(compared.iter().map(ToString::to_string));
        }
        let sets = ipset::compare(&real.ipset, &self.state.ipset);
        differences.extend(sets.iter().map(ToString::to_string));
        let servers = ipvs::compare(&real.ipvs, &self.state.ipvs);
        differences.extend(servers.iter().map(ToString::to_string));
        if bound(real) != bound(&self.state) {
            differences.push(format!("bound: {:?}, not {:?}", bound(&self.state), bound(real)));
        }
        differences
    }

    /// Gives each contested virtual server to the claim that won.
    fn settle(&mut self, real: &Table) {
        for (id, claims) in &self.contested {
            let won = |claim: &&VirtualServer| {
                let only = |server: &VirtualServer| Table {
                    services: [(*id, server.clone())].into_iter().collect(),
                    timeouts: None,
                };
                real.services
                    .get(id)
                    .is_some_and(|server| ipvs::compare(&only(server), &only(claim)).is_empty())
            };
            if let Some(winner) = claims.iter().find(won) {
                self.state.ipvs.services.insert(*id, winner.clone());
            }
        }
    }
}

fn bound(state: &NodeState) -> BTreeSet<String> {
    let addresses = state.host.addresses.iter();
    let device = addresses.filter(|address| address.link == "kube-ipvs0");
    device.map(|address| address.network.to_string()).collect()
}
