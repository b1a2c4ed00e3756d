//! Sets: real output comes back, commands do what the kernel does, and the real tool takes what is
//! printed.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use ipnet::IpNet;
use kps_ruleset::ipset::{
    Element, Entry, Family, Options, Port, Set, SetType, Sets, apply, compare, parse_commands,
    parse_sets, print_commands, print_list, print_save,
};
use kps_ruleset::{Name, Protocol};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn snapshots() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots")
}

fn read(text: &str) -> Sets {
    let parsed = parse_sets(text);
    assert_eq!(parsed.errors, []);
    parsed.value
}

#[test]
fn what_kube_proxy_makes_comes_back() {
    let mut count = 0;
    for cluster in fs::read_dir(snapshots().join("corpus")).unwrap() {
        let path = cluster.unwrap().path().join("1.37.2/ipvs/ipset-save.txt");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        assert_eq!(print_save(&read(&text)), text, "{}", path.display());
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

/// Sets of all types that a kernel had, as ipset 7.17 saved them.
const SAVED: &str = include_str!("../../snapshots/ipset/save.txt");
/// The same as it listed them.
const LISTED: &str = include_str!("../../snapshots/ipset/list.txt");

#[test]
fn sets_of_all_types_come_back() {
    assert_eq!(print_save(&read(SAVED)), SAVED);
}

#[test]
fn a_listing_says_the_same_as_what_is_saved() {
    let (listed, saved) = (read(LISTED), read(SAVED));
    assert_eq!(compare(&saved, &listed), []);
    assert_eq!(listed, saved);
    let ours = ["Revision:", "Size in memory:", "References:"];
    let expected: String = LISTED
        .split_inclusive('\n')
        .filter(|line| !ours.iter().any(|start| line.starts_with(start)))
        .collect();
    assert_eq!(print_list(&saved), expected);
}

fn outcome(commands: &str) -> Result<String, String> {
    let parsed = parse_commands(commands, &Sets::default());
    if let Some(error) = parsed.errors.first() {
        return Err(error.to_string());
    }
    let mut sets = Sets::default();
    for command in &parsed.value {
        apply(&mut sets, command).map_err(|error| error.to_string())?;
    }
    Ok(print_save(&sets))
}

#[test]
fn refused_commands() {
    for (commands, error) in [
        ("create a hash:ip\ncreate a hash:ip\n", "set `a` already exists"),
        ("create a hash:ip\ncreate a hash:net -exist\n", "set `a` already exists"),
        ("create a hash:ip\ncreate a hash:ip counters -exist\n", "set `a` already exists"),
        ("create a hash:ip\nadd a 1.1.1.1\nadd a 1.1.1.1\n", "`1.1.1.1` is already in set `a`"),
        ("create a hash:ip\ndel a 1.1.1.1\n", "`1.1.1.1` is not in set `a`"),
        ("destroy a\n", "no set of the name `a`"),
        (
            "create KUBE-LOAD-BALANCER-SOURCE-CIDR-X hash:ip\n",
            "`KUBE-LOAD-BALANCER-SOURCE-CIDR-X` is not a name of 1 to 31 bytes",
        ),
        ("create a hash:ip maxelem 1\nadd a 1.1.1.1-1.1.1.2\n", "set `a` is full"),
        ("create a bitmap:port range 10-20\nadd a 9\n", "`9` cannot be in set `a`"),
        ("create a hash:net\nadd a 0.0.0.0/0\n", "`0.0.0.0/0` cannot be in set `a`"),
        ("create a hash:net,port\nadd a 0.0.0.0/0,80\n", "`0.0.0.0/0,tcp:80` cannot be in set `a`"),
        (
            "create a hash:ip,port,net\nadd a 1.1.1.1,80,0.0.0.0/0\n",
            "`1.1.1.1,tcp:80,0.0.0.0/0` cannot be in set `a`",
        ),
        (
            "create a hash:ip\ncreate b bitmap:port range 0-9\nswap a b\n",
            "sets `a` and `b` are of different types",
        ),
        ("create a hash:ip\ncreate l list:set\nadd l a\ndestroy a\n", "set `a` is in use"),
        ("create l list:set\nadd l nope\n", "`nope` cannot be in set `l`"),
        ("add a 1.1.1.1\n", "line 1: expected a known set, found `add a 1.1.1.1`"),
        (
            "create a hash:ip\nadd a fd00::1\n",
            "line 2: expected an element of the set's type, found `add a fd00::1`",
        ),
        ("frob a\n", "line 1: expected a command of ipset, found `frob a`"),
        (
            "create a hash:ip maxelem x\n",
            "line 1: expected a number, found `create a hash:ip maxelem x`",
        ),
    ] {
        assert_eq!(outcome(commands), Err(error.to_owned()), "{commands}");
    }
}

#[test]
fn commands_of_kube_proxy_and_of_a_swap() {
    let commands = "\
create NEW hash:ip,port family inet hashsize 1024 maxelem 65536 -exist
create NEW hash:ip,port family inet hashsize 1024 maxelem 65536 -exist
create OLD hash:ip,port
create P bitmap:port range 0-65535 -exist
add NEW 10.0.0.1,tcp:80 -exist
add NEW 10.0.0.1,tcp:80 -exist
add OLD 10.0.0.1,udp:53-54
add P 30080
del OLD 10.0.0.1,udp:54
swap NEW OLD
rename OLD GONE
flush P
";
    insta::assert_snapshot!(outcome(commands).unwrap(), @r"
    create NEW hash:ip,port family inet
    add NEW 10.0.0.1,udp:53
    create GONE hash:ip,port family inet hashsize 1024 maxelem 65536
    add GONE 10.0.0.1,tcp:80
    create P bitmap:port range 0-65535
    ");
    let parsed = parse_commands(commands, &Sets::default()).value;
    let again = parse_commands(&print_commands(&parsed), &Sets::default()).value;
    assert_eq!(again, parsed);
}

#[test]
fn defaults_of_a_set_apply_to_its_entries() {
    let text = "create t hash:ip timeout 60 counters\nadd t 1.1.1.1\nadd t 1.1.1.2 timeout 5\n";
    insta::assert_snapshot!(outcome(text).unwrap(), @r"
    create t hash:ip family inet timeout 60 counters
    add t 1.1.1.1 timeout 60 packets 0 bytes 0
    add t 1.1.1.2 timeout 5 packets 0 bytes 0
    ");
    assert_eq!(
        outcome("create m hash:ip netmask 24\nadd m 10.0.0.9\n").unwrap(),
        "create m hash:ip family inet netmask 24\nadd m 10.0.0.0\n"
    );
}

#[test]
fn differences_are_named() {
    let a = read(
        "create s hash:ip,port family inet hashsize 1024\nadd s 1.1.1.1,tcp:80\ncreate t hash:ip\ncreate u hash:ip\ncreate n hash:net\nadd n 10.0.0.0/8 nomatch\n",
    );
    let b = read(
        "create s hash:ip,port family inet maxelem 65536 bucketsize 12\nadd s 1.1.1.2,tcp:80\ncreate t hash:ip maxelem 5\ncreate v hash:ip\ncreate n hash:net\nadd n 10.0.0.0/8\n",
    );
    let found: Vec<String> = compare(&a, &b).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "set n: element 10.0.0.0/8 has other options",
            "set s: missing element 1.1.1.1,tcp:80",
            "set s: extra element 1.1.1.2,tcp:80",
            "set t: expected hash:ip family inet, found hash:ip family inet maxelem 5",
            "missing set u",
            "extra set v"
        ]
    );
}

fn v4() -> impl Strategy<Value = IpAddr> {
    any::<[u8; 4]>().prop_map(IpAddr::from)
}

fn port() -> impl Strategy<Value = Port> {
    let protocol = prop_oneof![
        Just(Protocol::TCP),
        Just(Protocol::UDP),
        Just(Protocol::SCTP),
        Just(Protocol::ICMP)
    ];
    (protocol, any::<u16>()).prop_map(|(protocol, port)| Port { protocol, port })
}

fn net() -> impl Strategy<Value = IpNet> {
    (v4(), 1..=32_u8).prop_map(|(address, length)| IpNet::new(address, length).unwrap().trunc())
}

fn elements(kind: SetType) -> BoxedStrategy<Vec<Element>> {
    let element = match kind {
        SetType::BitmapPort => any::<u16>().prop_map(Element::Port).boxed(),
        SetType::HashIp => v4().prop_map(Element::Ip).boxed(),
        SetType::HashNet => net().prop_map(Element::Net).boxed(),
        SetType::HashIpPort => (v4(), port()).prop_map(|(a, p)| Element::IpPort(a, p)).boxed(),
        SetType::HashIpPortIp => {
            (v4(), port(), v4()).prop_map(|(a, p, b)| Element::IpPortIp(a, p, b)).boxed()
        }
        SetType::HashIpPortNet => {
            (v4(), port(), net()).prop_map(|(a, p, n)| Element::IpPortNet(a, p, n)).boxed()
        }
        _ => (net(), port()).prop_map(|(n, p)| Element::NetPort(n, p)).boxed(),
    };
    vec(element, 0..8).boxed()
}

fn any_set() -> impl Strategy<Value = Set> {
    let kind = prop_oneof![
        Just(SetType::BitmapPort),
        Just(SetType::HashIp),
        Just(SetType::HashNet),
        Just(SetType::HashIpPort),
        Just(SetType::HashIpPortIp),
        Just(SetType::HashIpPortNet),
        Just(SetType::HashNetPort)
    ];
    let set = kind.prop_flat_map(|kind| (Just(kind), elements(kind)));
    (set, any::<bool>(), "[ !#-~]{0,20}").prop_map(|((kind, elements), timeout, comment)| {
        let options = Options {
            family: kind.has_family().then_some(Family::Inet),
            comment: true,
            timeout: timeout.then_some(60),
            ..Options::default()
        };
        let entry = Entry {
            comment: (!comment.is_empty()).then(|| Name::from(comment.replace('\\', "/"))),
            timeout: timeout.then_some(30),
            ..Entry::default()
        };
        let entries = elements.into_iter().map(|element| (element, entry)).collect();
        Set { kind, options, entries }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn reading_undoes_printing(sets in btree_map("[A-Z][A-Z0-9-]{0,20}", any_set(), 0..5)) {
        let sets = sets.into_iter().map(|(name, set)| (Name::from(name), set)).collect();
        let sets = Sets { sets };
        prop_assert_eq!(&read(&print_save(&sets)), &sets);
        prop_assert_eq!(&read(&print_list(&sets)), &sets);
    }

    #[test]
    fn any_text_is_read(
        lines in vec("(create|add|del|Name:|Type:|Header:|Members:|swap|rename) [ a-z0-9:,./\"-]{0,30}", 0..12),
    ) {
        let _ = parse_sets(&lines.join("\n"));
        let _ = parse_commands(&lines.join("\n"), &Sets::default());
    }
}

#[test]
fn the_tool_takes_what_is_printed() {
    let run = |script: &str, input: &str| -> Option<String> {
        let mut child = Process::new("unshare")
            .args(["-n", "sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(input.as_bytes()).ok()?;
        let output = child.wait_with_output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    if run("ipset create probe hash:ip", "").is_none() {
        eprintln!("skipped: ipset cannot be used here");
        return;
    }
    let sets = read(SAVED);
    let saved = run("ipset restore && ipset save", &print_save(&sets)).unwrap();
    assert_eq!(compare(&sets, &read(&saved)), []);
}
