//! Whether all rules of a node are walked: leaving some out would make an answer a wrong one.

use kps_ruleset::nftables::TableFamily;
use kps_ruleset::{NodeState, iptables};

/// Returns what a node has that the walker does not look at; `None` if it sees everything.
pub fn not_walked(state: &NodeState) -> Option<String> {
    let families = [(&state.iptables.v4, TableFamily::Ip), (&state.iptables.v6, TableFamily::Ip6)];
    families.into_iter().find_map(|(rules, twin)| unseen_table(state, rules, twin))
}

/// Finds a table that decides something. `nft list ruleset` shows the tables of iptables-nft, too,
/// and there they are walked.
fn unseen_table(state: &NodeState, rules: &iptables::Ruleset, twin: TableFamily) -> Option<String> {
    let unseen = rules.tables.iter().find(|(name, table)| {
        decides(table) && state.nftables.table(twin, name.as_str()).is_none()
    });
    unseen.map(|(name, _)| format!("rules in table {name} of {}", tool(rules.family)))
}

fn decides(table: &iptables::Table) -> bool {
    let drops = Some(iptables::Policy::Drop);
    table.chains.values().any(|chain| !chain.rules.is_empty() || chain.policy == drops)
}

fn tool(family: iptables::Family) -> &'static str {
    match family {
        iptables::Family::Ipv4 => "iptables",
        iptables::Family::Ipv6 => "ip6tables",
    }
}
