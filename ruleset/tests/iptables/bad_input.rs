//! Text that is no rule set: nothing panics, and nothing is guessed.

use kps_ruleset::iptables::{
    Family, Flush, Match, Ruleset, Target, apply, parse_listing, parse_restore, parse_rule,
    parse_ruleset, print_rule, print_ruleset,
};
use proptest::prelude::*;

fn problems(text: &str) -> Vec<String> {
    parse_ruleset(text, Family::Ipv4).errors.iter().map(ToString::to_string).collect()
}

#[test]
fn broken_lines_are_reported_and_left_out() {
    let text = "\
-A INPUT -j DROP
*filter
:INPUT ACCEPT [0:0]
:FORWARD QUEUE [0:0]
:OUTPUT ACCEPT [0;0]
-A NOPE -j DROP
hello
-Q INPUT
[1:x] -A INPUT -j ACCEPT
-A INPUT -j ACCEPT
-A
COMMIT
";
    insta::assert_snapshot!(problems(text).join("\n"), @"
    line 1: expected a table, found `-A INPUT -j DROP`
    line 4: expected a policy, found `:FORWARD QUEUE [0:0]`
    line 5: expected counters, found `:OUTPUT ACCEPT [0;0]`
    line 6: expected a declared chain, found `-A NOPE -j DROP`
    line 7: expected a table, a chain, a command or COMMIT, found `hello`
    line 8: expected a command, found `-Q INPUT`
    line 9: expected counters, found `[1:x] -A INPUT -j ACCEPT`
    line 11: expected a chain, found `-A`
    ");
    let read = parse_ruleset(text, Family::Ipv4).value;
    assert_eq!(read.chain("filter", "INPUT").unwrap().rules.len(), 1);
}

#[test]
fn what_makes_no_sense_is_kept_as_unknown_in_its_place() {
    for (text, printed) in [
        ("-p tcp -m tcp --dport abc -j DROP", "-p tcp -m tcp --dport abc -j DROP"),
        ("-m mark -j DROP", "-m mark -j DROP"),
        (
            "-m statistic --mode random -j DROP",
            "-m statistic --mode random --probability 0.00000000000 -j DROP",
        ),
        ("-m frob --twist 3 ! --turn -j DROP", "-m frob --twist 3 ! --turn -j DROP"),
        ("-s host.example -j DROP", "-s host.example -j DROP"),
        ("--bogus 1 2 -j DROP", "--bogus 1 2 -j DROP"),
        ("-m conntrack --ctstate NEW,FROB -j DROP", "-m conntrack --ctstate NEW,FROB -j DROP"),
        ("! -m comment --comment x -j DROP", "! -m comment --comment x -j DROP"),
        ("-m tcp --dport 80 --dport", "-m tcp --dport 80 --dport"),
    ] {
        let rule = parse_rule(text, Family::Ipv4);
        let unknown = rule.matches.iter().any(|m| matches!(m, Match::Unknown(_)));
        assert!(unknown, "{text}: {rule:?}");
        assert_eq!(print_rule(&rule, Family::Ipv4), printed, "{text}");
    }
}

#[test]
fn targets_that_make_no_sense_are_unknown() {
    for text in [
        "-j FROB --twist 3",
        "-j MARK",
        "-j DNAT --to-destination nowhere",
        "-j TEE",
        "-j REJECT --reject-with love",
    ] {
        let rule = parse_rule(text, Family::Ipv4);
        assert!(matches!(rule.target, Some(Target::Unknown(_))), "{text}: {rule:?}");
    }
    assert_eq!(
        print_rule(&parse_rule("-j FROB --twist 3", Family::Ipv4), Family::Ipv4),
        "-j FROB --twist 3"
    );
}

#[test]
fn odd_texts_do_not_panic() {
    for text in [
        "",
        "\n\n",
        "*",
        ":",
        "-",
        "[",
        "[]",
        "[:]",
        "[1:2]",
        "*filter\n:\n",
        ": - -",
        "-A \"",
        "-I X 0",
        "*filter\n-I INPUT 0 -j DROP\n-R INPUT\n-D INPUT 0\n-D INPUT 99999999999\n-E\n-N\n-P INPUT\n",
        "*filter\n:A - [18446744073709551616:0]\nCOMMIT",
        "\u{0}",
        "*filter\r\n:INPUT ACCEPT [0:0]\r\nCOMMIT\r\n",
    ] {
        for family in [Family::Ipv4, Family::Ipv6] {
            let _ = print_ruleset(&parse_ruleset(text, family).value, true);
            let _ = parse_listing(text, family, "filter");
            let mut ruleset = Ruleset::new(family);
            let _ = apply(&mut ruleset, &parse_restore(text, family).value, Flush::No);
        }
    }
}

/// Words of the language and some that are not.
fn soup() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("-A"),
        Just("-m"),
        Just("-j"),
        Just("-p"),
        Just("tcp"),
        Just("!"),
        Just("-s"),
        Just("10.0.0.0/8"),
        Just("--dport"),
        Just("80"),
        Just("\""),
        Just("\\"),
        Just("set"),
        Just("--match-set"),
        Just("src,dst"),
        Just("recent"),
        Just("--set"),
        Just("--mask"),
        Just("statistic"),
        Just("--probability"),
        Just("0.5"),
        Just("nan"),
        Just("DNAT"),
        Just("--to-destination"),
        Just("[::1"),
        Just("1.1.1.1:1-"),
        Just("MARK"),
        Just("--set-xmark"),
        Just("0x"),
        Just("é"),
        Just("CONNMARK"),
        Just("--mask"),
        Just("limit"),
        Just("--limit"),
        Just("0/s"),
        Just("-c"),
        Just("hashlimit"),
        Just("--hashlimit-x"),
        Just("LOG"),
        Just("--log-prefix"),
        Just("-f"),
        Just("-g"),
        Just("-i"),
    ];
    proptest::collection::vec(word, 0..14).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_words_are_kept(text in soup()) {
        let rule = parse_rule(&text, Family::Ipv6);
        let printed = print_rule(&rule, Family::Ipv6);
        let again = print_rule(&parse_rule(&printed, Family::Ipv6), Family::Ipv6);
        let _ = (again, print_rule(&parse_rule(&text, Family::Ipv4), Family::Ipv4));
    }

    #[test]
    fn any_text_is_read(text in "(\\*|:|-A |\\[1:2\\] |COMMIT\n|\\PC|\n){0,40}") {
        let _ = parse_ruleset(&text, Family::Ipv4);
    }
}
