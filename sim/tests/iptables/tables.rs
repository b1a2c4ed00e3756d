//! Nodes with iptables rules: that of `world`.

use kps_flow::{Flow, Outcome};
use kps_ruleset::NodeState;
use kps_ruleset::ipset::parse_sets;
use kps_ruleset::iptables::{Family, builtin_chains, parse_ruleset};

use crate::world::{node, outcome};

/// A table as `iptables-save` prints it. The rules may begin with the policy of a built-in chain, or
/// with other chains: `:NAME - [0:0]`.
pub fn table(name: &str, rules: &str) -> String {
    let chains = builtin_chains(name).iter().map(|chain| format!(":{chain} ACCEPT [0:0]\n"));
    let rules: Vec<&str> = rules.lines().map(str::trim).collect();
    format!("*{name}\n{}{}\nCOMMIT\n", chains.collect::<String>(), rules.join("\n"))
}

/// A node with these IPv4 tables.
pub fn with_tables(text: &str) -> NodeState {
    let mut state = node("");
    let parsed = parse_ruleset(text, Family::Ipv4);
    assert_eq!(parsed.errors, [], "{text}");
    state.iptables.v4 = parsed.value;
    state
}

/// A node with these IPv6 tables.
pub fn with_tables6(text: &str) -> NodeState {
    let mut state = node("");
    let parsed = parse_ruleset(text, Family::Ipv6);
    assert_eq!(parsed.errors, [], "{text}");
    state.iptables.v6 = parsed.value;
    state
}

/// Adds IP sets, as `ipset save` prints them.
pub fn with_sets(mut state: NodeState, text: &str) -> NodeState {
    let parsed = parse_sets(text);
    assert_eq!(parsed.errors, [], "{text}");
    state.ipset = parsed.value;
    state
}

/// The outcome with these IPv4 tables.
pub fn under(text: &str, flow: &Flow) -> Outcome {
    outcome(&with_tables(text), flow)
}

/// A filter table that drops in FORWARD what a test selects.
pub fn dropping(test: &str) -> String {
    table("filter", &format!("-A FORWARD {test} -j DROP"))
}

/// Whether a test selects a forwarded flow.
pub fn selects(test: &str, flow: &Flow) -> bool {
    under(&dropping(test), flow) == Outcome::Drop
}

/// Whether a test selects a flow of a node process on its way out.
pub fn selects_sent(test: &str, flow: &Flow) -> bool {
    under(&table("filter", &format!("-A OUTPUT {test} -j DROP")), flow) == Outcome::Drop
}
