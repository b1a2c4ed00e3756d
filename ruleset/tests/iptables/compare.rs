//! Differences are named, and order counts where it can matter.

use kps_ruleset::iptables::compare::FreeOrder;
use kps_ruleset::iptables::{Family, Ruleset, compare, parse_ruleset};

fn ruleset(rules: &str) -> Ruleset {
    let text = format!("*nat\n:PREROUTING ACCEPT [0:0]\n:S - [0:0]\n:T - [0:0]\n{rules}COMMIT\n");
    parse_ruleset(&text, Family::Ipv4).value
}

fn differences(a: &str, b: &str, free: &[FreeOrder]) -> Vec<String> {
    compare(&ruleset(a), &ruleset(b), free).iter().map(ToString::to_string).collect()
}

fn free(tail: usize) -> [FreeOrder; 1] {
    [FreeOrder { table: None, chain: "S".into(), tail }]
}

const ONE: &str = "-A S -d 10.0.0.1/32 -j T\n-A S -d 10.0.0.2/32 -j T\n-A S -j RETURN\n";
const SWAPPED: &str = "-A S -d 10.0.0.2/32 -j T\n-A S -d 10.0.0.1/32 -j T\n-A S -j RETURN\n";
const LAST_MOVED: &str = "-A S -j RETURN\n-A S -d 10.0.0.2/32 -j T\n-A S -d 10.0.0.1/32 -j T\n";

#[test]
fn order_counts_unless_a_chain_is_free() {
    assert_eq!(differences(ONE, SWAPPED, &[]), ["nat/S: out of order from -d 10.0.0.2/32 -j T on"]);
    assert_eq!(differences(ONE, SWAPPED, &free(1)), [""; 0]);
    assert_eq!(differences(ONE, LAST_MOVED, &free(0)), [""; 0]);
    assert_eq!(
        differences(ONE, LAST_MOVED, &free(1)),
        ["nat/S: out of order from -d 10.0.0.1/32 -j T on"]
    );
    assert_eq!(differences(ONE, LAST_MOVED, &free(3)), [""; 0]);
}

#[test]
fn rules_and_chains_are_named() {
    assert_eq!(
        differences(ONE, "-A S -d 10.0.0.1/32 -j DROP\n-A S -j RETURN\n", &[]),
        [
            "nat/S: missing rule -d 10.0.0.1/32 -j T",
            "nat/S: missing rule -d 10.0.0.2/32 -j T",
            "nat/S: extra rule -d 10.0.0.1/32 -j DROP"
        ]
    );
    let other = parse_ruleset("*nat\n:PREROUTING DROP [0:0]\n:X - [0:0]\nCOMMIT\n", Family::Ipv4);
    let found: Vec<String> =
        compare(&ruleset(""), &other.value, &[]).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "nat/PREROUTING: other policy",
            "missing chain nat/S",
            "missing chain nat/T",
            "extra chain nat/X"
        ]
    );
}

#[test]
fn a_repeated_rule_counts_as_often_as_it_stands() {
    let (once, twice) = ("-A S -j T\n", "-A S -j T\n-A S -j T\n");
    assert_eq!(differences(once, twice, &free(0)), ["nat/S: extra rule -j T"]);
    assert_eq!(differences(twice, once, &free(0)), ["nat/S: missing rule -j T"]);
}

#[test]
fn bare_tables_and_the_place_of_comments_do_not_count() {
    let bare = parse_ruleset("*raw\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n", Family::Ipv4).value;
    assert_eq!(compare(&bare, &Ruleset::new(Family::Ipv4), &[]), []);
    let (a, b) = (
        "-A S -p tcp -m comment --comment x -m tcp --dport 1 -j T\n",
        "-A S -p tcp -m tcp --dport 1 -m comment --comment x -j T\n",
    );
    assert_eq!(differences(a, b, &[]), [""; 0]);
}
