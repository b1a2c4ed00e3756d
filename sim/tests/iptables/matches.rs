//! Matches on marks, chance, memory and the sender.

use kps_flow::Outcome;

use crate::tables::{selects, selects_sent, table, under, with_tables};
use crate::world::{PASSED, outside, process, share, shares, walk};

fn passes(test: &str) -> bool {
    selects(test, &outside("10.244.0.5", 80))
}

#[test]
fn marks_are_changed_and_compared_under_masks() {
    let marked = |change: &str, test: &str| {
        let rules = table(
            "mangle",
            &format!(
                "-A FORWARD -j MARK --set-xmark 0x4005/0xffffffff\n-A FORWARD -j MARK {change}"
            ),
        );
        under(&(rules + &crate::tables::dropping(test)), &outside("10.244.0.5", 80))
            == Outcome::Drop
    };
    assert!(marked("--set-xmark 0x8000/0x8000", "-m mark --mark 0xc005"));
    assert!(marked("--set-xmark 0x4000/0x0", "-m mark --mark 0x5"));
    assert!(marked("--set-xmark 0x0/0xf", "-m mark --mark 0x4000"));
    assert!(marked("--set-xmark 0x0/0x0", "-m mark --mark 0x4000/0x4000"));
    assert!(!marked("--set-xmark 0x0/0x0", "-m mark ! --mark 0x4000/0x4000"));
}

/// P = stored/2^31: 1431655765 for 0.66666666651.
#[test]
fn a_chance_is_what_the_kernel_stores() {
    let state = with_tables(&crate::tables::dropping(
        "-m statistic --mode random --probability 0.33333333349",
    ));
    let shares = shares(&state, &outside("10.244.0.5", 80));
    assert_eq!(shares[&Outcome::Drop], share(715_827_883, 1 << 31));
    assert_eq!(shares[&PASSED], share((1 << 31) - 715_827_883, 1 << 31));
}

#[test]
fn a_negated_chance_is_the_rest() {
    let test = "-m statistic --mode random ! --probability 0.25000000000";
    let shares = shares(&with_tables(&crate::tables::dropping(test)), &outside("10.244.0.5", 80));
    assert_eq!(shares[&Outcome::Drop], share(3, 4));
}

#[test]
fn every_rule_draws_afresh() {
    let half = "-A FORWARD -m statistic --mode random --probability 0.5";
    let rules = table("filter", &format!("{half} -j DROP\n{half} -j REJECT"));
    let shares = shares(&with_tables(&rules), &outside("10.244.0.5", 80));
    assert_eq!(shares[&Outcome::Drop], share(1, 2));
    assert_eq!(shares[&PASSED], share(1, 4));
}

#[test]
fn certainty_and_impossibility_are_no_draws() {
    assert!(passes("-m statistic --mode random --probability 1.00000000000"));
    assert!(!passes("-m statistic --mode random --probability 0.00000000000"));
}

/// kernel: of fresh rules, `--packet 0` counted the first packet and `--packet 2` did not.
#[test]
fn a_fresh_counter_starts_at_packet_zero() {
    assert!(passes("-m statistic --mode nth --every 3"));
    assert!(!passes("-m statistic --mode nth --every 3 --packet 2"));
    assert!(passes("-m statistic --mode nth ! --every 3 --packet 2"));
}

/// kernel: on an empty list, `--rcheck` and `--update` did not count, `! --rcheck` and `--set` did,
/// `! --set` did not; `--rcheck --hitcount 1` counted behind `--set`.
#[test]
fn a_list_is_empty_until_something_is_put_on_it() {
    let recent =
        |test: &str| passes(&format!("-m recent {test} --name x --mask 255.255.255.255 --rsource"));
    assert!(!recent("--rcheck --seconds 10800 --reap"));
    assert!(!recent("--update"));
    assert!(!recent("--remove"));
    assert!(recent("! --rcheck"));
    assert!(recent("--set"));
    assert!(!recent("! --set"));
}

