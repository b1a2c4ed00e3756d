//! Chains: verdicts, calls, policies.

use kps_flow::{Outcome, Protocol, RejectKind};

use crate::tables::{table, under, with_tables6};
use crate::world::{PASSED, by, outcome, outside, process};

fn filter(rules: &str, port: u16) -> Outcome {
    under(&table("filter", rules), &outside("10.244.0.5", port))
}

#[test]
fn accept_ends_this_table_only() {
    let rules = "-A FORWARD -j ACCEPT\n-A FORWARD -j DROP";
    assert_eq!(filter(rules, 80), PASSED);
    let both = table("filter", rules) + &table("security", "-A FORWARD -j DROP");
    assert_eq!(under(&both, &outside("10.244.0.5", 80)), Outcome::Drop);
}

#[test]
fn the_end_of_a_built_in_chain_is_its_policy() {
    let rules = "
        :FORWARD DROP [0:0]
        :OK - [0:0]
        -A FORWARD -p tcp -m tcp --dport 1 -j RETURN
        -A FORWARD -p tcp -m tcp --dport 2 -j OK
        -A FORWARD -p tcp -m tcp --dport 3 -g OK
        -A OK -j ACCEPT";
    assert_eq!(filter(rules, 1), Outcome::Drop);
    assert_eq!(filter(rules, 2), PASSED);
    assert_eq!(filter(rules, 3), PASSED);
    assert_eq!(filter(rules, 4), Outcome::Drop);
}

#[test]
fn a_called_chain_comes_back_at_its_end_and_at_return() {
    let rules = "
        :A - [0:0]
        -A FORWARD -j A
        -A FORWARD -j DROP
        -A A -p tcp -m tcp --dport 1 -j RETURN
        -A A -p tcp -m tcp --dport 2 -j ACCEPT";
    assert_eq!(filter(rules, 1), Outcome::Drop);
    assert_eq!(filter(rules, 2), PASSED);
    assert_eq!(filter(rules, 3), Outcome::Drop);
}

#[test]
fn a_chain_that_was_gone_to_returns_to_the_caller_of_the_one_that_went() {
    let rules = "
        :J - [0:0]
        :G - [0:0]
        -A FORWARD -j J
        -A FORWARD -p tcp -m tcp --dport 2 -j DROP
        -A FORWARD -p tcp -m tcp --dport 3 -g J
        -A FORWARD -p tcp -m tcp --dport 3 -j DROP
        -A J -g G
        -A J -p tcp -m tcp --dport 1 -j DROP";
    assert_eq!(filter(rules, 1), PASSED);
    assert_eq!(filter(rules, 2), Outcome::Drop);
    assert_eq!(filter(rules, 3), PASSED);
}

#[test]
fn a_rule_without_a_target_only_counts() {
    assert_eq!(filter("-A FORWARD\n-A FORWARD -j DROP", 80), Outcome::Drop);
}

#[test]
fn reject_says_how() {
    let kind = |with: &str| filter(&format!("-A FORWARD -j REJECT{with}"), 80);
    let icmp = |code| Outcome::Reject(RejectKind::Icmp(code));
    assert_eq!(kind(""), icmp(3));
    assert_eq!(kind(" --reject-with icmp-port-unreachable"), icmp(3));
    assert_eq!(kind(" --reject-with icmp-net-unreachable"), icmp(0));
    assert_eq!(kind(" --reject-with icmp-host-prohibited"), icmp(10));
    assert_eq!(kind(" --reject-with icmp-admin-prohibited"), icmp(13));
    let reset = filter("-A FORWARD -p tcp -j REJECT --reject-with tcp-reset", 80);
    assert_eq!(reset, Outcome::Reject(RejectKind::TcpReset));
}

#[test]
fn each_family_has_its_tables() {
    let rules = table("filter", "-A FORWARD -j REJECT\n-A OUTPUT -p ipv6-icmp -j DROP");
    let six = with_tables6(&rules);
    assert_eq!(outcome(&six, &outside("10.244.0.5", 80)), PASSED);
    let refused = Outcome::Reject(RejectKind::PORT_UNREACHABLE_V6);
    assert_eq!(outcome(&six, &outside("fd00:10:244::5", 80)), refused);
    let ping = by(Protocol::Icmpv6, process("fd00:10:244::5", 0));
    assert_eq!(outcome(&six, &ping), Outcome::Drop);
}

#[test]
fn chains_that_call_each_other_in_a_circle_are_unknown() {
    let jumps = ":A - [0:0]\n:B - [0:0]\n-A FORWARD -j A\n-A A -j B\n-A B -j A";
    let goes = jumps.replace("-j", "-g");
    for rules in [jumps, goes.as_str()] {
        assert!(matches!(filter(rules, 80), Outcome::Unknown(_)), "{rules}");
    }
}

#[test]
fn a_chain_that_does_not_exist_is_named() {
    let Outcome::Unknown(why) = filter("-A FORWARD -j NOWHERE", 80) else { panic!() };
    assert!(why.contains("NOWHERE"), "{why}");
}
