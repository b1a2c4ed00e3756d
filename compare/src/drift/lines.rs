//! The lines in which two states differ, up to the order that is open.

use kps_flow::Protocol;
use kps_ruleset::ipvs::{ServiceId, Table, VirtualServer};
use kps_ruleset::nftables::{self, Object};
use kps_ruleset::{NodeState, ipset, iptables, ipvs};

use super::expected::Expected;
use super::owners::{Dialled, dialled};
use super::parts::{DEVICE, size_of_table};

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
    /// How many chains, rules, elements or servers it stands for.
    pub(super) weight: usize,
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
    lines
}

fn of_nftables(expected: &Expected, own: &NodeState) -> Vec<Line> {
    let (ours, found) = (&expected.state.nftables, &own.nftables);
    let differences = nftables::compare(ours, found);
    let line = |difference: nftables::Difference| {
        let text = difference.to_string();
        let (chain, change) = (chain(&difference.object), change(&difference.change));
        let element = match (&difference.object, &difference.change) {
            (Object::Element { .. }, nftables::Change::Extra(element)) => Some(element.as_str()),
            _ => None,
        };
        let said = element.unwrap_or(&text);
        let service = expected.owners.find(chain.as_deref(), said);
        let weight = weight_in(&difference, if change == Change::Missing { ours } else { found });
        Line { change, service, dialled: element.and_then(dialled), text, weight }
    };
    differences.into_iter().map(line).collect()
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
        let rules = if change == Change::Missing { ours } else { found };
        let weight = place.filter(|_| rule.is_none()).and_then(|place| {
            let chain = rules.chain(&place.table, &place.chain)?;
            Some(1 + chain.rules.len())
        });
        let text = format!("{tool} {difference}");
        Line { change, text, service, dialled, weight: weight.unwrap_or(1) }
    };
    iptables::compare::compare(ours, found, &expected.free).into_iter().map(line).collect()
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
        Difference::MissingElement { element, .. } => (Change::Missing, Some(element)),
        Difference::ExtraElement { element, .. } => (Change::Extra, Some(element)),
        Difference::ChangedElement { element, .. } => (Change::Changed, Some(element)),
    };
    let said = element.map(ToString::to_string).unwrap_or_default();
    let service = expected.owners.find(None, &said);
    Line { change, text: format!("ipset {difference}"), service, dialled: None, weight: 1 }
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
    Line { change, text: format!("ipvs {difference}"), service, dialled, weight: 1 }
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
        service: expected.owners.find(None, address),
        dialled: None,
        weight: 1,
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