#[test]
fn what_was_put_on_a_list_is_found_by_later_rules() {
    let drops = |between: &str, test: &str| {
        let rules = format!(
            "-A FORWARD -m recent --set --name x --mask 255.255.255.0 --rsource
            {between}
            -A FORWARD -m recent {test} --mask 255.255.255.0 -j DROP"
        );
        under(&table("filter", &rules), &outside("10.244.0.5", 80)) == Outcome::Drop
    };
    assert!(drops("", "--rcheck --name x --rsource"));
    assert!(!drops("", "--rcheck --name y --rsource"));
    assert!(!drops("", "--rcheck --name x --rdest"));
    assert!(drops("", "--rcheck --seconds 60 --hitcount 1 --name x --rsource"));
    assert!(!drops("", "--rcheck --hitcount 2 --name x --rsource"));
    let again = "-A FORWARD -m recent --update --name x --mask 255.255.255.0 --rsource";
    assert!(drops(again, "--rcheck --hitcount 2 --name x --rsource"));
    let removed = "-A FORWARD -m recent --remove --name x --mask 255.255.255.0 --rsource";
    assert!(!drops(removed, "--rcheck --name x --rsource"));
}

#[test]
fn matches_are_asked_from_left_to_right() {
    let rules = "
        -A FORWARD -p tcp -m tcp --dport 1 -m recent --set --name x --mask 255.255.255.255 --rsource
        -A FORWARD -m recent --set --name y --mask 255.255.255.255 --rsource -m mark --mark 0x1
        -A FORWARD -m recent --rcheck --name x --mask 255.255.255.255 --rsource -j DROP
        -A FORWARD -m recent --rcheck --name y --mask 255.255.255.255 --rsource -j REJECT";
    assert!(matches!(
        under(&table("filter", rules), &outside("10.244.0.5", 80)),
        Outcome::Reject(_)
    ));
}

#[test]
fn comments_and_accounts_always_hold() {
    assert!(passes("-m comment --comment \"some text\" -m nfacct --nfacct-name x"));
}

/// kernel: `! --physdev-is-in` counted, `--physdev-is-in` did not.
#[test]
fn nothing_is_bridged() {
    assert!(!passes("-m physdev --physdev-is-in"));
    assert!(passes("-m physdev ! --physdev-is-in"));
    assert!(!passes("-m physdev --physdev-in eth0"));
    assert!(!passes("-m physdev --physdev-is-bridged"));
}

/// kernel: `--socket-exists` counted in OUTPUT, `! --socket-exists` did not.
#[test]
fn only_what_a_process_just_sent_has_an_owner() {
    let sent = process("10.244.0.5", 80);
    assert!(selects_sent("-m owner --socket-exists", &sent));
    assert!(!selects_sent("-m owner ! --socket-exists", &sent));
    assert!(!passes("-m owner --uid-owner 0"));
    assert!(passes("-m owner ! --uid-owner 0"));
}

#[test]
fn a_rate_is_not_exceeded_and_that_is_said() {
    let state = with_tables(&crate::tables::dropping("-m limit --limit 1/sec"));
    let walk = walk(&state, &outside("10.244.0.5", 80));
    assert_eq!(walk.paths[0].outcome, Outcome::Drop);
    assert!(walk.paths[0].steps.iter().any(|step| step.to_string().contains("is not exceeded")));
    let assumed = kps_sim::Walker::new(&state).assumed();
    assert!(assumed.iter().any(|text| text.contains("-m limit")), "{assumed:?}");
    let above = "-m hashlimit --hashlimit-above 5/sec --hashlimit-mode srcip --hashlimit-name x";
    assert!(!passes(above));
    assert!(passes(&above.replace("above", "upto")));
}

/// kernel: PKTTYPE = unicast counted.
#[test]
fn frames_to_this_host_are_unicast() {
    assert!(passes("-m pkttype --pkt-type unicast"));
    assert!(!passes("-m pkttype --pkt-type broadcast"));
}
