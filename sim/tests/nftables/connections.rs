//! Later packets of a connection, and those that conntrack does not follow.

use kps_flow::Outcome;
use kps_sim::conntrack::CtState;
use kps_sim::trace::Deed;
use kps_sim::{Options, Walk, Walker};

use crate::world::{PASSED, chain, kept, masqueraded, node, outside, pod, process, under};

const SERVICE: &str = "table ip t {
    chain pre { type nat hook prerouting priority -100; ip daddr 10.96.0.1 dnat to 10.244.0.5:8080 }
    chain out { type nat hook output priority -100; ip daddr 10.96.0.1 dnat to 10.244.0.5:8080 }
    chain post { type nat hook postrouting priority 100; iifname != \"veth*\" masquerade fully-random }
    chain fwd { type filter hook forward priority 0; policy drop; ct state new ct status dnat accept; ct state established ct direction reply accept }
}";

fn walk(rules: &str, flow: &kps_flow::Flow, state: CtState) -> Walk {
    let node = node(rules);
    Walker::new(&node).walk(flow, &Options { state, trace: true, ..Options::default() })
}

#[test]
fn an_answer_is_translated_back() {
    let reply = walk(SERVICE, &outside("10.96.0.1", 80), CtState::Reply);
    let [path] = reply.paths.as_slice() else { panic!("{reply:?}") };
    assert_eq!(path.packet.source.to_string(), "10.96.0.1");
    assert_eq!(path.packet.source_port, Some(80));
    assert_eq!(path.packet.destination.to_string(), "198.51.100.7");
    assert_eq!(path.packet.destination_port, Some(40_000));
    assert_eq!(path.packet.input.map(|link| link.as_str()), Some("veth1"));
    assert_eq!(path.packet.output.map(|link| link.as_str()), Some("eth0"));
}

#[test]
fn an_answer_to_a_node_process_reaches_it() {
    let reply = walk(SERVICE, &process("10.96.0.1", 80), CtState::Reply);
    let [path] = reply.paths.as_slice() else { panic!("{reply:?}") };
    assert_eq!(path.packet.source.to_string(), "10.96.0.1");
    assert_eq!(path.packet.output, None);
    assert!(path.got_through());
}

#[test]
fn later_packets_keep_the_translation_and_are_not_asked_again() {
    let rules = SERVICE.replace("policy drop;", "policy accept;");
    let later = walk(&rules, &outside("10.96.0.1", 80), CtState::Established);
    let [path] = later.paths.as_slice() else { panic!("{later:?}") };
    assert_eq!(path.outcome, masqueraded("10.244.0.5:8080", "192.0.2.10"));
    let asked = path.steps.iter().any(|step| matches!(step.deed, Deed::TranslatesDestination(_)));
    assert!(!asked);
    let dropped = walk(SERVICE, &outside("10.96.0.1", 80), CtState::Established);
    assert_eq!(dropped.paths[0].outcome, Outcome::Drop);
}

#[test]
fn what_conntrack_does_not_follow_is_not_translated() {
    for state in [CtState::Invalid, CtState::Untracked] {
        let walk = walk(&SERVICE.replace("policy drop;", ""), &outside("10.96.0.1", 80), state);
        assert_eq!(walk.paths[0].outcome, PASSED);
    }
    let rules = SERVICE.to_owned()
        + "table ip raw { chain pre { type filter hook prerouting priority raw; notrack } }";
    let untracked = rules.replace("policy drop;", "");
    assert_eq!(under(&untracked, &outside("10.96.0.1", 80)), PASSED);
    assert_eq!(
        under(&SERVICE.replace("policy drop;", ""), &pod("10.96.0.1", 80)),
        kept("10.244.0.5:8080")
    );
}

#[test]
fn states_are_seen_by_rules() {
    for (state, word) in [
        (CtState::New, "new"),
        (CtState::Established, "established"),
        (CtState::Related, "related"),
        (CtState::Invalid, "invalid"),
        (CtState::Untracked, "untracked"),
    ] {
        let rules = chain("filter hook forward priority 0", &format!("ct state {word} drop"));
        let walk = walk(&rules, &outside("10.244.0.5", 80), state);
        // A known connection needs a first packet that got through, and later ones are dropped.
        assert_eq!(walk.paths[0].outcome, Outcome::Drop, "{word}");
    }
}

#[test]
fn the_connection_mark_outlives_the_packet_mark() {
    let rules = "table ip t {
        chain a { type filter hook prerouting priority 0; ct mark set 7; meta mark set 9 }
        chain b { type filter hook forward priority 0; ct mark 7 meta mark 9 meta mark set ct mark }
        chain c { type filter hook postrouting priority 0; meta mark 7 drop }
    }";
    assert_eq!(under(rules, &outside("10.244.0.5", 80)), Outcome::Drop);
}

#[test]
fn an_answer_returns_if_it_must_pass_here() {
    let state = node(SERVICE);
    let walker = Walker::new(&state);
    let returns = |flow| {
        let walk = walker.walk(&flow, &Options::default());
        walk.paths[0].clone()
    };
    let masqueraded = returns(outside("10.96.0.1", 80));
    assert_eq!(walker.answer_returns(&masqueraded), Some(true));
    let remote = SERVICE
        .replace("10.244.0.5", "10.244.1.5")
        .replace("iifname != \"veth*\" masquerade", "tcp dport 1 masquerade");
    let state = node(&remote);
    let walker = Walker::new(&state);
    let path = walker.walk(&outside("10.96.0.1", 80), &Options::default()).paths.remove(0);
    assert_eq!(path.outcome, kept("10.244.1.5:8080"));
    assert_eq!(walker.answer_returns(&path), Some(false));
    let path = walker.walk(&pod("10.96.0.1", 80), &Options::default()).paths.remove(0);
    assert_eq!(walker.answer_returns(&path), Some(true));
}
