//! What nft and the kernel themselves say, in a network namespace of their own.
//!
//! Needs `nft` and the right to make a namespace. Without them the tests pass with a line that says
//! so, unless `CI` is `true`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at what it does not expect"
)]

use std::fmt::Write as _;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use kps_ruleset::nftables::{
    ApplyErrorKind, Ruleset, compare, parse_ruleset, parse_script, print_ruleset, print_script,
};

/// Runs a shell script in a fresh namespace, with a text as its standard input.
fn in_namespace(script: &str, input: &str) -> Output {
    let mut child = Command::new("unshare")
        .args(["-n", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unshare runs");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn has_nft() -> bool {
    let probe = Command::new("unshare").args(["-n", "nft", "list", "ruleset"]).output();
    let works = probe.is_ok_and(|output| output.status.success());
    if !works {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "nft is needed");
        println!("skipped: no nft, or no right to make a network namespace");
    }
    works
}

fn snapshot(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/nftables/");
    std::fs::read_to_string(format!("{root}{path}")).unwrap()
}

/// Returns what nft lists after it has read a script, or what it says against it.
fn load(script: &str) -> Result<String, String> {
    let output = in_namespace("ip link set lo up; nft -f - && nft list ruleset", script);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn printed_rule_sets_load_and_list_the_same() {
    if !has_nft() {
        return;
    }
    for name in ["random-102-1.37.2", "random-108-1.34.4", "random-104-1.34.4"] {
        let listed = parse_ruleset(&snapshot(&format!("kube-proxy/{name}/nft.txt"))).value;
        let mut commands = Vec::new();
        for table in listed.tables.clone() {
            commands.extend(table.into_commands());
        }
        for script in [print_ruleset(&listed), print_script(&commands)] {
            let loaded = parse_ruleset(&load(&script).unwrap());
            assert_eq!(loaded.errors, []);
            assert_eq!(compare(&listed, &loaded.value), [], "{name}");
        }
    }
}

#[test]
fn all_statements_load_from_both_forms() {
    if !has_nft() {
        return;
    }
    let theirs = snapshot("statements/nft.txt");
    let listed = parse_ruleset(&theirs).value;
    let commands: Vec<_> = listed
        .tables
        .iter()
        .cloned()
        .flat_map(kps_ruleset::nftables::Table::into_commands)
        .collect();
    let quota = "add quota ip t q1 { over 10 mbytes ; }\n";
    let commands: Vec<_> = commands
        .into_iter()
        .filter(|c| !matches!(c, kps_ruleset::nftables::Command::Unsupported(_)))
        .collect();
    let script = print_script(&commands);
    let script = script.replacen("add chain", &format!("{quota}add chain"), 1);
    let loaded = load(&script).unwrap();
    assert_eq!(compare(&listed, &parse_ruleset(&loaded).value), []);
}

/// Rules as they are written, whose normal form is found out from nft.
const WRITTEN: &str = "\
add table ip t
add chain ip t c
add chain ip t b
add rule ip t c ip saddr { 10.0.0.0/9, 10.128.0.0/9 } drop
add rule ip t c ip saddr != { 10.0.0.1/32 } drop
add rule ip t c ip saddr { 10.0.0.2, 10.0.0.1, 10.0.0.1 } drop
add rule ip t c ip saddr { 10.0.0.0/8, 10.0.0.0/8 } drop
add rule ip t c ip saddr { 10.0.0.5, 10.0.0.0/30, 10.0.0.4 } drop
add rule ip t c ip saddr { 10.0.0.0/8, 0.0.0.0/0 } drop
add rule ip t c ip saddr { 128.0.0.0/1, 0.0.0.0/1 } drop
add rule ip t c ip saddr { 255.255.255.255, 255.255.255.254/32, 10.0.0.0/8 } drop
add rule ip t c ip saddr { 10.0.0.1-10.0.0.255, 10.0.0.0 } drop
add rule ip t c ip saddr { 10.0.0.3, 10.0.0.4/32 } drop
add rule ip t c ip saddr 10.0.0.4/32 drop
add rule ip t c ip saddr 10.0.0.1/24 drop
add rule ip t c ip saddr { 10.0.0.0/24, 10.0.2.0/24, 10.0.1.0/24 } drop
add rule ip t c ip saddr { 10.0.0.1 comment \"x\" } drop
add rule ip t c tcp dport { 80, 81 } drop
add rule ip t c tcp dport { 81, 80, 22-30 } drop
add rule ip t c tcp dport vmap { 90 : drop, 80 : accept }
add rule ip t c tcp dport vmap { 90-95 : drop, 80 : accept }
add rule ip t c meta l4proto { udp, tcp } drop
add rule ip t c numgen random mod 2 vmap { 1 : drop , 0 : jump b }
add rule ip t c iifname { \"zeth\", \"aeth\", \"abc\" } drop
add rule ip t c ip saddr . tcp dport { 10.0.0.2 . 80, 10.0.0.1 . 90, 10.0.0.1 . 80 } drop
add rule ip t c meta mark { 5, 4, 0x100 } drop
add rule ip t c ct state { new, established } drop
add rule ip t c ct state vmap { new : drop, established : accept }
add rule ip t c tcp flags & syn == 0
add rule ip t c tcp flags & (syn|ack) != 0
add rule ip t c mark and 0x4000 != 0 mark set mark xor 0x4000
add rule ip t c reject with icmp port-unreachable
add set ip t s { type ipv4_addr ; flags dynamic,timeout ; timeout 10800s ; }
add rule ip t c update @s { ip saddr }
add map ip t m { type ipv4_addr . inet_proto . inet_service : verdict ; }
add element ip t m { 10.0.0.1 . tcp . 80 comment \"x\" : goto b }
add set ip t p { type inet_service ; }
add element ip t p { 80 }
";

#[test]
fn rules_are_normalised_as_nft_does() {
    if !has_nft() {
        return;
    }
    let theirs = load(WRITTEN).unwrap();
    let script = parse_script(WRITTEN);
    assert_eq!(script.errors, []);
    let mut ours = Ruleset::default();
    ours.apply(&script.value).unwrap();
    let ours = print_ruleset(&ours);
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours, theirs);
}

/// A transaction that is set up, one that is judged, and what the kernel says to it.
const JUDGED: &[(&str, &str, Result<(), ApplyErrorKind>)] = {
    use ApplyErrorKind::*;
    const MAP: &str = "add table ip t\nadd chain ip t c\nadd chain ip t d\n\
        add map ip t m { type ipv4_addr : verdict ; }\nadd element ip t m { 1.1.1.1 : drop }\n";
    const CALL: &str =
        "add table ip t\nadd chain ip t c\nadd chain ip t d\nadd rule ip t c jump d\n";
    const SET: &str = "add table ip t\nadd chain ip t c\nadd set ip t s { type ipv4_addr ; }\n";
    const BASE: &str = "add table ip t\nadd chain ip t b { type filter hook input priority 0 ; }\nadd chain ip t c\nadd chain ip t d\n";
    &[
        (MAP, "add element ip t m { 1.1.1.1 : drop }", Ok(())),
        (MAP, "add element ip t m { 1.1.1.1 : accept }", Err(Exists)),
        (MAP, "create element ip t m { 1.1.1.1 : drop }", Err(Exists)),
        (MAP, "delete element ip t m { 1.1.1.2 }", Err(NotFound)),
        (MAP, "add element ip t m { 1.1.1.2 : jump x }", Err(NotFound)),
        (MAP, "add element ip t m { 1.1.1.2 }", Err(Invalid)),
        (MAP, "delete element ip t m { 1.1.1.1 }\nadd element ip t m { 1.1.1.1 : goto c }", Ok(())),
        (MAP, "add element ip t m { 1.1.1.2 : goto c }\ndelete chain ip t c", Err(Busy)),
        (MAP, "add set ip t m { type ipv4_addr ; }", Err(Exists)),
        (MAP, "add table ip t", Ok(())),
        (MAP, "create table ip t", Err(Exists)),
        (MAP, "delete table ip x", Err(NotFound)),
        (MAP, "flush chain ip t x", Err(NotFound)),
        (MAP, "add chain ip x c", Err(NotFound)),
        (MAP, "add rule ip t x drop", Err(NotFound)),
        (MAP, "add rule ip t c jump x", Err(NotFound)),
        (MAP, "add rule ip t c ip saddr @x drop", Err(NotFound)),
        (MAP, "delete counter ip t x", Err(NotFound)),
        (CALL, "delete chain ip t d", Err(Busy)),
        (CALL, "delete chain ip t c\ndelete chain ip t d", Ok(())),
        (CALL, "flush chain ip t c\ndelete chain ip t d", Ok(())),
        (CALL, "add rule ip t d jump c", Ok(())),
        (CALL, "delete table ip t", Ok(())),
        (SET, "add rule ip t c ip saddr @s drop\ndelete set ip t s", Err(Busy)),
        (SET, "add set ip t s { type ipv4_addr ; }", Ok(())),
        (SET, "add set ip t s { type ipv4_addr ; flags interval ; }", Err(Exists)),
        (SET, "add set ip t s { type ipv4_addr ; timeout 5s ; }", Err(Exists)),
        (BASE, "add chain ip t b { type filter hook input priority 1 ; }", Err(NotSupported)),
        (BASE, "add chain ip t b { type filter hook input priority 0 ; policy drop ; }", Ok(())),
        (BASE, "add chain ip t b", Ok(())),
        (BASE, "create chain ip t b", Err(Exists)),
        (BASE, "add rule ip t c jump b", Err(NotSupported)),
        (
            BASE,
            "add rule ip t b jump c\nadd rule ip t c jump d\nadd rule ip t d goto c",
            Err(TooManyLinks),
        ),
    ]
};

#[test]
fn transactions_are_judged_as_the_kernel_does() {
    let nft = has_nft();
    for (before, judged, verdict) in JUDGED {
        let mut ruleset = Ruleset::default();
        ruleset.apply(&parse_script(before).value).unwrap();
        let untouched = ruleset.clone();
        let ours = ruleset.apply(&parse_script(judged).value).map_err(|error| error.kind);
        assert_eq!(ours, *verdict, "{judged}");
        if verdict.is_err() {
            assert_eq!(ruleset, untouched, "{judged}");
        }
        if nft {
            let script = format!("cat > /dev/null; nft '{before}' && nft '{judged}'");
            let theirs = in_namespace(&script, "");
            let said = String::from_utf8_lossy(&theirs.stderr).to_lowercase();
            assert_eq!(theirs.status.success(), verdict.is_ok(), "{judged}: {said}");
            let expected = verdict.err().map(|kind| kind.to_string()).unwrap_or_default();
            assert!(said.contains(&expected), "{judged}: {said}");
        }
    }
}

#[test]
fn calls_go_fifteen_chains_deep() {
    let chain = |depth: usize, verb: &str| {
        let mut script =
            "add table ip t\nadd chain ip t c0 { type filter hook input priority 0 ; }\n"
                .to_owned();
        for at in 1..=depth {
            let _ = writeln!(script, "add chain ip t c{at}");
        }
        for at in 1..=depth {
            let _ = writeln!(script, "add rule ip t c{} {verb} c{at}", at - 1);
        }
        script
    };
    let nft = has_nft();
    for (depth, verb, fits) in
        [(15, "jump", true), (16, "jump", false), (15, "goto", true), (16, "goto", false)]
    {
        let script = chain(depth, verb);
        let ours = Ruleset::default().apply(&parse_script(&script).value);
        assert_eq!(ours.is_ok(), fits, "{depth} {verb}");
        assert!(!nft || load(&script).is_ok() == fits, "{depth} {verb}");
    }
}

#[test]
fn names_and_comments_have_a_longest() {
    let nft = has_nft();
    let base = "add table ip t\nadd chain ip t c\n";
    let (name, comment) = ("a".repeat(255), "a".repeat(128));
    for (script, fits) in [
        (format!("{base}add chain ip t {name}\n"), true),
        (format!("{base}add chain ip t {name}a\n"), false),
        (format!("{base}add rule ip t c drop comment \"{comment}\"\n"), true),
        (format!("{base}add rule ip t c drop comment \"{comment}a\"\n"), false),
    ] {
        let ours = Ruleset::default().apply(&parse_script(&script).value);
        assert_eq!(ours.is_ok(), fits, "{script}");
        assert!(!nft || load(&script).is_ok() == fits, "{script}");
    }
}
