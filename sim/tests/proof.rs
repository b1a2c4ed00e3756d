//! Proofs of small hand-written rule sets: each way of asking about an address or port narrows classes
//! as it should, so that a random packet gets what the proof says of its class.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the fixtures are constants, and a test may fail"
)]

#[path = "nftables/world.rs"]
#[expect(dead_code, reason = "another test needs the rest of this node")]
mod world;

use std::collections::BTreeSet;
use std::net::IpAddr;

use kps_flow::{Answer, ClientClass, Dataplane, Distribution, Flow, Outcome, Protocol};
use kps_ruleset::NodeState;
use kps_ruleset::ipset::parse_sets;
use kps_ruleset::iptables::{Family, parse_ruleset};
use kps_ruleset::ipvs::parse_table;
use kps_sim::Walker;
use kps_sim::prove::{Proof, prove};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PACKETS: usize = 800;

/// Addresses around the constants of the rules.
const ADDRESSES: [&str; 16] = [
    "10.96.0.1",
    "10.96.0.2",
    "10.96.0.3",
    "10.96.0.0",
    "10.96.0.4",
    "192.0.2.10",
    "192.0.2.11",
    "192.0.2.255",
    "198.51.100.7",
    "198.51.100.8",
    "198.51.100.9",
    "203.0.113.1",
    "127.0.0.1",
    "10.244.0.5",
    "224.0.0.1",
    "255.255.255.255",
];
/// Ports around them.
const PORTS: [u16; 12] = [0, 1, 20, 21, 79, 80, 81, 443, 444, 1023, 1024, 40_000];

fn packet(random: &mut ChaCha8Rng) -> Flow {
    let address = |random: &mut ChaCha8Rng| -> IpAddr {
        if random.random_ratio(1, 12) {
            return random.random::<u32>().to_be_bytes().into();
        }
        ADDRESSES.choose(random).unwrap().parse().unwrap()
    };
    let port = |random: &mut ChaCha8Rng| {
        if random.random_ratio(1, 12) { random.random() } else { *PORTS.choose(random).unwrap() }
    };
    let (client, interface, source) = match random.random_range(0..4) {
        0 => (ClientClass::Node, None, None),
        1 => (ClientClass::Pod, Some("veth1"), Some("10.244.0.5".parse().unwrap())),
        _ => (ClientClass::Outside, Some("eth0"), Some(address(random))),
    };
    let protocols = [Protocol::Tcp, Protocol::Tcp, Protocol::Udp, Protocol::Sctp, Protocol::Icmp];
    let protocol = *protocols.choose(random).unwrap();
    Flow {
        client,
        interface: interface.map(str::to_owned),
        source,
        source_port: port(random),
        protocol,
        destination: address(random),
        port: if protocol.has_ports() { port(random) } else { 0 },
    }
}

fn answer(walker: &Walker, flow: &Flow) -> Distribution<Outcome> {
    match walker.decide(flow) {
        Answer::Exact(outcomes) => outcomes,
        other => panic!("{other:?}"),
    }
}

fn is_unknown(outcomes: &Distribution<Outcome>) -> bool {
    outcomes.branches().iter().any(|(_, outcome)| matches!(outcome, Outcome::Unknown(_)))
}

/// Compares a node with the same without rules, and holds random packets against the proof.
fn holds(state: &NodeState) -> Proof {
    let bare = NodeState { host: state.host.clone(), ..NodeState::default() };
    let (full, bare) = (Walker::new(state), Walker::new(&bare));
    let proof = prove(&full, &bare);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..PACKETS {
        let flow = packet(&mut random);
        let (left, right) = (answer(&full, &flow), answer(&bare, &flow));
        if proof.undecided.iter().any(|undecided| undecided.class.contains(&flow)) {
            continue;
        }
        assert!(!is_unknown(&left), "{flow} is said to be known");
        let differs = left.merged() != right.merged();
        let said = proof.differences.iter().any(|difference| difference.class.contains(&flow));
        assert_eq!(differs, said, "{flow}: {left:?} {right:?}");
    }
    proof
}

fn of_nftables(rules: &str) -> Proof {
    holds(&world::node(rules))
}

fn of_iptables(rules: &str, sets: &str) -> Proof {
    let mut state = world::node("");
    let parsed = parse_ruleset(rules, Family::Ipv4);
    assert_eq!(parsed.errors, [], "{rules}");
    state.iptables.v4 = parsed.value;
    state.ipset = parse_sets(sets).value;
    holds(&state)
}

