//! The lines in which two states differ, up to the order that is open.

use std::collections::HashMap;

use kps_flow::Protocol;
use kps_ruleset::ipvs::{ServiceId, Table, VirtualServer};
use kps_ruleset::nftables::{self, Key, Object};
use kps_ruleset::{Name, NodeState, ipset, iptables, ipvs};

use super::expected::Expected;
use super::owners::{Dialled, dialled};
use super::parts::{DEVICE, size_of_chains, size_of_table};

/// A line that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// In which way.
    pub change: Change,
    /// The line with its place.
    pub text: String,
    /// The ServicePort that it belongs to.
    pub(super) service: Option<String>,
    /// What it lets clients dial, if it is not expected.
    pub(super) dialled: Option<Dialled>,
}

/// In which way a line is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It should be there.
    Missing,
    /// It should not be there.
    Extra,
    /// It looks otherwise, or stands in another place.
    Changed,
}

/// Returns the lines in which kube-proxy's part of a dump differs from what is expected.
pub(super) fn compare(expected: &Expected, own: &NodeState) -> Vec<Line> {
    let mut lines = of_nftables(expected, own);
    for family in [iptables::Family::Ipv4, iptables::Family::Ipv6] {
        lines.extend(of_iptables(expected, own, family));
    }
    lines.extend(of_ipvs(expected, own));
    lines.extend(of_sysctls(expected, own));
    lines
}

/// Returns for how many chains, rules, elements and servers such lines stand.
pub(super) fn weigh(expected: &Expected, own: &NodeState) -> usize {
    let (ours, found) = (&expected.state, own);
    let of_nftables: usize = nftables::compare(&ours.nftables, &found.nftables)
        .iter()
        .map(|difference| {
            let is_missing = change(&difference.change) == Change::Missing;
            weight_in(difference, if is_missing { &ours.nftables } else { &found.nftables })
        })
        .sum();
    let of_iptables = [iptables::Family::Ipv4, iptables::Family::Ipv6].map(|family| {
        let (ours, found) = (ours.iptables.family(family), found.iptables.family(family));
        let differences = iptables::compare::compare(ours, found, &expected.free);
        differences.iter().map(|difference| weight_of(difference, ours, found)).sum::<usize>()
    });
    let others = of_ipvs(expected, own).len() + of_sysctls(expected, own).len();
    of_nftables + of_iptables.iter().sum::<usize>() + others
}

fn of_sysctls(expected: &Expected, own: &NodeState) -> Vec<Line> {
    let shown = |name: &String| own.host.sysctls.get(name);
    let line = |(name, value): (&String, &String)| {
        let found = shown(name).filter(|found| *found != value)?;
        Some(Line {
            change: Change::Changed,
            text: format!("sysctl {name}: expected {value}, found {found}"),
            service: None,
            dialled: None,
        })
    };
    expected.sysctls.iter().filter_map(line).collect()
}

fn of_nftables(expected: &Expected, own: &NodeState) -> Vec<Line> {
    let (ours, found) = (&expected.state.nftables, &own.nftables);
    let differences = nftables::compare(ours, found);
    let has_elements = differences.iter().any(|d| matches!(d.object, Object::Element { .. }));
    let keys = if has_elements { keys(ours) } else { HashMap::new() };
    let line = |difference: nftables::Difference| {
        let text = difference.to_string();
        let (chain, change) = (chain(&difference.object), change(&difference.change));
        let element = match (&difference.object, &difference.change) {
            (Object::Element { .. }, nftables::Change::Extra(element)) => Some(element.as_str()),
            _ => None,
        };
        let said = element.unwrap_or(&text);
        let is_element = matches!(&difference.object, Object::Element { .. });
        let service = match expected_key(&difference.object, &keys) {
            Some((set, key)) => expected.owners.of_element(set, key),
            None if is_element && element.is_none() => None,
            None => expected.owners.find(chain.as_deref(), said),
        };
        Line { change, service, dialled: element.and_then(dialled), text }
    };
    differences.into_iter().map(line).collect()
}

/// The keys of elements by their set and how they are printed.
type Keys<'r> = HashMap<(Name, String), &'r Key>;

