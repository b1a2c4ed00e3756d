//! The order of chains at a hook, and what the hooks see.

use kps_flow::Outcome;
use kps_ruleset::nftables::Hook;
use kps_sim::trace::Deed;

use crate::world::{PASSED, chain, node, only, outside, process, under};

/// kernel: two tables with an output chain of priority 0; the mark that the later table's chain set
/// was the one that counted.
#[test]
fn of_equal_priorities_the_last_registered_runs_first() {
    let rules = "
        table ip a { chain c { type filter hook forward priority 0; meta mark 0 meta mark set 1 } }
        table ip b { chain c { type filter hook forward priority 0; meta mark 0 meta mark set 2 } }
        table ip z { chain c { type filter hook forward priority 10; meta mark 2 drop } }";
    assert_eq!(under(rules, &outside("10.244.0.5", 80)), Outcome::Drop);
}

#[test]
fn lower_priorities_run_first_whatever_the_table() {
    let rules = "
        table ip a { chain c { type filter hook forward priority 5; meta mark 7 drop } }
        table inet b { chain c { type filter hook forward priority -5; meta mark set 7 } }";
    assert_eq!(under(rules, &outside("10.244.0.5", 80)), Outcome::Drop);
}

/// kernel: in a chain of priority -300 every packet counted as `invalid` and none as `new`.
#[test]
fn before_conntrack_every_packet_is_invalid() {
    let rule = "ct state invalid drop";
    let early = chain("filter hook prerouting priority -300", rule);
    let late = chain("filter hook prerouting priority -199", rule);
    assert_eq!(under(&early, &outside("10.244.0.5", 80)), Outcome::Drop);
    assert_eq!(under(&late, &outside("10.244.0.5", 80)), PASSED);
}

/// kernel: a filter chain of priority -150 saw the packet before a nat chain of priority -160 had
/// translated it.
#[test]
fn nat_chains_run_where_translation_is_hooked_in() {
    let rules = "table ip t {
        chain nat { type nat hook prerouting priority -160; tcp dport 1 dnat to 10.244.0.5:2 }
        chain early { type filter hook prerouting priority -150; tcp dport 2 drop }
        chain late { type filter hook prerouting priority -50; tcp dport 2 drop }
    }";
    assert_eq!(under(rules, &outside("192.0.2.10", 1)), Outcome::Drop);
    let without_late = rules
        .replace("chain late { type filter hook prerouting priority -50; tcp dport 2 drop }", "");
    assert_ne!(under(&without_late, &outside("192.0.2.10", 1)), Outcome::Drop);
}

/// kernel: a packet to the node's own address met output, postrouting, prerouting (state `new` on
/// lo) and input; nat chains of prerouting and input did not see it.
#[test]
fn a_packet_to_the_node_itself_passes_twice() {
    let rules = "table ip t {
        chain pre { type nat hook prerouting priority -100; tcp dport 1 redirect to :9 }
        chain in { type nat hook input priority 100; tcp dport 1 snat to 192.0.2.9 }
        chain lo { type filter hook prerouting priority 0; iifname lo ct state new tcp dport 2 drop }
    }";
    let path = only(&node(rules), &process("192.0.2.10", 1));
    assert_eq!(path.outcome, Outcome::Local);
    let hooks: Vec<Hook> = path
        .steps
        .iter()
        .filter_map(|step| match &step.deed {
            Deed::Reaches(hook, _) => Some(*hook),
            _ => None,
        })
        .collect();
    assert_eq!(hooks, [Hook::Output, Hook::Postrouting, Hook::Prerouting, Hook::Input]);
    assert_eq!(under(rules, &process("192.0.2.10", 2)), Outcome::Drop);
}

#[test]
fn dormant_tables_are_not_hooked_in() {
    let rules =
        "table ip t { flags dormant; chain c { type filter hook forward priority 0; drop } }";
    assert_eq!(under(rules, &outside("10.244.0.5", 80)), PASSED);
}

#[test]
fn a_chain_at_ingress_sees_its_device_only() {
    let rules = "table netdev t { chain c { type filter hook ingress device eth0 priority 0; ip daddr 10.244.0.5 drop } }";
    assert_eq!(under(rules, &outside("10.244.0.5", 80)), Outcome::Drop);
    let other = rules.replace("eth0", "eth1");
    assert_eq!(under(&other, &outside("10.244.0.5", 80)), PASSED);
}
