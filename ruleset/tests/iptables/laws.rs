//! Reading undoes printing.

use kps_ruleset::Name;
use kps_ruleset::iptables::{
    Command, Counters, Family, Flush, Ruleset, Transaction, apply, compare, parse_listing,
    parse_restore, parse_rule, parse_ruleset, print_listing, print_restore, print_rule,
    print_ruleset, print_written,
};
use proptest::prelude::*;

use crate::generate::{any_rule, any_ruleset, any_written_rule};

fn families() -> impl Strategy<Value = Family> {
    prop_oneof![Just(Family::Ipv4), Just(Family::Ipv6)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_saved_rule_reads_back(
        (family, rule) in families().prop_flat_map(|f| (Just(f), any_rule(f))),
    ) {
        let text = print_rule(&rule, family);
        let read = parse_rule(&text, family);
        prop_assert_eq!(&rule, &read, "{}", text);
        prop_assert!(read.layout.is_empty(), "{}", text);
    }

    #[test]
    fn a_written_rule_reads_back_in_its_order(
        (family, rule) in families().prop_flat_map(|f| (Just(f), any_written_rule(f))),
    ) {
        let text = print_written(&rule, family);
        let read = parse_rule(&text, family);
        prop_assert_eq!(print_rule(&rule, family), print_rule(&read, family), "{}", &text);
        prop_assert_eq!(text, print_written(&read, family));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_ruleset_reads_back(
        (family, ruleset) in families().prop_flat_map(|f| (Just(f), any_ruleset(f))),
    ) {
        let saved = parse_ruleset(&print_ruleset(&ruleset, true), family);
        prop_assert_eq!(&saved.errors, &[]);
        prop_assert_eq!(&saved.value, &ruleset);
        let table = Name::new("filter");
        let listing = print_listing(&ruleset.tables[&table], family, true);
        let mut listed = parse_listing(&listing, family, "filter").value;
        // A listing does not show the counters of user chains.
        for (name, chain) in &mut listed.tables[&table].chains {
            chain.counters = ruleset.tables[&table].chains[name].counters;
        }
        prop_assert_eq!(&listed, &ruleset);
        prop_assert_eq!(compare(&ruleset, &listed, &[]), []);
    }

    /// Restoring what was saved gives the same rule set, whatever was there before.
    #[test]
    fn restoring_a_saved_ruleset_gives_it(
        (a, b) in (any_ruleset(Family::Ipv4), any_ruleset(Family::Ipv4)),
    ) {
        let restore = |ruleset: &Ruleset| {
            let text = without_jumps(&print_ruleset(ruleset, true));
            parse_restore(&text, Family::Ipv4).value
        };
        let mut state = Ruleset::new(Family::Ipv4);
        apply(&mut state, &restore(&a), Flush::Yes).unwrap();
        apply(&mut state, &restore(&b), Flush::Yes).unwrap();
        let expected = parse_ruleset(&without_jumps(&print_ruleset(&b, true)), Family::Ipv4).value;
        prop_assert_eq!(print_ruleset(&state, true), print_ruleset(&expected, true));
    }

    /// A transaction that fails changes nothing.
    #[test]
    fn a_failing_transaction_changes_nothing(
        (a, b) in (any_ruleset(Family::Ipv4), any_ruleset(Family::Ipv4)),
        flush in prop_oneof![Just(Flush::Yes), Just(Flush::No)],
    ) {
        let read = |ruleset: &Ruleset| {
            parse_restore(&without_jumps(&print_ruleset(ruleset, true)), Family::Ipv4).value
        };
        let mut state = Ruleset::new(Family::Ipv4);
        apply(&mut state, &read(&a), Flush::Yes).unwrap();
        let before = print_ruleset(&state, true);
        let mut failing: Vec<Transaction> = read(&b);
        failing[0].commands.push(Command::DeleteChain(Some("no-such-chain".into())));
        prop_assert!(apply(&mut state, &failing, flush).is_err());
        prop_assert_eq!(print_ruleset(&state, true), before);
    }
}

/// Drops the rules that jump to chains, which a random rule set need not have.
fn without_jumps(text: &str) -> String {
    let jumps = |line: &&str| line.contains("-j c-") || line.contains("-g c-");
    text.split_inclusive('\n').filter(|line| !jumps(line)).collect()
}

#[test]
fn counters_are_not_compared() {
    let text =
        |counters| format!("*filter\n:INPUT ACCEPT [0:0]\n{counters}-A INPUT -j DROP\nCOMMIT\n");
    let a = parse_ruleset(&text("[1:2] "), Family::Ipv4).value;
    let b = parse_ruleset(&text(""), Family::Ipv4).value;
    assert_eq!(compare(&a, &b, &[]), []);
    let counters = a.chain("filter", "INPUT").unwrap().rules[0].counters;
    assert_eq!(counters, Some(Counters { packets: 1, bytes: 2 }));
    assert_eq!(print_restore(&[], Family::Ipv4), "");
}
