//! What a node should have, in one mode and by one release.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use kps_flow::Family;
use kps_model::{Config, KubeVersion, Mode, NodeView};
use kps_render::nftables::{self, Claim};
use kps_render::{iptables, ipvs};
use kps_ruleset::iptables::compare::FreeOrder;
use kps_ruleset::iptables::{Layout, Match, Rule, Ruleset, Target, print_rule};
use kps_ruleset::ipvs::{ServiceId, VirtualServer};
use kps_ruleset::nftables::{Data, Key, TableFamily};
use kps_ruleset::{Name, NodeState};

use super::Subject;
use super::lines::{self, Line};
use super::owners::Owners;
use super::parts::{self, DEVICE, Parts, Whose};

/// Returns the files of a dump of which at least one must be there, or nothing can be compared.
#[must_use]
pub fn needed(mode: Mode) -> &'static [&'static str] {
    let least = if mode == Mode::Iptables { 2 } else { 1 };
    files(mode).get(..least).unwrap_or_default()
}

/// Returns the files of a dump in which kube-proxy's rules are.
#[must_use]
pub fn files(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Nftables => &["nft.txt"],
        Mode::Iptables => &["iptables-save.txt", "ip6tables-save.txt"],
        Mode::Ipvs => &[
            "ipvsadm-save.txt",
            "ipset-save.txt",
            "iptables-save.txt",
            "ip6tables-save.txt",
            "addr.txt",
        ],
    }
}

/// What a node should have.
#[derive(Debug)]
pub(super) struct Expected {
    pub config: Config,
    pub views: Vec<NodeView>,
    /// The rules, with the host of the dump around them.
    pub state: NodeState,
    /// The sysctls that the mode sets.
    pub sysctls: BTreeMap<String, String>,
    /// The chains whose order is open.
    pub free: Vec<FreeOrder>,
    pub owners: Owners,
}

impl Expected {
    /// Works out what should be there.
    pub fn new(subject: &Subject<'_>, config: &Config, version: KubeVersion) -> Expected {
        let views = Family::BOTH.map(|family| seen(subject, config, version, family));
        let views: Vec<NodeView> =
            views.into_iter().filter(|view| is_synced(view, config.mode, subject.dump)).collect();
        let mut expected = Expected {
            config: config.clone(),
            state: NodeState::default(),
            sysctls: BTreeMap::new(),
            free: Vec::new(),
            owners: Owners::of(&views),
            views,
        };
        expected.install(subject.dump);
        expected.take_host(subject.dump);
        expected
    }

    fn install(&mut self, dump: &NodeState) {
        for view in &self.views {
            match self.config.mode {
                Mode::Nftables => {
                    let plan = nftables::plan(view);
                    self.owners.add_nftables(&plan);
                    let claims = Claims::of(&plan);
                    // A transaction that the kernel refuses leaves nothing of the family.
                    let _ = plan.install(&mut self.state);
                    claims.settle_as_in(dump, &mut self.state, view.family);
                }
                Mode::Iptables => {
                    let plan = iptables::plan(view);
                    let free = plan.free_order();
                    self.owners.add_iptables(&plan);
                    let family = iptables::ruleset_family(view.family);
                    plan.install(&mut self.state);
                    let rules = self.state.iptables.family_mut(family);
                    order_as_in(dump.iptables.family(family), rules, &free);
                    self.free.extend(free);
                }
                Mode::Ipvs => {
                    let plan = ipvs::plan(view);
                    self.owners.add_ipvs(&plan, view.family);
                    self.free.extend(plan.free_order());
                    let winners = winners(&plan, dump);
                    plan.install(&mut self.state);
                    self.state.ipvs.services.extend(winners);
                }
            }
        }
    }

    /// Takes the host of the dump, but for the addresses of Services and what the mode sets. A
    /// sysctl that the dump does not show may be anything.
    fn take_host(&mut self, dump: &NodeState) {
        let ours = std::mem::replace(&mut self.state.host, dump.host.clone());
        let host = &mut self.state.host;
        for (name, value) in &mut host.sysctls {
            if let Some(set) = ours.sysctls.get(name) {
                value.clone_from(set);
            }
        }
        self.sysctls = ours.sysctls;
        host.addresses.retain(|address| address.link != DEVICE);
        host.links.retain(|link| link.name != DEVICE);
        host.addresses.extend(ours.addresses.into_iter().filter(|a| a.link == DEVICE));
        host.links.extend(ours.links.into_iter().filter(|link| link.name == DEVICE));
    }

    /// Returns the lines in which kube-proxy's own part of the dump differs.
    pub fn differences(&self, subject: &Subject<'_>) -> Vec<Line> {
        let own = self.parts(subject.dump).only(|whose| whose == Whose::Own);
        lines::compare(self, &self.completed(own, subject.unseen))
    }

    /// Returns how much of kube-proxy's own part of the dump differs.
    pub fn off(&self, subject: &Subject<'_>) -> usize {
        let own = self.parts(subject.dump).only(|whose| whose == Whose::Own);
        lines::weigh(self, &self.completed(own, subject.unseen))
    }

