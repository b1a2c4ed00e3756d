//! Chains: verdicts, calls, policies.

use kps_flow::{Outcome, Protocol, RejectKind};

use crate::world::{PASSED, by, chain, node, outside, process, shares, under};

/// Marks packets to distinguish rules that were met: port 1 is dropped if the rules say so.
fn forward(rules: &str) -> String {
    chain("filter hook forward priority 0", rules)
}

#[test]
fn accept_ends_this_base_chain_only() {
    let later = "table inet u { chain c { type filter hook forward priority 10; drop } }";
    let rules = forward("accept\ndrop") + later;
    assert_eq!(under(&rules, &outside("10.244.0.5", 80)), Outcome::Drop);
    assert_eq!(under(&forward("accept\ndrop"), &outside("10.244.0.5", 80)), PASSED);
}

#[test]
fn drop_is_final() {
    let later = "table inet u { chain c { type filter hook forward priority 10; accept } }";
    assert_eq!(under(&(forward("drop") + later), &outside("10.244.0.5", 80)), Outcome::Drop);
}

/// kernel: the rule behind the jump counted, the one behind the goto in the called chain did not,
/// nor did the one behind the goto in the base chain.
#[test]
fn a_chain_that_was_gone_to_returns_to_the_caller_of_the_one_that_went() {
    let rules = "table ip t {
        chain g { counter }
        chain j { goto g; tcp dport 1 drop; }
        chain base { type filter hook forward priority 0; policy accept;
            jump j
            tcp dport 2 drop
            tcp dport { 1, 3 } goto j
            tcp dport { 1, 3 } drop
        }
    }";
    let flow = |port| outside("10.244.0.5", port);
    assert_eq!(under(rules, &flow(1)), PASSED);
    assert_eq!(under(rules, &flow(2)), Outcome::Drop);
    assert_eq!(under(rules, &flow(3)), PASSED);
}

#[test]
fn the_end_of_a_base_chain_is_its_policy() {
    let rules = "table ip t {
        chain ok { accept }
        chain base { type filter hook forward priority 0; policy drop;
            tcp dport 1 return
            tcp dport 2 jump ok
            tcp dport 3 goto ok
        }
    }";
    let flow = |port| outside("10.244.0.5", port);
    assert_eq!(under(rules, &flow(1)), Outcome::Drop);
    assert_eq!(under(rules, &flow(2)), PASSED);
    assert_eq!(under(rules, &flow(3)), PASSED);
    assert_eq!(under(rules, &flow(4)), Outcome::Drop);
}

/// kernel: what stands behind a map that says `continue` was done.
#[test]
fn continue_goes_on_with_the_same_rule_and_a_miss_with_the_next() {
    let rules = forward("tcp dport vmap { 1 : continue } drop\ntcp dport 2 drop");
    assert_eq!(under(&rules, &outside("10.244.0.5", 1)), Outcome::Drop);
    assert_eq!(under(&rules, &outside("10.244.0.5", 2)), Outcome::Drop);
    assert_eq!(under(&rules, &outside("10.244.0.5", 3)), PASSED);
}

#[test]
fn jumps_nest_sixteen_deep() {
    let deep = |chains: u32| {
        let link = |i| format!("chain c{i} {{ jump c{} }}\n", i + 1);
        let links = (1..chains).map(link).collect::<Vec<_>>().concat();
        format!(
            "table ip t {{ chain c{chains} {{ drop }}\n{links}
             chain base {{ type filter hook forward priority 0; jump c1 }} }}"
        )
    };
    assert_eq!(under(&deep(16), &outside("10.244.0.5", 80)), Outcome::Drop);
    assert!(matches!(under(&deep(17), &outside("10.244.0.5", 80)), Outcome::Unknown(_)));
}

#[test]
fn circles_end_loudly() {
    let rules = "table ip t {
        chain a { goto b }
        chain b { goto a }
        chain base { type filter hook forward priority 0; jump a }
    }";
    assert!(matches!(under(rules, &outside("10.244.0.5", 80)), Outcome::Unknown(_)));
}

#[test]
fn rejects_tell_the_client_what_the_rule_says() {
    let rules = forward(
        "tcp dport 1 reject
         tcp dport 2 reject with icmpx type admin-prohibited
         tcp dport 3 reject with tcp reset
         tcp dport 4 reject with icmp type host-unreachable
         tcp dport 4 reject with icmpv6 type no-route",
    );
    let v4 = |port| under(&rules, &outside("10.244.0.5", port));
    let v6 = |port| under(&rules, &outside("fd00:10:244::5", port));
    assert_eq!(
        [v4(1), v4(2), v4(3), v4(4)].map(refusal),
        ["icmp 3/3", "icmp 3/13", "tcp reset", "icmp 3/1"]
    );
    assert_eq!(
        [v6(1), v6(2), v6(3), v6(4)].map(refusal),
        ["icmpv6 1/4", "icmpv6 1/1", "tcp reset", "icmpv6 1/0"]
    );
}

/// A reset answers TCP only: for other packets the rule does not match.
#[test]
fn a_reset_is_for_tcp() {
    let rules = forward("reject with tcp reset");
    let udp = by(Protocol::Udp, outside("10.244.0.5", 3));
    assert_eq!(under(&rules, &udp), PASSED);
    assert_eq!(under(&rules, &outside("10.244.0.5", 3)), Outcome::Reject(RejectKind::TcpReset));
}

#[test]
fn without_rules_packets_go_where_routes_lead() {
    let state = node("");
    assert_eq!(shares(&state, &outside("192.0.2.10", 80)).keys().next(), Some(&Outcome::Local));
    assert_eq!(shares(&state, &process("10.9.9.9", 80)).keys().next(), Some(&PASSED));
}

fn refusal(outcome: Outcome) -> String {
    match outcome {
        Outcome::Reject(kind) => kind.to_string(),
        other => other.to_string(),
    }
}
