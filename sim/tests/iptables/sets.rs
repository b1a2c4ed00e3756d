//! IP sets.

use kps_flow::{Flow, Outcome, Protocol};

use crate::tables::{dropping, table, with_sets, with_tables, with_tables6};
use crate::world::{by, outcome, outside, shares};

const SETS: &str = "
create ipp hash:ip,port family inet hashsize 1024 maxelem 65536
add ipp 10.244.0.5,tcp:80
add ipp 10.244.0.5,icmp:echo-request
create ippi hash:ip,port,ip family inet hashsize 1024 maxelem 65536
add ippi 10.244.0.5,tcp:80,198.51.100.7
create ippn hash:ip,port,net family inet hashsize 1024 maxelem 65536
add ippn 10.244.0.5,tcp:80,198.51.0.0/16
add ippn 10.244.0.5,tcp:80,198.51.100.0/24 nomatch
add ippn 10.244.0.5,tcp:81,198.51.0.0/16
create ports bitmap:port range 0-65535
add ports 80
create ip hash:ip family inet hashsize 1024 maxelem 65536
add ip 10.244.0.5
create cut hash:ip family inet hashsize 1024 maxelem 65536 netmask 24
add cut 10.244.0.0
create net hash:net family inet hashsize 1024 maxelem 65536
add net 10.0.0.0/8
add net 10.244.0.0/16 nomatch
add net 10.244.0.4/30
create six hash:ip family inet6 hashsize 1024 maxelem 65536
add six fd00:10:244::5
create ni hash:net,iface family inet hashsize 1024 maxelem 65536
add ni 10.244.0.0/16,veth1
create nn hash:net,net family inet hashsize 1024 maxelem 65536
add nn 198.51.100.0/24,10.244.0.0/16
create npn hash:net,port,net family inet hashsize 1024 maxelem 65536
add npn 198.51.100.0/24,tcp:80,10.244.0.0/16
create np hash:net,port family inet hashsize 1024 maxelem 65536
add np 10.244.0.0/16,tcp:80
create im hash:ip,mark family inet hashsize 1024 maxelem 65536
add im 10.244.0.5,0x00000000
create macs hash:mac hashsize 1024 maxelem 65536
create list list:set size 8
add list ip
add list ipp
";

fn has(test: &str, flow: &Flow) -> bool {
    let state = with_sets(with_tables(&dropping(&format!("-m set {test}"))), SETS);
    outcome(&state, flow) == Outcome::Drop
}

fn has_tcp(test: &str) -> bool {
    has(test, &outside("10.244.0.5", 80))
}

#[test]
fn each_part_comes_from_the_side_that_the_rule_names() {
    assert!(has_tcp("--match-set ipp dst,dst"));
    assert!(!has_tcp("--match-set ipp dst,src"));
    assert!(!has_tcp("--match-set ipp src,dst"));
    assert!(!has_tcp("! --match-set ipp dst,dst"));
    assert!(has_tcp("--match-set ippi dst,dst,src"));
    assert!(!has_tcp("--match-set ippi dst,dst,dst"));
    assert!(has_tcp("--match-set ip dst"));
    assert!(!has_tcp("--match-set ip src"));
}

#[test]
fn a_port_has_a_protocol() {
    let udp = by(Protocol::Udp, outside("10.244.0.5", 80));
    assert!(!has("--match-set ipp dst,dst", &udp));
    let ping = by(Protocol::Icmp, outside("10.244.0.5", 0));
    assert!(has("--match-set ipp dst,dst", &ping));
}

/// Unlike other sets, a bitmap knows the ports of TCP and UDP only, and does not tell them apart.
#[test]
fn a_bitmap_has_ports_of_tcp_and_udp() {
    assert!(has_tcp("--match-set ports dst"));
    assert!(!has_tcp("--match-set ports src"));
    assert!(has("--match-set ports dst", &by(Protocol::Udp, outside("10.244.0.5", 80))));
    assert!(!has("--match-set ports dst", &by(Protocol::Sctp, outside("10.244.0.5", 80))));
}

/// kernel: with a network, an exception in it and a network in that, an address of the innermost
/// counted; `--return-nomatch` counted an address of the exception, and only that.
#[test]
fn the_longest_network_decides_and_may_be_an_exception() {
    let at = |address: &str, test: &str| has(test, &outside(address, 80));
    assert!(at("10.244.0.5", "--match-set net dst"));
    assert!(!at("10.244.1.5", "--match-set net dst"));
    assert!(at("10.245.0.5", "--match-set net dst"));
    assert!(at("10.244.1.5", "! --match-set net dst"));
    assert!(at("10.244.1.5", "--match-set net dst --return-nomatch"));
    assert!(!at("10.244.0.5", "--match-set net dst --return-nomatch"));
    assert!(!at("10.245.0.5", "--match-set net dst --return-nomatch"));
}

#[test]
fn a_network_behind_a_port_may_be_an_exception_too() {
    assert!(!has_tcp("--match-set ippn dst,dst,src"));
    assert!(has("--match-set ippn dst,dst,src", &outside("10.244.0.5", 81)));
}

/// kernel: `hash:ip,port` with one direction did not count, its negation did.
#[test]
fn a_rule_that_names_too_few_parts_finds_nothing() {
    assert!(!has_tcp("--match-set ipp dst"));
    assert!(has_tcp("! --match-set ipp dst"));
    assert!(has_tcp("--match-set ip dst,src"));
}

#[test]
fn a_set_of_the_other_family_has_nothing() {
    assert!(!has_tcp("--match-set six dst"));
    let six = with_sets(with_tables6(&dropping("-m set --match-set six dst")), SETS);
    assert_eq!(outcome(&six, &outside("fd00:10:244::5", 80)), Outcome::Drop);
}

#[test]
fn sets_of_other_types() {
    assert!(has_tcp("--match-set cut dst"));
    assert!(has_tcp("--match-set ni dst,dst"));
    assert!(!has_tcp("--match-set ni dst,src"));
    assert!(has_tcp("--match-set nn src,dst"));
    assert!(has_tcp("--match-set npn src,dst,dst"));
    assert!(has_tcp("--match-set np dst,dst"));
    assert!(has_tcp("--match-set im dst,dst"));
}

/// kernel: with one direction the list had the address by its set of networks, with two that of
/// ports as well.
#[test]
fn a_list_has_what_any_of_its_sets_has() {
    assert!(has_tcp("--match-set list dst"));
    assert!(!has("--match-set list dst", &outside("10.244.0.6", 80)));
}

/// kernel: the match counted behind `--add-set`, and no more behind `--del-set`.
#[test]
fn a_rule_may_put_an_element_into_a_set() {
    let add = "-A FORWARD -j SET --add-set ip src";
    let delete = "-A FORWARD -j SET --del-set ip src";
    let test = "-A FORWARD -m set --match-set ip src -j DROP";
    let drops = |rules: &[&str]| {
        let state = with_sets(with_tables(&table("filter", &rules.join("\n"))), SETS);
        outcome(&state, &outside("10.244.0.5", 80)) == Outcome::Drop
    };
    assert!(!drops(&[test]));
    assert!(drops(&[add, test]));
    assert!(!drops(&[add, delete, test]));
}

#[test]
fn a_set_that_is_not_known_or_needs_a_frame_is_open() {
    for test in ["--match-set nowhere dst", "--match-set macs src"] {
        let state = with_sets(with_tables(&dropping(&format!("-m set {test}"))), SETS);
        let shares = shares(&state, &outside("10.244.0.5", 80));
        assert!(shares.keys().all(|outcome| matches!(outcome, Outcome::Unknown(_))), "{shares:?}");
    }
}