fn keys(ruleset: &nftables::Ruleset) -> Keys<'_> {
    let sets = ruleset.tables.iter().flat_map(|table| &table.sets);
    sets.flat_map(|(name, set)| {
        let printed = |key: &Key| set.display_element(&nftables::Element::new(key.clone()));
        set.elements.keys().map(move |key| ((*name, printed(key)), key))
    })
    .collect()
}

fn expected_key<'k>(object: &Object, keys: &Keys<'k>) -> Option<(Name, &'k Key)> {
    let Object::Element { set, key } = object else { return None };
    keys.get(&(*set, key.clone())).map(|key| (*set, *key))
}

/// Returns how much goes with an object that is missing or too much.
fn weight_in(difference: &nftables::Difference, ruleset: &nftables::Ruleset) -> usize {
    let id = difference.table;
    let table = ruleset.table(id.family, &id.name);
    let weight = match &difference.object {
        Object::Table => table.map(size_of_table),
        Object::Chain(name) => table.and_then(|t| Some(1 + t.chains.get(name)?.rules.len())),
        Object::Set { name, .. } => table.and_then(|t| Some(1 + t.sets.get(name)?.elements.len())),
        _ => None,
    };
    weight.unwrap_or(1)
}

fn chain(object: &Object) -> Option<String> {
    match object {
        Object::Chain(name) | Object::Order(name) | Object::Rule { chain: name, .. } => {
            Some(name.to_string())
        }
        _ => None,
    }
}

fn change(change: &nftables::Change) -> Change {
    match change {
        nftables::Change::Missing(_) => Change::Missing,
        nftables::Change::Extra(_) => Change::Extra,
        nftables::Change::Changed { .. } => Change::Changed,
    }
}

fn of_iptables(expected: &Expected, own: &NodeState, family: iptables::Family) -> Vec<Line> {
    use iptables::compare::Difference;
    let (ours, found) = (expected.state.iptables.family(family), own.iptables.family(family));
    let tool = if family == iptables::Family::Ipv4 { "iptables" } else { "ip6tables" };
    let line = |difference: Difference| {
        let (change, place, rule) = match &difference {
            Difference::MissingTable(_) => (Change::Missing, None, None),
            Difference::ExtraTable(_) => (Change::Extra, None, None),
            Difference::MissingChain(place) => (Change::Missing, Some(place), None),
            Difference::ExtraChain(place) => (Change::Extra, Some(place), None),
            Difference::MissingRule(place, rule) => (Change::Missing, Some(place), Some(rule)),
            Difference::ExtraRule(place, rule) => (Change::Extra, Some(place), Some(rule)),
            Difference::Order(place, rule) => (Change::Changed, Some(place), Some(rule)),
            Difference::Policy(place) => (Change::Changed, Some(place), None),
        };
        let said = rule.map_or("", String::as_str);
        let chain = place.map(|place| place.chain.as_str());
        let service = expected.owners.find(chain, said);
        let dialled = (change == Change::Extra).then(|| dialled(said)).flatten();
        let text = format!("{tool} {difference}");
        Line { change, text, service, dialled }
    };
    iptables::compare::compare(ours, found, &expected.free).into_iter().map(line).collect()
}

/// Returns how much goes with a table or chain.
fn weight_of(
    difference: &iptables::compare::Difference,
    ours: &iptables::Ruleset,
    found: &iptables::Ruleset,
) -> usize {
    use iptables::compare::Difference;
    let of_table = |rules: &iptables::Ruleset, name| rules.tables.get(name).map(size_of_chains);
    let of_chain = |rules: &iptables::Ruleset, place: &iptables::compare::Place| {
        rules.chain(&place.table, &place.chain).map(|chain| 1 + chain.rules.len())
    };
    let weight = match difference {
        Difference::MissingTable(name) => of_table(ours, name),
        Difference::ExtraTable(name) => of_table(found, name),
        Difference::MissingChain(place) => of_chain(ours, place),
        Difference::ExtraChain(place) => of_chain(found, place),
        _ => None,
    };
    weight.unwrap_or(1)
}