fn filter(rules: &str) -> Proof {
    let table = format!(
        "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n{rules}\nCOMMIT\n"
    );
    of_iptables(&table, "")
}

/// Checks that a proof is about something: it finds differences, and knows all.
fn tells(proof: &Proof) {
    let reasons: BTreeSet<_> = proof.undecided.iter().map(|undecided| &undecided.why).collect();
    assert!(reasons.is_empty(), "{reasons:?}");
    assert!(!proof.differences.is_empty());
}

#[test]
fn an_empty_rule_set_is_equal_to_none() {
    assert!(
        of_nftables("table ip t { chain c { type filter hook input priority 0; } }").is_equal()
    );
}

#[test]
fn comparisons_of_nftables_narrow() {
    for rule in [
        "ip saddr 198.51.100.8 drop",
        "ip saddr 198.51.100.8/31 drop",
        "ip daddr != 10.96.0.2 tcp dport 80 drop",
        "tcp dport { 80, 443-1023 } drop",
        "tcp dport > 1023 drop",
        "udp sport <= 80 drop",
        "ip saddr . tcp dport { 198.51.100.8 . 80, 198.51.100.9 . 443 } drop",
        "ip saddr . ip daddr != { 198.51.100.8 . 10.96.0.1, 198.51.100.8 . 10.96.0.2 } drop",
        "fib daddr type local drop",
        "fib saddr type local drop",
        "ct original proto-dst 80 drop",
        "ct original daddr 10.96.0.1 drop",
        "iifname \"veth*\" tcp dport 80 drop",
        "iifname { \"eth0\", \"veth9\" } drop",
        "meta l4proto icmp drop",
        "ip saddr vmap { 198.51.100.7 : drop, 198.51.100.8/31 : drop }",
    ] {
        tells(&of_nftables(&world::chain("filter hook prerouting priority -150", rule)));
        holds(&world::node(&world::chain("filter hook forward priority 0", rule)));
    }
}

#[test]
fn what_is_computed_of_a_field_is_not_decided() {
    let proof = of_nftables(&world::chain(
        "filter hook prerouting priority -150",
        "meta mark set tcp dport\nmeta mark 80 drop",
    ));
    assert!(!proof.undecided.is_empty());
}

#[test]
fn translations_of_nftables_narrow() {
    for rule in [
        "ip daddr . tcp dport { 10.96.0.1 . 80 } dnat to 10.244.0.5:8080",
        "tcp dport 80 dnat to 10.244.0.5",
        "dnat ip to ip daddr map { 10.96.0.1 : 10.244.0.5, 10.96.0.2 : 203.0.113.1 }",
        "ip daddr 10.96.0.1 dnat to numgen random mod 2 map { 0 : 10.244.0.5, 1 : 10.96.0.1 }",
        "udp dport 80 redirect to :443",
    ] {
        tells(&of_nftables(&world::chain("nat hook prerouting priority -100", rule)));
    }
    for rule in [
        "ip saddr 10.244.0.5 masquerade",
        "snat to 192.0.2.10",
        "ip daddr 203.0.113.1 masquerade random",
    ] {
        tells(&of_nftables(&world::chain("nat hook postrouting priority 100", rule)));
    }
}

#[test]
fn matches_of_iptables_narrow() {
    for rule in [
        "-A FORWARD -s 198.51.100.8/31 -j DROP",
        "-A FORWARD ! -d 10.96.0.2/32 -j REJECT",
        "-A FORWARD -p tcp -m tcp --dport 80:443 -j DROP",
        "-A FORWARD -p udp -m udp ! --sport 80 -j DROP",
        "-A FORWARD -p tcp -m multiport --dports 80,443:1023 -j DROP",
        "-A FORWARD -p tcp -m multiport --ports 80 -j DROP",
        "-A FORWARD -m iprange --src-range 198.51.100.7-198.51.100.8 -j DROP",
        "-A INPUT -m addrtype --dst-type LOCAL -j DROP",
        "-A FORWARD -m conntrack --ctorigdst 10.96.0.2 --ctorigdstport 80 -p tcp -j DROP",
        "-A FORWARD -i veth+ -j DROP",
        "-A FORWARD -m recent --set --name A --rsource\n-A FORWARD -s 198.51.100.8/32 -m recent --rcheck --name A --rsource -j DROP",
    ] {
        tells(&filter(rule));
    }
    let undecided = filter("-A FORWARD -s 198.0.100.8/255.0.255.255 -j DROP");
    assert!(!undecided.undecided.is_empty());
}

