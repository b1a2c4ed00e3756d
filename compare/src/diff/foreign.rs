//! Rules of others that look at what is kube-proxy's own: they lose their meaning with a move.

use std::collections::HashSet;

use kps_ruleset::NodeState;
use kps_ruleset::iptables::{Ruleset, print_rule};

use super::compare::Move;
use super::setup::Installed;

/// What begins the names of kube-proxy's chains and sets.
const OWN: &str = "KUBE-";
/// The interface of ipvs mode.
const IPVS_LINK: &str = "kube-ipvs0";
/// The chain that kubelet makes itself, and has its rules lead to.
const OF_KUBELET: &str = "KUBE-FIREWALL";

/// Returns the rules of a node that was found, outside of kube-proxy's chains, that name its chains,
/// sets or interface and are not those that kube-proxy leads to them by.
pub(super) fn rules(moved: &Move<'_>, side: &Installed) -> Vec<String> {
    if !side.is_found {
        return Vec::new();
    }
    let own = side.setup.install(moved.cluster, moved.node);
    let own: HashSet<String> = outside(&own.state).collect();
    let names_own = |rule: &String| {
        (rule.contains(OWN) || rule.contains(IPVS_LINK)) && !rule.ends_with(OF_KUBELET)
    };
    outside(&side.state).filter(|rule| names_own(rule) && !own.contains(rule)).collect()
}

/// Returns the rules outside of kube-proxy's chains, each with its table.
fn outside(state: &NodeState) -> impl Iterator<Item = String> {
    [&state.iptables.v4, &state.iptables.v6].into_iter().flat_map(in_tables)
}

fn in_tables(ruleset: &Ruleset) -> impl Iterator<Item = String> {
    let family = ruleset.family;
    ruleset.tables.iter().flat_map(move |(table, content)| {
        let chains = content.chains.iter().filter(|(name, _)| !name.starts_with(OWN));
        chains.flat_map(move |(chain, rules)| {
            let text = move |rule| print_rule(rule, family);
            rules.rules.iter().map(move |rule| format!("{table} {chain} {}", text(rule)))
        })
    })
}