fn of_ipvs(expected: &Expected, own: &NodeState) -> Vec<Line> {
    let sets = |state: &NodeState| ipset::Sets {
        sets: state
            .ipset
            .sets
            .iter()
            .filter(|(n, _)| n.starts_with("KUBE-"))
            .map(|(n, s)| (*n, s.clone()))
            .collect(),
    };
    let is_ipvs = expected.config.mode == kps_model::Mode::Ipvs;
    let sets =
        if is_ipvs { ipset::compare(&sets(&expected.state), &sets(own)) } else { Vec::new() };
    let of_sets = sets.into_iter().map(|difference| of_set(expected, &difference));
    let servers = ipvs::compare(&expected.state.ipvs, &own.ipvs);
    let servers = servers.into_iter().filter(|difference| is_synced(expected, difference));
    let of_servers = servers.map(|difference| of_server(expected, &difference));
    of_sets.chain(of_servers).chain(bound(expected, own)).collect()
}

/// Tells whether a sync would mend a difference: it leaves alone what is not its own.
fn is_synced(expected: &Expected, difference: &ipvs::compare::Difference) -> bool {
    let ipvs::compare::Difference::ExtraService(id) = difference else { return true };
    let ServiceId::Address { address, .. } = id else { return false };
    let mut excluded = expected.views.iter().flat_map(|view| &view.ipvs.exclude_cidrs);
    !excluded.any(|range| range.contains(address))
}

fn of_set(expected: &Expected, difference: &ipset::compare::Difference) -> Line {
    use ipset::compare::Difference;
    let (change, element) = match difference {
        Difference::MissingSet(_) => (Change::Missing, None),
        Difference::ExtraSet(_) => (Change::Extra, None),
        Difference::ChangedSet { .. } => (Change::Changed, None),
        Difference::MissingElement { set, element } => (Change::Missing, Some((set, element))),
        Difference::ExtraElement { set, element } => (Change::Extra, Some((set, element))),
        Difference::ChangedElement { set, element } => (Change::Changed, Some((set, element))),
    };
    let service = element.and_then(|(set, element)| expected.owners.of_member(*set, *element));
    Line { change, text: format!("ipset {difference}"), service, dialled: None }
}

fn of_server(expected: &Expected, difference: &ipvs::compare::Difference) -> Line {
    use ipvs::compare::Difference;
    let (change, id) = match difference {
        Difference::MissingService(id) | Difference::MissingServer { service: id, .. } => {
            (Change::Missing, *id)
        }
        Difference::ExtraService(id) | Difference::ExtraServer { service: id, .. } => {
            (Change::Extra, *id)
        }
        Difference::ChangedService { service, .. } | Difference::ChangedServer { service, .. } => {
            (Change::Changed, *service)
        }
    };
    let dialled = virtual_server(id);
    let service = dialled.and_then(|dialled| expected.owners.of_dialled(dialled));
    let is_extra = matches!(difference, Difference::ExtraService(_));
    let dialled = dialled.filter(|_| is_extra);
    Line { change, text: format!("ipvs {difference}"), service, dialled }
}

/// Returns what a virtual server lets clients dial.
pub(super) fn virtual_server(id: ServiceId) -> Option<Dialled> {
    let ServiceId::Address { protocol, address, port } = id else { return None };
    Some((Some(address), Protocol::from_number(protocol.0)?, port))
}

/// Compares the addresses on the device of Services.
fn bound(expected: &Expected, own: &NodeState) -> Vec<Line> {
    let of = |state: &NodeState| -> Vec<String> {
        let addresses = state.host.addresses.iter().filter(|address| address.link == DEVICE);
        addresses.map(|address| address.network.addr().to_string()).collect()
    };
    let (ours, found) = (of(&expected.state), of(own));
    let line = |change, word: &str, address: &String| Line {
        change,
        text: format!("{DEVICE} {word} address {address}"),
        service: address.parse().ok().and_then(|address| expected.owners.of_address(address)),
        dialled: None,
    };
    let missing = ours.iter().filter(|address| !found.contains(address));
    let missing = missing.map(|address| line(Change::Missing, "missing", address));
    let extra = found.iter().filter(|address| !ours.contains(address));
    missing.chain(extra.map(|address| line(Change::Extra, "extra", address))).collect()
}

/// Tells whether two virtual servers are the same.
pub(super) fn is_same_server(id: ServiceId, one: &VirtualServer, other: &VirtualServer) -> bool {
    let only = |server: &VirtualServer| Table {
        services: [(id, server.clone())].into_iter().collect(),
        timeouts: None,
    };
    ipvs::compare(&only(one), &only(other)).is_empty()
}
