//! What is left over of kube-proxy in another mode.

use std::collections::BTreeMap;

use kps_flow::Protocol;
use kps_model::Mode;
use kps_ruleset::Name;
use kps_ruleset::iptables::{Ruleset, print_rule};

use super::lines::{Change, Line, virtual_server};
use super::owners::{Dialled, Owners, dialled};
use super::packets::UNDEFINED;
use super::parts::{DEVICE, Parts, Whose};

/// Returns what is left over of each other mode, a line for each table.
pub(super) fn find(parts: &Parts<'_>) -> BTreeMap<&'static str, (Mode, Vec<Line>)> {
    let mut found: BTreeMap<&'static str, (Mode, Vec<Line>)> = BTreeMap::new();
    let mut add = |mode: Mode, text: String| {
        let line = Line { change: Change::Extra, text, service: None, dialled: None };
        found.entry(mode.as_str()).or_insert_with(|| (mode, Vec::new())).1.push(line);
    };
    for table in &parts.dump.nftables.tables {
        if let Whose::LeftOver(mode) = parts.table(table) {
            let chains = table.chains.len();
            add(mode, format!("nftables table {} with {chains} chains", table.id()));
        }
    }
    let tools = [("iptables", &parts.dump.iptables.v4), ("ip6tables", &parts.dump.iptables.v6)];
    for (tool, rules) in tools {
        for ((mode, table), chains) in chains(parts, rules) {
            let Ok(mode) = mode.parse() else { continue };
            add(mode, format!("{tool} table {table} with {chains} chains"));
        }
    }
    if let Whose::LeftOver(mode) = parts.ipvs() {
        let addresses = parts.dump.host.addresses.iter().filter(|a| a.link == DEVICE).count();
        let servers = parts.dump.ipvs.services.len();
        let sets = parts.dump.ipset.sets.keys().filter(|name| name.starts_with("KUBE-")).count();
        let text = format!(
            "{servers} virtual servers, {sets} ipsets, and {addresses} addresses on {DEVICE}"
        );
        add(mode, text);
    }
    found
}

/// Returns what clients can dial by what is left over, with the ServicePort that it names.
pub(super) fn dialled_by(parts: &Parts<'_>, owners: &Owners) -> Vec<(Option<String>, Dialled)> {
    let of_text = |text: String| Some((owners.find(None, &text), dialled(&text)?));
    let mut found: Vec<_> = texts(parts).into_iter().filter_map(of_text).collect();
    if matches!(parts.ipvs(), Whose::LeftOver(_)) {
        let servers = parts.dump.ipvs.services.keys().filter_map(|id| virtual_server(*id));
        found.extend(servers.map(|dialled| (None, dialled)));
        let bound = parts.dump.host.addresses.iter().filter(|address| address.link == DEVICE);
        let bound = bound.map(|address| address.network.addr());
        let bound = bound.filter(|address| !owners.has_address(*address));
        found.extend(bound.map(|address| (None, (Some(address), Protocol::Tcp, UNDEFINED))));
    }
    found.retain(|(_, dialled)| !owners.has(*dialled));
    found
}

/// Returns the rules and elements that lead to Services.
fn texts(parts: &Parts<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    for table in &parts.dump.nftables.tables {
        let maps = ["service-ips", "service-nodeports"].map(Name::new);
        let maps = maps.iter().filter_map(|name| table.sets.get(name));
        if matches!(parts.table(table), Whose::LeftOver(_)) {
            texts.extend(
                maps.flat_map(|set| {
                    set.elements.values().map(|element| set.display_element(element))
                }),
            );
        }
    }
    for rules in [&parts.dump.iptables.v4, &parts.dump.iptables.v6] {
        for name in ["KUBE-SERVICES", "KUBE-NODEPORTS"] {
            let chain = rules.chain("nat", name);
            if matches!(parts.chain(name.into()), Whose::LeftOver(_)) {
                let rules_of = chain.into_iter().flat_map(|chain| &chain.rules);
                texts.extend(rules_of.map(|rule| print_rule(rule, rules.family)));
            }
        }
    }
    texts
}

fn chains<'r>(parts: &Parts<'_>, rules: &'r Ruleset) -> BTreeMap<(&'static str, &'r str), usize> {
    let mut counts = BTreeMap::new();
    for (name, table) in &rules.tables {
        for chain in table.chains.keys() {
            if let Whose::LeftOver(mode) = parts.chain(*chain) {
                *counts.entry((mode.as_str(), name.as_str())).or_default() += 1;
            }
        }
    }
    counts
}
