//! What a walk of iptables rules takes for granted.

use kps_ruleset::NodeState;
use kps_ruleset::iptables::{Match, Rule, Statistic};

use super::compile::shown_twice;

/// Says what is assumed of a node's iptables rules because no dump shows it.
pub(crate) fn assumed(state: &NodeState) -> Vec<String> {
    let twice = state.nftables.tables.iter().filter(|table| shown_twice(table, &state.iptables));
    let twice = twice.map(|table| {
        let (family, name) = (table.family.as_str(), table.name);
        format!("table {family} {name} of nft is that of iptables-save, and runs once")
    });
    let mut all: Vec<String> = twice.collect();
    let has = |wanted: fn(&Match) -> bool| rules(state).any(|r| r.matches.iter().any(wanted));
    if has(|test| matches!(test, Match::Recent(_))) {
        all.push("the lists of -m recent are empty: nobody has an affinity yet".to_owned());
    }
    if has(|test| matches!(test, Match::Statistic(Statistic::Nth { .. }))) {
        all.push("the counters of -m statistic --mode nth are fresh".to_owned());
    }
    if has(|test| matches!(test, Match::Limit(_) | Match::Hashlimit(_))) {
        all.push("no rate of -m limit or -m hashlimit is exceeded".to_owned());
    }
    all
}

fn rules(state: &NodeState) -> impl Iterator<Item = &Rule> {
    let tables =
        [&state.iptables.v4, &state.iptables.v6].into_iter().flat_map(|r| r.tables.values());
    tables.flat_map(|table| table.chains.values()).flat_map(|chain| &chain.rules)
}
