//! Laws that hold for any rules and any packet.

#![expect(clippy::unwrap_used, reason = "the fixtures are constants")]

use std::fmt::Write;

use kps_flow::{ClientClass, Flow, Outcome, Protocol};
use kps_ruleset::host::parse::{parse_addresses, parse_routes};
use kps_ruleset::{NodeState, nftables};
use kps_sim::{Options, Walk, Walker};
use num_rational::BigRational;
use proptest::collection::vec;
use proptest::prelude::*;

/// A match, by its text. Some the model cannot decide.
fn a_match() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        (1_u8..4).prop_map(|n| format!("tcp dport {n}")),
        (1_u8..4).prop_map(|n| format!("tcp dport != {n}")),
        (0_u8..4).prop_map(|n| format!("meta mark & {n} == 0")),
        (1_u8..5).prop_map(|n| format!("numgen random mod {n} < 2")),
        Just("ip ttl 64".to_owned()),
        Just("ct state new".to_owned()),
        Just("meta l4proto udp".to_owned()),
    ]
}

/// A statement, by its text. Chains call only later ones, so that there are no circles.
fn a_statement(chain: usize) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("counter".to_owned()),
        3 => (1_u8..4).prop_map(|n| format!("meta mark set meta mark | {n}")),
        2 => (1_usize..3).prop_map(move |n| format!("jump c{}", chain + n)),
        1 => (1_usize..3).prop_map(move |n| format!("goto c{}", chain + n)),
        1 => (1_usize..3).prop_map(move |n| format!(
            "numgen random mod 3 vmap {{ 0 : jump c{}, 1 : return, 2 : drop }}", chain + n)),
        1 => prop_oneof![Just("accept"), Just("drop"), Just("return"), Just("reject")].prop_map(str::to_owned),
    ]
}

const CHAINS: usize = 4;

fn a_ruleset() -> impl Strategy<Value = String> {
    let chains: Vec<_> =
        (0..CHAINS).map(|chain| vec((a_match(), a_statement(chain)), 0..4)).collect();
    chains.prop_map(|chains| {
        let mut text = String::from("table ip t {\nchain c5 { }\nchain c4 { drop }\n");
        for (number, rules) in chains.iter().enumerate() {
            writeln!(text, "chain c{number} {{").unwrap();
            if number == 0 {
                text.push_str("type filter hook forward priority 0; policy accept;\n");
            }
            for (test, deed) in rules {
                writeln!(text, "{test} {deed}").unwrap();
            }
            text.push_str("}\n");
        }
        text + "}\n"
    })
}

fn node(rules: &str) -> NodeState {
    let parsed = nftables::parse_ruleset(rules);
    assert_eq!(parsed.errors, [], "{rules}");
    let mut state = NodeState { nftables: parsed.value, ..NodeState::default() };
    state.host.addresses = parse_addresses("2: eth0    inet 192.0.2.10/24 scope global eth0").value;
    state.host.routes = parse_routes("default via 192.0.2.1 dev eth0").value;
    state
}

fn flow(port: u16) -> Flow {
    Flow {
        client: ClientClass::Outside,
        interface: Some("eth0".to_owned()),
        source: Some("198.51.100.7".parse().unwrap()),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: Protocol::Tcp,
        destination: "203.0.113.1".parse().unwrap(),
        port,
    }
}

fn ends(walk: &Walk) -> Vec<(BigRational, &Outcome)> {
    walk.paths.iter().map(|path| (path.weight.to_ratio(), &path.outcome)).collect()
}

proptest! {
    #[test]
    fn shares_sum_to_one(rules in a_ruleset(), port in 0_u16..5) {
        let state = node(&rules);
        let walk = Walker::new(&state).walk(&flow(port), &Options::default());
        let distribution = walk.distribution();
        let sum: BigRational = distribution.merged().into_values().sum();
        prop_assert_eq!(sum, BigRational::from_integer(1.into()), "{}", rules);
    }

    #[test]
    fn a_walk_is_repeatable_and_a_trace_changes_nothing(rules in a_ruleset(), port in 0_u16..5) {
        let state = node(&rules);
        let walker = Walker::new(&state);
        let plain = walker.walk(&flow(port), &Options::default());
        let traced = walker.walk(&flow(port), &Options { trace: true, ..Options::default() });
        prop_assert_eq!(ends(&plain), ends(&traced));
        let again = Walker::new(&state).walk(&flow(port), &Options { trace: true, ..Options::default() });
        for (a, b) in traced.paths.iter().zip(&again.paths) {
            prop_assert_eq!(&a.steps, &b.steps);
        }
    }

    /// Each set of answers to open questions has outcomes of its own: those that assume nothing
    /// about the model's ignorance are never `Unknown`.
    #[test]
    fn only_questions_make_outcomes_unknown(rules in a_ruleset(), port in 0_u16..5) {
        let state = node(&rules);
        let walk = Walker::new(&state).walk(&flow(port), &Options::default());
        prop_assert!(walk.paths.iter().all(|path| !matches!(path.outcome, Outcome::Unknown(_))));
        let distribution = walk.distribution();
        let unknown = distribution.merged().keys().any(|o| matches!(o, Outcome::Unknown(_)));
        prop_assert!(!unknown || !walk.assumptions().is_empty());
    }
}
