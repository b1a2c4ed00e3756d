//! Laws that hold for every rule set.

use proptest::prelude::*;

use super::arbitrary;
use super::ast::{Ruleset, TableFamily};
use super::{
    Command, compare, parse_json, parse_ruleset, parse_script, print_json, print_ruleset,
    print_script,
};

fn commands(ruleset: &Ruleset) -> Vec<Command> {
    ruleset.tables.iter().cloned().flat_map(super::Table::into_commands).collect()
}

/// The service chain of the last table calls chains that the last chain's map calls back; such
/// rule sets are refused as a whole, which is another law.
fn applied(commands: &[Command]) -> Option<Ruleset> {
    let mut ruleset = Ruleset::default();
    ruleset.apply(commands).ok().map(|()| ruleset)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_listing_reads_back_as_itself(ruleset in arbitrary::ruleset()) {
        let parsed = parse_ruleset(&print_ruleset(&ruleset));
        prop_assert_eq!(parsed.errors, []);
        prop_assert_eq!(parsed.value, ruleset);
    }

    #[test]
    fn json_reads_back_as_itself(ruleset in arbitrary::ruleset()) {
        let parsed = parse_json(&print_json(&ruleset));
        prop_assert_eq!(parsed.errors, []);
        let mut read = parsed.value;
        for table in &mut read.tables {
            if let Some(seen) = table.sets.get_mut(&crate::Name::from("seen")) {
                seen.flags.dynamic = true;
            }
        }
        prop_assert_eq!(read, ruleset);
    }

    #[test]
    fn a_script_makes_the_rule_set(ruleset in arbitrary::ruleset()) {
        let commands = commands(&ruleset);
        let script = parse_script(&print_script(&commands));
        prop_assert_eq!(script.errors, []);
        let direct = applied(&commands);
        let read = applied(&script.value);
        prop_assert_eq!(direct.is_some(), read.is_some());
        if let Some(read) = read {
            prop_assert_eq!(compare(&ruleset, &read), []);
            prop_assert_eq!(print_ruleset(&read), print_ruleset(&ruleset));
        }
    }

    #[test]
    fn a_failed_transaction_leaves_no_trace(
        before in arbitrary::ruleset(),
        after in arbitrary::ruleset(),
    ) {
        if let Some(mut ruleset) = applied(&commands(&before)) {
            let untouched = ruleset.clone();
            let mut commands = commands(&after);
            commands.push(Command::DeleteTable(super::TableId {
                family: TableFamily::Netdev,
                name: "absent".into(),
            }));
            prop_assert!(ruleset.apply(&commands).is_err());
            prop_assert_eq!(&ruleset, &untouched);
            prop_assert_eq!(print_ruleset(&ruleset), print_ruleset(&untouched));
        }
    }

    #[test]
    fn only_equal_rule_sets_compare_equal(
        a in arbitrary::ruleset(),
        b in arbitrary::ruleset(),
    ) {
        prop_assert_eq!(compare(&a, &a), []);
        prop_assert_eq!(compare(&a, &b).is_empty(), compare(&b, &a).is_empty());
    }

    #[test]
    fn any_text_is_survived(text in "(table|add|rule|ip|chain|set|[{}\";:,.@#\n ]|\\PC){0,60}") {
        let parsed = parse_ruleset(&text);
        let _ = (print_ruleset(&parsed.value), parse_script(&text), parse_json(&text));
    }
}
