//! What rules ask of connections.

use kps_flow::Outcome;
use kps_sim::conntrack::CtState;
use kps_sim::{Options, Walk, Walker};

use crate::tables::{dropping, table, under, with_tables};
use crate::world::{PASSED, kept, outside};

const DNAT: &str = "-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.0.5:8080";

/// Whether a test selects a flow to a service, after its translation, or the answer to it.
fn selects(test: &str, state: CtState) -> bool {
    let node = with_tables(&(table("nat", DNAT) + &dropping(test)));
    let opening = with_tables(&table("nat", DNAT));
    let options = Options { state, ..Options::default() };
    let outcome = |node| -> Walk { Walker::new(node).walk(&outside("10.96.0.1", 80), &options) };
    assert_ne!(outcome(&opening).paths[0].outcome, Outcome::Drop);
    outcome(&node).paths[0].outcome == Outcome::Drop
}

#[test]
fn states_of_a_first_packet() {
    let new = |test: &str| selects(&format!("-m conntrack {test}"), CtState::New);
    assert!(new("--ctstate NEW"));
    assert!(new("--ctstate DNAT"));
    assert!(!new("--ctstate SNAT"));
    assert!(!new("--ctstate RELATED,ESTABLISHED"));
    assert!(!new("! --ctstate RELATED,ESTABLISHED,DNAT"));
    assert!(new("! --ctstate INVALID"));
    assert!(selects("-m state --state NEW", CtState::New));
    assert!(!selects("-m state ! --state NEW", CtState::New));
}

#[test]
fn an_invalid_packet_has_only_a_state() {
    let invalid = |test: &str| {
        let node = with_tables(&dropping(&format!("-m conntrack {test}")));
        let options = Options { state: CtState::Invalid, ..Options::default() };
        let walk = Walker::new(&node).walk(&outside("10.244.0.5", 80), &options);
        walk.paths[0].outcome == Outcome::Drop
    };
    assert!(invalid("--ctstate INVALID"));
    assert!(invalid("--ctstate INVALID --ctorigdst 1.1.1.1"));
    assert!(!invalid("--ctorigdst 10.244.0.5"));
    assert!(!invalid("! --ctorigdst 10.244.0.5"));
}

#[test]
fn the_first_packet_keeps_what_was_dialled() {
    let new = |test: &str| selects(&format!("-m conntrack {test}"), CtState::New);
    assert!(new("--ctorigdst 10.96.0.1 --ctorigdstport 80"));
    assert!(new("--ctorigsrc 198.51.100.0/24 --ctorigsrcport 40000"));
    assert!(!new("--ctorigdst 10.244.0.5"));
    assert!(new("--ctreplsrc 10.244.0.5 --ctreplsrcport 8080:8081"));
    assert!(new("--ctrepldst 198.51.100.7"));
    assert!(!new("! --ctrepldst 198.51.100.7"));
    assert!(new("--ctproto 6"));
    assert!(new("--ctdir ORIGINAL"));
    assert!(!new("--ctdir REPLY"));
}

/// kernel: in OUTPUT, `CONFIRMED` did not count for a first packet; after loopback, in INPUT, it did.
/// `NONE` never counted, its negation always.
#[test]
fn statuses_of_a_first_packet() {
    let new = |test: &str| selects(&format!("-m conntrack {test}"), CtState::New);
    assert!(!new("--ctstatus CONFIRMED"));
    assert!(new("! --ctstatus CONFIRMED"));
    assert!(!new("--ctstatus NONE"));
    assert!(new("! --ctstatus NONE"));
    assert!(!new("--ctstatus SEEN_REPLY,ASSURED"));
}

/// The reply passes FORWARD as the packet of a connection that has seen both ways.
#[test]
fn an_answer_is_established() {
    let reply = |test: &str| selects(&format!("-m conntrack {test}"), CtState::Reply);
    let node = with_tables(&table("nat", DNAT));
    let options = Options { state: CtState::Reply, ..Options::default() };
    let walk = Walker::new(&node).walk(&outside("10.96.0.1", 80), &options);
    assert_eq!(walk.paths[0].packet.source.to_string(), "10.96.0.1");
    // The first packet is walked with the same rules, so they must let it pass.
    assert!(!reply("--ctstate NEW --ctdir REPLY"));
    assert!(reply("--ctdir REPLY"));
    assert!(reply("--ctstate ESTABLISHED"));
}

#[test]
fn marks_of_connections_are_saved_and_restored() {
    let rules = |test: &str| {
        table(
            "mangle",
            "-A PREROUTING -j MARK --set-xmark 0x4005/0xffffffff
            -A PREROUTING -j CONNMARK --save-mark --nfmask 0xff00 --ctmask 0xffffffff
            -A PREROUTING -j MARK --set-xmark 0x0/0xffffffff
            -A FORWARD -j CONNMARK --restore-mark --nfmask 0xffffffff --ctmask 0xffffffff",
        ) + &dropping(test)
    };
    let drops = |test: &str| under(&rules(test), &outside("10.244.0.5", 80)) == Outcome::Drop;
    assert!(drops("-m connmark --mark 0x4000"));
    assert!(!drops("-m connmark ! --mark 0x4000"));
    assert!(drops("-m mark --mark 0x4000"));
}

#[test]
fn a_packet_may_hide_from_conntrack() {
    for hide in ["NOTRACK", "CT --notrack"] {
        let raw = table("raw", &format!("-A PREROUTING -j {hide}"));
        let rules = |test: &str| raw.clone() + &table("nat", DNAT) + &dropping(test);
        let drops = |test: &str| under(&rules(test), &outside("10.244.0.5", 80)) == Outcome::Drop;
        assert!(drops("-m conntrack --ctstate UNTRACKED"), "{hide}");
        assert!(!drops("-m conntrack --ctstate NEW"), "{hide}");
        assert!(!drops("-m connmark ! --mark 0x1"), "{hide}");
        // Nothing is translated, so that it goes where it was sent.
        assert_eq!(under(&rules("-p udp"), &outside("10.96.0.1", 80)), PASSED);
    }
    let plain = table("nat", DNAT);
    assert_eq!(under(&plain, &outside("10.96.0.1", 80)), kept("10.244.0.5:8080"));
}
