//! Transactions do what `iptables-restore` does.

use kps_ruleset::iptables::{
    ApplyError, Family, Flush, Ruleset, apply, parse_restore, print_ruleset,
};

/// A filter table with a chain that INPUT uses.
const BEFORE: &str = "\
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:A - [0:0]
-A INPUT -j A
-A A -j DROP
COMMIT
";

fn run(text: &str, flush: Flush) -> (Result<(), ApplyError>, String) {
    let mut ruleset = Ruleset::new(Family::Ipv4);
    let set_up = parse_restore(BEFORE, Family::Ipv4).value;
    apply(&mut ruleset, &set_up, Flush::Yes).unwrap();
    let parsed = parse_restore(text, Family::Ipv4);
    assert_eq!(parsed.errors, []);
    let result = apply(&mut ruleset, &parsed.value, flush);
    (result, print_ruleset(&ruleset, false))
}

fn filter(commands: &str) -> (Result<(), ApplyError>, String) {
    run(&format!("*filter\n{commands}COMMIT\n"), Flush::No)
}

#[test]
fn refused_commands_leave_the_table_as_it_was() {
    for (commands, error) in [
        (":A - [0:0]\n-X A\n", "chain `A` is in use"),
        ("-X A\n", "chain `A` is not empty"),
        ("-A INPUT -j NOPE\n", "chain `NOPE`, to which a rule of `INPUT` jumps, does not exist"),
        ("-N A\n", "chain `A` already exists"),
        ("-X Z\n", "no chain of the name `Z` in table `filter`"),
        ("-A Z -j DROP\n", "no chain of the name `Z` in table `filter`"),
        ("-D INPUT -j DROP\n", "chain `INPUT` has no such rule"),
        ("-C INPUT -j DROP\n", "chain `INPUT` has no such rule"),
        ("-I INPUT 5 -j ACCEPT\n", "chain `INPUT` has no place 5"),
        ("-D INPUT 2\n", "chain `INPUT` has no place 2"),
        (":B -\n-A B -j ACCEPT\n-X B\n", "chain `B` is not empty"),
        ("-X INPUT\n", "`INPUT` is built in, or would have to be"),
        ("-P A DROP\n", "`A` is built in, or would have to be"),
        (
            ":Q - [0:0]\n-A Q -j Q2\n:Q2 - [0:0]\n",
            "chain `Q2`, to which a rule of `Q` jumps, does not exist",
        ),
        (
            ":B -\n:C -\n-A B -j C\n-A C -j B\n-A INPUT -j B\n",
            "chain `B` jumps to itself in a circle",
        ),
        ("-A A -j A\n", "chain `A` jumps to itself in a circle"),
        ("-A INPUT -j INPUT\n", "chain `INPUT`, to which a rule of `INPUT` jumps, does not exist"),
    ] {
        let (result, after) = filter(commands);
        assert_eq!(result.unwrap_err().to_string(), error, "{commands}");
        assert_eq!(after, BEFORE, "{commands}");
    }
}

#[test]
fn naming_a_chain_flushes_it_but_not_a_built_in_one() {
    let (result, after) = filter(":A - [0:0]\n:INPUT DROP [3:4]\n:NEW - [0:0]\n-A NEW -j A\n");
    assert_eq!(result, Ok(()));
    insta::assert_snapshot!(after, @r"
    *filter
    :INPUT DROP [3:4]
    :FORWARD ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    :A - [0:0]
    :NEW - [0:0]
    -A INPUT -j A
    -A NEW -j A
    COMMIT
    ");
}

#[test]
fn without_noflush_the_table_starts_empty() {
    let (result, after) = run("*filter\n-A OUTPUT -j ACCEPT\nCOMMIT\n", Flush::Yes);
    assert_eq!(result, Ok(()));
    insta::assert_snapshot!(after, @r"
    *filter
    :INPUT ACCEPT [0:0]
    :FORWARD ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    -A OUTPUT -j ACCEPT
    COMMIT
    ");
}

#[test]
fn a_stale_chain_goes_with_the_rules_that_used_it() {
    let (result, after) = filter("-D INPUT -j A\n:A - [0:0]\n-X A\n");
    assert_eq!(result, Ok(()));
    assert!(!after.contains(":A"), "{after}");
}

#[test]
fn rules_are_inserted_replaced_and_deleted_by_number() {
    let (result, after) = filter(
        "-I INPUT -s 10.0.0.1 -j ACCEPT\n-I INPUT 3 -j DROP\n-R INPUT 1 -s 10.0.0.2 -j ACCEPT\n-D INPUT 2\n-E A B\n",
    );
    assert_eq!(result, Ok(()));
    insta::assert_snapshot!(after, @r"
    *filter
    :INPUT ACCEPT [0:0]
    :FORWARD ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    :B - [0:0]
    -A INPUT -s 10.0.0.2/32 -j ACCEPT
    -A INPUT -j DROP
    -A B -j DROP
    COMMIT
    ");
    let (_, renamed) = filter("-E A B\n");
    assert!(renamed.contains("-A INPUT -j B\n"), "{renamed}");
}

#[test]
fn tables_before_a_failing_one_keep_their_change() {
    let text = "*nat\n:K - [0:0]\nCOMMIT\n*filter\n-A NOPE -j ACCEPT\nCOMMIT\n*mangle\n:K - [0:0]\nCOMMIT\n";
    let (result, after) = run(text, Flush::No);
    assert!(matches!(result, Err(ApplyError::UnknownChain { .. })));
    assert!(after.contains("*nat\n") && after.contains(":K - [0:0]\n"), "{after}");
    assert!(!after.contains("*mangle\n"), "{after}");
    let (result, after) = run("*frob\nCOMMIT\n", Flush::No);
    assert_eq!(result, Err(ApplyError::UnknownTable("frob".into())));
    assert_eq!(after, BEFORE);
}