#[test]
fn a_long_chain_of_iptables_narrows_by_its_index() {
    let rules: Vec<String> = (0..40)
        .map(|i| match i % 3 {
            0 => format!(
                "-A FORWARD -d 10.96.0.{}/32 -p tcp -m tcp --dport {} -j DROP",
                i % 7,
                80 + i % 2
            ),
            1 => format!("-A FORWARD -p tcp -m tcp --dport {} -j REJECT", 440 + i % 5),
            _ => format!("-A FORWARD -d 198.51.100.{}/32 -j DROP", i % 9),
        })
        .collect();
    tells(&filter(&rules.join("\n")));
}

#[test]
fn translations_of_iptables_narrow() {
    for rule in [
        "-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.0.5:8080",
        "-A PREROUTING -p tcp -m statistic --mode random --probability 0.5 -j DNAT --to-destination 10.96.0.1",
        "-A PREROUTING -p udp -m udp --dport 80 -j REDIRECT --to-ports 443",
        "-A POSTROUTING -j SNAT --to-source 198.51.100.7-198.51.100.8",
        "-A POSTROUTING -d 203.0.113.0/24 -j MASQUERADE",
    ] {
        let table = format!(
            "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n{rule}\nCOMMIT\n"
        );
        tells(&of_iptables(&table, ""));
    }
}

#[test]
fn ip_sets_narrow() {
    let sets = "\
create a hash:ip family inet hashsize 1024 maxelem 65536
add a 198.51.100.8
create n hash:net family inet hashsize 1024 maxelem 65536
add n 198.51.100.0/24
add n 198.51.100.8/31 nomatch
create p hash:ip,port family inet hashsize 1024 maxelem 65536
add p 10.96.0.1,tcp:80
add p 10.96.0.2,tcp:80
add p 10.96.0.2,udp:443
create s hash:ip,port,net family inet hashsize 1024 maxelem 65536
add s 10.96.0.1,tcp:80,198.51.100.8/31
create b bitmap:port range 0-65535
add b 80
create t hash:ip,port,ip family inet hashsize 1024 maxelem 65536
add t 10.244.0.5,tcp:80,10.244.0.5
";
    for test in ["a src", "a dst", "n src", "p dst,dst", "p src,src", "s dst,dst,src", "b dst"] {
        for not in ["", "! "] {
            let rule = format!(
                "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m set {not}--match-set {test} -j DROP\nCOMMIT\n"
            );
            tells(&of_iptables(&rule, sets));
        }
    }
    let hairpin = "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -m set --match-set t dst,dst,src -j MASQUERADE\nCOMMIT\n";
    tells(&of_iptables(hairpin, sets));
}

#[test]
fn virtual_servers_narrow() {
    for servers in [
        "-A -t 192.0.2.10:80 -s rr\n-a -t 192.0.2.10:80 -r 10.244.0.5:8080 -m -w 1\n-a -t 192.0.2.10:80 -r 203.0.113.1:80 -m -w 1\n",
        "-A -u 192.0.2.10:443 -s rr\n-A -t 192.0.2.10:0 -s rr -p 300\n-a -t 192.0.2.10:0 -r 10.244.0.5:0 -m -w 1\n",
        "-A -t 192.0.2.10:21 -s rr\n-a -t 192.0.2.10:21 -r 10.244.0.5:21 -m -w 1\n",
    ] {
        let mut state = world::node("");
        let parsed = parse_table(servers);
        assert_eq!(parsed.errors, [], "{servers}");
        state.ipvs = parsed.value;
        tells(&holds(&state));
    }
}

#[test]
fn policy_rules_and_refusals_narrow() {
    let drop = world::chain("filter hook forward priority 0", "tcp dport 80 drop");
    let routes = "default via 192.0.2.2 dev eth0 table 100\nblackhole 203.0.113.0/24 table 100\n";
    let rules = "0:\tfrom all lookup local\n100:\tfrom 198.51.100.8/31 lookup 100\n32766:\tfrom all lookup main\n";
    for sysctls in
        ["", "net.ipv4.conf.all.rp_filter = 1\n", "net.ipv4.conf.all.route_localnet = 1\n"]
    {
        let state = world::with_host(world::node(&drop), routes, rules, sysctls);
        tells(&holds(&state));
    }
}
