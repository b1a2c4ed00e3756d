//! Later packets of a connection that IPVS sends on, and what conntrack makes of it.

use kps_flow::{Flow, Outcome};
use kps_ruleset::NodeState;
use kps_sim::conntrack::CtState;
use kps_sim::{Options, Walk, Walker};

use crate::director::{MARKING, ONE, director};
use crate::world::{kept, masqueraded, outcome, outside, process, with_host};

const TWO: &str = "-A -t 10.96.0.1:80 -s rr
-a -t 10.96.0.1:80 -r 10.244.0.5:8080 -m -w 1
-a -t 10.96.0.1:80 -r 10.244.1.5:8080 -m -w 1
";

fn later(state: &NodeState, flow: &Flow, ct: CtState) -> Walk {
    Walker::new(state).walk(flow, &Options { state: ct, trace: true, ..Options::default() })
}

#[test]
fn later_packets_keep_their_real_server() {
    let state = director(MARKING, TWO);
    let walk = later(&state, &outside("10.96.0.1", 80), CtState::Established);
    let ends: Vec<_> = walk.paths.iter().map(|path| path.outcome.clone()).collect();
    let expected = ["10.244.0.5:8080", "10.244.1.5:8080"].map(|s| masqueraded(s, "192.0.2.10"));
    assert_eq!(ends, expected);
}

#[test]
fn an_answer_gets_the_virtual_address_back() {
    let state = director(MARKING, ONE);
    for flow in [outside("10.96.0.1", 80), process("10.96.0.1", 80)] {
        let walk = later(&state, &flow, CtState::Reply);
        let [path] = walk.paths.as_slice() else { panic!("{walk:?}") };
        assert!(path.got_through(), "{path:?}");
        assert_eq!(path.packet.source.to_string(), "10.96.0.1");
        assert_eq!(path.packet.source_port, Some(80));
        assert_eq!(path.packet.destination_port, Some(Flow::DEFAULT_SOURCE_PORT));
    }
}

#[test]
fn an_answer_of_this_host_gets_the_virtual_address_back() {
    let state = director("", &ONE.replace("10.244.0.5:8080", "192.0.2.10:6443"));
    let walk = later(&state, &outside("10.96.0.1", 80), CtState::Reply);
    let [path] = walk.paths.as_slice() else { panic!("{walk:?}") };
    assert_eq!(path.packet.source.to_string(), "10.96.0.1");
    assert_eq!(path.packet.output.map(|link| link.as_str()), Some("eth0"));
}

#[test]
fn forward_sees_an_answer_of_the_real_server_as_established() {
    let rules = "table inet f { chain c { type filter hook forward priority 0; policy drop;
        ip saddr 10.244.0.5 ct state established ct direction reply accept } }";
    let walk = later(&director(rules, ONE), &outside("10.96.0.1", 80), CtState::Reply);
    assert!(walk.paths[0].got_through(), "{:?}", walk.paths[0]);
}

#[test]
fn conntrack_notes_no_translation_of_the_destination() {
    let rules = "table inet f { chain c { type filter hook output priority 0;
        ct status dnat drop\nct state new ct original ip daddr 10.96.0.1 accept\ndrop } }";
    let seen = outcome(&director(rules, ONE), &outside("10.96.0.1", 80));
    assert_eq!(seen, kept("10.244.0.5:8080"));
}

// kernel: the real server sees the client.
#[test]
fn without_conntrack_nothing_is_masqueraded() {
    let state = with_host(director(MARKING, ONE), "", "", "net.ipv4.vs.conntrack = 0\n");
    assert_eq!(outcome(&state, &outside("10.96.0.1", 80)), kept("10.244.0.5:8080"));
}

#[test]
fn what_conntrack_calls_invalid_opens_nothing() {
    let walk = later(&director("", ONE), &outside("10.96.0.1", 80), CtState::Invalid);
    assert_eq!(walk.paths[0].outcome, Outcome::Local);
    let walk = later(&director("", ONE), &outside("10.96.0.1", 80), CtState::Untracked);
    assert_eq!(walk.paths[0].outcome, kept("10.244.0.5:8080"));
}