    /// Fills in what a dump does not show.
    pub fn completed<'d>(&self, dump: Cow<'d, NodeState>, unseen: &[&str]) -> Cow<'d, NodeState> {
        let files = files(self.config.mode).iter().filter(|file| unseen.contains(file));
        let files: Vec<&&str> = files.collect();
        if files.is_empty() {
            return dump;
        }
        let (mut found, ours) = (dump.into_owned(), &self.state);
        for file in files {
            match *file {
                "iptables-save.txt" => found.iptables.v4.clone_from(&ours.iptables.v4),
                "ip6tables-save.txt" => found.iptables.v6.clone_from(&ours.iptables.v6),
                "nft.txt" => found.nftables.clone_from(&ours.nftables),
                "ipset-save.txt" => found.ipset.clone_from(&ours.ipset),
                "ipvsadm-save.txt" => found.ipvs.clone_from(&ours.ipvs),
                "addr.txt" => found.host.addresses.clone_from(&ours.host.addresses),
                _ => {}
            }
        }
        Cow::Owned(found)
    }

    /// Returns whose the parts of a dump are.
    pub fn parts<'s>(&'s self, dump: &'s NodeState) -> Parts<'s> {
        Parts { mode: self.config.mode, expected: &self.state, dump }
    }
}

/// Returns what the proxier of a family sees, on the addresses that the dump shows.
fn seen(subject: &Subject<'_>, config: &Config, version: KubeVersion, family: Family) -> NodeView {
    let mut view = kps_model::view(subject.cluster, config, subject.node, version, family);
    view.nfacct = counts(subject.dump);
    let liberal = subject.dump.host.sysctls.get("net.netfilter.nf_conntrack_tcp_be_liberal");
    view.tcp_be_liberal |= liberal.is_some_and(|value| value == "1");
    let addresses = subject.dump.host.addresses.iter().filter(|a| a.link != DEVICE);
    let addresses = addresses.map(|address| address.network.addr());
    let shown: Vec<IpAddr> = addresses.filter(|a| Family::of(*a) == family).collect();
    if !shown.is_empty() {
        view.interface_addresses = shown;
    }
    view
}

/// Tells whether a proxier of a family can be at work: kube-proxy leaves a family alone that the
/// kernel does not have. Without Services of the family and rules of it, nobody can tell.
fn is_synced(view: &NodeView, mode: Mode, dump: &NodeState) -> bool {
    !view.ports.is_empty() || parts::shows_family(mode, view.family, dump)
}

/// Tells whether rules count in accounting objects, which not every kernel has: the one that drops
/// invalid packets tells.
fn counts(dump: &NodeState) -> bool {
    let families = [&dump.iptables.v4, &dump.iptables.v6];
    let chains = families.into_iter().filter_map(|rules| rules.chain("filter", "KUBE-FORWARD"));
    let mut drops =
        chains.flat_map(|chain| &chain.rules).filter(|rule| rule.target == Some(Target::Drop));
    drops.all(|rule| rule.matches.iter().any(|m| matches!(m, Match::Nfacct(_))))
}

/// Puts rules whose order is open into the order of the dump: of several ServicePorts that claim
/// the same, the first has it.
fn order_as_in(installed: &Ruleset, rules: &mut Ruleset, free: &[FreeOrder]) {
    let tables = &mut rules.tables;
    for free in free {
        let Some(table) = free.table else { continue };
        let chain = tables.get_mut(&table).and_then(|t| t.chains.get_mut(&free.chain));
        let (Some(chain), Some(installed)) = (chain, installed.chain(&table, &free.chain)) else {
            continue;
        };
        let places: HashMap<String, usize> = installed.rules.iter().map(text).zip(0..).collect();
        let movable = chain.rules.len().saturating_sub(free.tail);
        let (movable, _) = chain.rules.split_at_mut(movable);
        movable.sort_by_cached_key(|rule| places.get(&text(rule)).copied().unwrap_or(usize::MAX));
    }
}

/// Returns what a rule is known by, without what it has counted.
fn text(rule: &Rule) -> String {
    let family = kps_ruleset::iptables::Family::Ipv4;
    print_rule(&Rule { counters: None, layout: Layout::default(), ..rule.clone() }, family)
}

/// The elements of all ServicePorts, with every value that is claimed for each: which of several
/// wins depends on the order of a map.
struct Claims(HashMap<(Name, Key), Vec<Option<Data>>>);

impl Claims {
    fn of(plan: &nftables::Plan) -> Claims {
        let mut claims: HashMap<_, Vec<_>> = HashMap::new();
        for claim in plan.fragments.iter().flat_map(|fragment| &fragment.claims) {
            if let Claim::Element(container, element) = claim {
                let key = (container.name(), element.key.clone());
                claims.entry(key).or_default().push(element.data.clone());
            }
        }
        claims.retain(|_, values| values.len() > 1);
        Claims(claims)
    }

    fn settle_as_in(&self, dump: &NodeState, state: &mut NodeState, family: Family) {
        let family = if family == Family::V4 { TableFamily::Ip } else { TableFamily::Ip6 };
        let Some(installed) = dump.nftables.table(family, "kube-proxy") else { return };
        let tables = state.nftables.tables.iter_mut();
        for table in tables.filter(|table| table.family == family) {
            for ((set, key), claimed) in &self.0 {
                let installed = installed.sets.get(set).and_then(|set| set.elements.get(key));
                let place = table.sets.get_mut(set).and_then(|set| set.elements.get_mut(key));
                if let (Some(installed), Some(element)) = (installed, place)
                    && claimed.contains(&installed.data)
                {
                    element.clone_from(installed);
                }
            }
        }
    }
}

/// Returns, of the claims to each contested virtual server, the one that the dump shows.
fn winners(plan: &ipvs::Plan, dump: &NodeState) -> Vec<(ServiceId, VirtualServer)> {
    let shown = |(id, claims): (ServiceId, Vec<&VirtualServer>)| {
        let found = dump.ipvs.services.get(&id)?;
        let winner = claims.into_iter().find(|claim| lines::is_same_server(id, claim, found))?;
        Some((id, winner.clone()))
    };
    plan.contested().into_iter().filter_map(shown).collect()
}
