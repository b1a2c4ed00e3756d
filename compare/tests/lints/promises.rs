//! Rules that break a promise, in each mode.

use std::collections::BTreeSet;

use kps_model::Mode;

use crate::sound::Trial;

/// Returns what is found once rules are edited.
fn broken(mode: Mode, edits: &[&str], rules: &[&str]) -> BTreeSet<&'static str> {
    Trial::new(mode, edits).with_rules(rules).fired()
}

#[test]
fn a_wrong_endpoint_breaks_a_promise_in_every_mode() {
    let cases = [
        (Mode::Iptables, "--to-destination 10.244.0.2:8080 => --to-destination 10.244.0.9:8080"),
        (Mode::Nftables, "dnat to 10.244.0.2:8080 => dnat to 10.244.0.9:8080"),
        (Mode::Ipvs, "10.96.0.1:80 -r 10.244.0.2:8080 => 10.96.0.1:80 -r 10.244.0.9:8080"),
    ];
    for (mode, rule) in cases {
        let fired = broken(mode, &[], &[rule]);
        assert!(fired.contains("promise-broken"), "{mode}: {fired:?}");
    }
}

#[test]
fn a_broken_promise_names_the_rule_that_decides() {
    let rule = "--to-destination 10.244.0.2:8080 => --to-destination 10.244.0.9:8080";
    let found = Trial::new(Mode::Iptables, &[]).with_rules(&[rule]).found();
    let broken = found.iter().find(|finding| finding.lint.about().id == "promise-broken");
    let witness = broken.unwrap().witness.as_ref().unwrap();
    let decided = witness.decided.as_deref().unwrap();
    assert!(decided.starts_with("nat KUBE-SEP-"), "{decided}");
    assert!(decided.ends_with("--to-destination 10.244.0.9:8080"), "{decided}");
}

#[test]
fn a_rule_of_somebody_else_is_told_as_such() {
    let before = "-A POSTROUTING -m comment => -A POSTROUTING -s 10.244.0.0/16 -j ACCEPT\n-A POSTROUTING -m comment";
    let fired = broken(Mode::Iptables, &[TWO_HERE], &[before]);
    assert!(fired.contains("hairpin-not-masqueraded"), "{fired:?}");
    let shut = ":FORWARD ACCEPT => :FORWARD DROP";
    assert!(broken(Mode::Iptables, &[], &[shut]).contains("foreign-rule-decides"));
}

const TWO_HERE: &str = "endpoints: [{addresses: [10.244.0.2], => endpoints: [{addresses: [10.244.0.3], nodeName: a}, {addresses: [10.244.0.2],";

#[test]
fn shares_that_do_not_sum_to_one_are_told() {
    let one_of_two = "--probability 0.50000000000 => --probability 0.40000000000";
    assert_eq!(broken(Mode::Iptables, &[TWO_HERE], &[one_of_two]), ["shares-uneven"].into());
    let fired = broken(Mode::Iptables, &[TWO_HERE], &[LAST_UNSURE]);
    assert!(fired.contains("shares-lost"), "{fired:?}");
}

/// Makes the last rule of the cascade hold by chance, too.
const LAST_UNSURE: &str = "-m comment --comment \"shop/web:p -> 10.244.0.3:8080\" -j => -m comment --comment \"shop/web:p -> 10.244.0.3:8080\" -m statistic --mode random --probability 0.5 -j";

#[test]
fn a_map_with_a_missing_number_loses_shares() {
    let hole = "numgen random mod 2 map => numgen random mod 3 map";
    let fired = broken(Mode::Nftables, &[TWO_HERE], &[hole]);
    assert!(fired.contains("shares-lost"), "{fired:?}");
}

#[test]
fn weights_that_differ_are_told() {
    let weight =
        "-t 10.96.0.1:80 -r 10.244.0.2:8080 -m -w 1 => -t 10.96.0.1:80 -r 10.244.0.2:8080 -m -w 0";
    let fired = broken(Mode::Ipvs, &[TWO_HERE], &[weight]);
    assert!(fired.contains("shares-uneven"), "{fired:?}");
}
