//! What the model does not know is said, never guessed.

use kps_flow::Outcome;

use crate::tables::{dropping, table, under, with_tables};
use crate::world::{PASSED, outside, process, share, shares, walk};

#[test]
fn a_match_that_is_not_modelled_splits_the_walk() {
    for test in [
        "-m length --length 100:200",
        "-m mac --mac-source 00:11:22:33:44:55",
        "-m tos --tos 0x10/0x3f",
        "-m time --timestart 10:00",
        "-p tcp -m tcp --tcp-option 5",
    ] {
        let walk = walk(&with_tables(&dropping(test)), &outside("10.244.0.5", 80));
        let outcomes: Vec<_> = walk.paths.iter().map(|path| path.outcome.clone()).collect();
        assert_eq!(outcomes, [Outcome::Drop, PASSED], "{test}");
        let question = walk.assumptions()[0];
        assert!(question.contains("FORWARD rule 1"), "{question}");
    }
}

#[test]
fn a_sure_no_decides_what_is_not_modelled() {
    let test = "-p tcp -m tcp --dport 81 --tcp-option 5";
    assert_eq!(under(&dropping(test), &outside("10.244.0.5", 80)), PASSED);
}

#[test]
fn the_owner_of_a_socket_is_open() {
    let rules = table("filter", "-A OUTPUT -m owner --uid-owner 1000 -j DROP");
    let walk = walk(&with_tables(&rules), &process("10.244.0.5", 80));
    assert_eq!(walk.paths.len(), 2);
    assert!(walk.assumptions()[0].contains("--uid-owner 1000"), "{:?}", walk.assumptions());
}

/// No Ethernet frame brought what a process of this node sends.
#[test]
fn what_did_not_come_in_has_no_frame() {
    let rules = table("filter", "-A OUTPUT -m mac --mac-source 00:11:22:33:44:55 -j DROP");
    assert_eq!(under(&rules, &process("10.244.0.5", 80)), PASSED);
}

#[test]
fn a_target_that_is_not_modelled_is_loud() {
    for target in
        ["TPROXY --on-port 1 --on-ip 0.0.0.0 --tproxy-mark 0x0/0x0", "TEE --gateway 10.1.1.1"]
    {
        let rules = table("mangle", &format!("-A PREROUTING -p tcp -j {target}"));
        let outcome = under(&rules, &outside("10.244.0.5", 80));
        assert!(matches!(outcome, Outcome::Unknown(_)), "{target}: {outcome}");
    }
}

#[test]
fn targets_that_change_nothing_go_on() {
    for target in [
        "LOG --log-prefix x",
        "NFLOG --nflog-group 1",
        "TRACE",
        "TCPMSS --clamp-mss-to-pmtu",
        "CHECKSUM --checksum-fill",
    ] {
        let rules = format!("-A FORWARD -p tcp -j {target}\n-A FORWARD -j DROP");
        assert_eq!(under(&table("filter", &rules), &outside("10.244.0.5", 80)), Outcome::Drop);
    }
}

#[test]
fn a_question_does_not_spoil_what_holds_either_way() {
    let rules = "-A FORWARD -m statistic --mode random --probability 0.5 -j REJECT
        -A FORWARD -m length --length 100 -j DROP";
    let shares = shares(&with_tables(&table("filter", rules)), &outside("10.244.0.5", 80));
    let rejected = shares.iter().find(|(outcome, _)| matches!(outcome, Outcome::Reject(_)));
    assert_eq!(*rejected.unwrap().1, share(1, 2));
}

/// A port that masquerading draws at random is open to later rules.
#[test]
fn a_random_port_is_open() {
    let rules = table("nat", "-A PREROUTING -p tcp -j DNAT --to-destination 10.244.0.5:90-94")
        + &dropping("-p tcp -m tcp --dport 90");
    let walk = walk(&with_tables(&rules), &outside("10.96.0.1", 80));
    assert_eq!(walk.paths.len(), 2);
}
