//! What the model does not know is never guessed.

use kps_flow::Outcome;
use kps_sim::trace::Deed;

use crate::world::{PASSED, chain, node, outside, process, share, shares, walk};

fn forward(rules: &str) -> kps_ruleset::NodeState {
    node(&chain("filter hook forward priority 0", rules))
}

fn unknown_share(
    outcomes: &std::collections::BTreeMap<Outcome, num_rational::BigRational>,
) -> num_rational::BigRational {
    outcomes.iter().filter(|(o, _)| matches!(o, Outcome::Unknown(_))).map(|(_, s)| s).sum()
}

#[test]
fn an_unknown_match_is_walked_both_ways() {
    let state = forward("ip ttl 64 drop");
    let walk = walk(&state, &outside("10.244.0.5", 80));
    let outcomes: Vec<_> = walk.paths.iter().map(|path| path.outcome.clone()).collect();
    assert_eq!(outcomes, [Outcome::Drop, PASSED]);
    let holds: Vec<_> =
        walk.paths.iter().flat_map(kps_sim::Path::assumptions).map(|a| a.holds).collect();
    assert_eq!(holds, [true, false]);
    assert_eq!(walk.assumptions().len(), 1);
    assert_eq!(unknown_share(&shares(&state, &outside("10.244.0.5", 80))), share(1, 1));
}

#[test]
fn what_holds_either_way_is_known() {
    let state = forward(
        "ip ttl 64 meta mark set 1\nnumgen random mod 4 vmap { 0 : drop, 1 : drop, 2 : accept, 3 : accept }",
    );
    let outcomes = shares(&state, &outside("10.244.0.5", 80));
    assert_eq!(outcomes[&Outcome::Drop], share(1, 2));
    assert_eq!(outcomes[&PASSED], share(1, 2));
}

#[test]
fn an_outcome_keeps_the_share_that_it_has_in_any_case() {
    let state = forward("numgen random mod 4 < 1 drop\nip ttl 64 numgen random mod 4 < 2 drop");
    let outcomes = shares(&state, &outside("10.244.0.5", 80));
    assert_eq!(outcomes[&Outcome::Drop], share(1, 4));
    assert_eq!(outcomes[&PASSED], share(3, 8));
    assert_eq!(unknown_share(&outcomes), share(3, 8));
}

#[test]
fn a_rule_without_an_effect_raises_no_question() {
    let state = forward("ip ttl 64 counter\nip ttl 64 log prefix \"x\"");
    assert_eq!(walk(&state, &outside("10.244.0.5", 80)).paths.len(), 1);
}

#[test]
fn an_unsupported_statement_is_loud() {
    let state = forward("tcp dport 80 tproxy ip to 127.0.0.1:1\ntcp dport 81 queue num 0");
    for port in [80, 81] {
        let walk = walk(&state, &outside("10.244.0.5", port));
        assert!(matches!(walk.paths[0].outcome, Outcome::Unknown(_)), "{:?}", walk.paths);
    }
    assert_eq!(walk(&state, &outside("10.244.0.5", 82)).paths[0].outcome, PASSED);
}

#[test]
fn a_mark_from_elsewhere_leaves_bits_open() {
    let state = forward(
        "meta mark set ip dscp\nmeta mark set meta mark & 0xff\nmeta mark & 0x4000 == 0 drop",
    );
    assert_eq!(walk(&state, &outside("10.244.0.5", 80)).paths.len(), 1);
    let state = forward("meta mark set ip dscp\nmeta mark & 0x1 == 0 drop");
    assert_eq!(walk(&state, &outside("10.244.0.5", 80)).paths.len(), 2);
}

#[test]
fn a_rate_limit_is_taken_not_to_be_exceeded() {
    let state = forward("limit rate 5/second accept\ndrop");
    let walk = walk(&state, &outside("10.244.0.5", 80));
    assert_eq!(walk.paths[0].outcome, PASSED);
    let said = walk.paths[0].steps.iter().any(|s| matches!(s.deed, Deed::Assumes { .. }));
    assert!(said);
}

#[test]
fn an_undecided_policy_rule_is_walked_both_ways() {
    let rules = "0:\tfrom all lookup local\n90:\tfrom all ipproto udp lookup 77\n32766:\tfrom all lookup main\n";
    let state = crate::world::with_host(node(""), "blackhole default table 77", rules, "");
    let outcomes: Vec<_> =
        walk(&state, &process("10.9.9.9", 80)).paths.into_iter().map(|p| p.outcome).collect();
    assert_eq!(outcomes, [Outcome::Drop, PASSED]);
}
