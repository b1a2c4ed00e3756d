//! Which real servers get a packet, and how often.

use kps_flow::{Outcome, RejectKind};
use kps_ruleset::NodeState;
use kps_sim::walk::Premise;
use kps_sim::{Options, Walker};
use num_rational::BigRational;
use num_traits::One;
use proptest::prelude::*;

use crate::director::{ONE, director};
use crate::world::{kept, outcome, outside, pod, process, share, shares, walk};

fn serving(scheduler: &str, weights: &[u32]) -> NodeState {
    let real = (5..).zip(weights).map(|(number, weight)| {
        format!("-a -t 10.96.0.1:80 -r 10.244.0.{number}:8080 -m -w {weight}\n")
    });
    let servers = format!("-A -t 10.96.0.1:80 -s {scheduler}\n{}", real.collect::<String>());
    director("", &servers)
}

fn is_unknown(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Unknown(_))
}

proptest! {
    #[test]
    fn whoever_has_weight_is_chosen_and_nobody_else(
        scheduler in prop::sample::select(vec!["rr", "wrr", "lc", "wlc", "nq", "lblc", "lblcr"]),
        weights in prop::collection::vec(0_u32..4, 1..9),
    ) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let shares = shares(&serving(scheduler, &weights), &outside("10.96.0.1", 80));
        prop_assert_eq!(shares.values().sum::<BigRational>(), BigRational::one());
        let weighty = (5..).zip(&weights).filter(|(_, weight)| **weight > 0);
        let expected: Vec<_> =
            weighty.map(|(number, _)| kept(&format!("10.244.0.{number}:8080"))).collect();
        prop_assert_eq!(shares.into_keys().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn turns_are_taken_equally() {
    let shares = shares(&serving("rr", &[1, 1, 7, 0]), &outside("10.96.0.1", 80));
    assert_eq!(shares.len(), 3);
    for server in ["10.244.0.5:8080", "10.244.0.6:8080", "10.244.0.7:8080"] {
        assert_eq!(shares[&kept(server)], share(1, 3));
    }
}

#[test]
fn turns_are_taken_by_weight() {
    let shares = shares(&serving("wrr", &[3, 1]), &outside("10.96.0.1", 80));
    assert_eq!(shares[&kept("10.244.0.5:8080")], share(3, 4));
    assert_eq!(shares[&kept("10.244.0.6:8080")], share(1, 4));
}

#[test]
fn where_state_decides_all_that_can_be_chosen_count_the_same() {
    for scheduler in ["lc", "wlc", "sh", "dh", "mh", "sed", "nq", "lblc", "lblcr", "fo"] {
        let shares = shares(&serving(scheduler, &[1, 1]), &outside("10.96.0.1", 80));
        assert_eq!(shares[&kept("10.244.0.5:8080")], share(1, 2), "{scheduler}");
        assert_eq!(shares.values().sum::<BigRational>(), BigRational::one(), "{scheduler}");
    }
}

#[test]
fn fail_over_knows_the_heaviest_only() {
    let shares = shares(&serving("fo", &[1, 2]), &outside("10.96.0.1", 80));
    assert_eq!(shares.len(), 1);
    assert_eq!(shares[&kept("10.244.0.6:8080")], share(1, 1));
}

#[test]
fn a_choice_rests_on_the_state_of_the_scheduler() {
    let several = walk(&serving("rr", &[1, 1]), &outside("10.96.0.1", 80));
    assert_eq!(several.premises().into_iter().collect::<Vec<_>>(), [Premise::SchedulerState]);
    assert_eq!(Premise::SchedulerState.to_string(), "scheduler-state");
    let single = walk(&serving("rr", &[1]), &outside("10.96.0.1", 80));
    assert!(single.premises().is_empty());
}

#[test]
fn without_a_usable_real_server_every_client_is_refused() {
    let refused = Outcome::Reject(RejectKind::PORT_UNREACHABLE_V4);
    for state in [serving("rr", &[]), serving("rr", &[0])] {
        for flow in [outside("10.96.0.1", 80), pod("10.96.0.1", 80), process("10.96.0.1", 80)] {
            assert_eq!(outcome(&state, &flow), refused);
        }
    }
    let state = director("", "-A -t [fd00:10:96::1]:80 -s rr\n");
    let refused = Outcome::Reject(RejectKind::PORT_UNREACHABLE_V6);
    assert_eq!(outcome(&state, &outside("fd00:10:96::1", 80)), refused);
}

#[test]
fn a_bucket_of_a_server_without_weight_may_refuse() {
    let state = serving("sh", &[1, 0]);
    let walk = walk(&state, &outside("10.96.0.1", 80));
    assert_eq!(walk.assumptions().len(), 1);
    let outcomes = walk.distribution();
    assert!(outcomes.branches().iter().all(|(_, outcome)| is_unknown(outcome)), "{outcomes:?}");
}

#[test]
fn a_full_overflow_refuses_unless_nothing_has_happened_yet() {
    let state = serving("ovf", &[1]);
    let walker = Walker::new(&state);
    let flow = outside("10.96.0.1", 80);
    assert_eq!(walker.walk(&flow, &Options::default()).assumptions().len(), 1);
    let fresh = walker.walk(&flow, &Options { fresh: true, ..Options::default() });
    assert_eq!(fresh.paths[0].outcome, kept("10.244.0.5:8080"));
}

#[test]
fn what_is_not_modelled_is_loud() {
    assert!(is_unknown(&outcome(&serving("wobble", &[1]), &outside("10.96.0.1", 80))));
    for method in ["-g", "-i"] {
        let servers = ONE.replace("-m", method).replace(":8080", ":80");
        assert!(is_unknown(&outcome(&director("", &servers), &outside("10.96.0.1", 80))));
    }
}
