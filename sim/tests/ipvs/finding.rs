//! Which virtual server a packet is for.

use kps_flow::{Outcome, Protocol, RejectKind};

use crate::director::{ONE, director};
use crate::world::{by, kept, outcome, outside};

#[test]
fn address_port_and_protocol_must_fit() {
    let state = director("", ONE);
    assert_eq!(outcome(&state, &outside("10.96.0.1", 80)), kept("10.244.0.5:8080"));
    assert_eq!(outcome(&state, &outside("10.96.0.1", 81)), Outcome::Local);
    assert_eq!(outcome(&state, &by(Protocol::Udp, outside("10.96.0.1", 80))), Outcome::Local);
    assert_eq!(outcome(&state, &by(Protocol::Icmp, outside("10.96.0.1", 80))), Outcome::Local);
    assert_eq!(outcome(&state, &outside("192.0.2.10", 80)), Outcome::Local);
}

#[test]
fn an_address_of_no_link_does_not_come_to_ipvs() {
    let elsewhere = ONE.replace("10.96.0.1", "10.96.0.2");
    let outcome = outcome(&director("", &elsewhere), &outside("10.96.0.2", 80));
    assert!(matches!(outcome, Outcome::Pass(_)), "{outcome}");
}

#[test]
fn a_mark_comes_before_an_address() {
    let rules = "table ip t { chain c { type filter hook prerouting priority 0;
        tcp dport { 80, 90 } meta mark set 0x7 } }";
    let servers = format!("{ONE}-A -f 7 -s rr\n-a -f 7 -r 10.244.0.9:0 -m -w 1\n");
    let state = director(rules, &servers);
    assert_eq!(outcome(&state, &outside("10.96.0.1", 80)), kept("10.244.0.9:80"));
    assert_eq!(outcome(&state, &outside("192.0.2.10", 90)), kept("10.244.0.9:90"));
    assert_eq!(outcome(&state, &outside("192.0.2.10", 91)), Outcome::Local);
}

// kernel: the packet arrives at port 90.
#[test]
fn a_persistent_server_by_mark_keeps_the_port() {
    let rules = "table ip t { chain c { type filter hook prerouting priority 0;
        tcp dport 90 meta mark set 0x7 } }";
    let servers = "-A -f 7 -s rr -p 300\n-a -f 7 -r 10.244.0.9:8080 -m -w 1\n";
    assert_eq!(
        outcome(&director(rules, servers), &outside("192.0.2.10", 90)),
        kept("10.244.0.9:90")
    );
}

// kernel: the packet arrives at the port that was dialled.
#[test]
fn a_persistent_server_of_port_0_takes_every_port() {
    let servers = "-A -t 10.96.0.1:0 -s rr -p 300\n-a -t 10.96.0.1:0 -r 10.244.0.5:0 -m -w 1\n";
    let state = director("", servers);
    assert_eq!(outcome(&state, &outside("10.96.0.1", 4711)), kept("10.244.0.5:4711"));
}

#[test]
fn without_persistence_a_server_of_port_0_refuses() {
    let servers = "-A -t 10.96.0.1:0 -s rr\n-a -t 10.96.0.1:0 -r 10.244.0.5:0 -m -w 1\n";
    let refused = Outcome::Reject(RejectKind::PORT_UNREACHABLE_V4);
    assert_eq!(outcome(&director("", servers), &outside("10.96.0.1", 4711)), refused);
}

// kernel: without persistence port 2000 is refused by TCP itself; with it, rule counters in OUTPUT
// see the real server at port 2000, and nothing at port 1000.
#[test]
fn ftp_lets_other_ports_be_unless_it_is_persistent() {
    let servers = "-A -t 10.96.0.1:21 -s rr\n-a -t 10.96.0.1:21 -r 10.244.0.5:21 -m -w 1\n";
    assert_eq!(outcome(&director("", servers), &outside("10.96.0.1", 2000)), Outcome::Local);
    let persistent = servers.replace("-s rr", "-s rr -p 300");
    let state = director("", &persistent);
    assert_eq!(outcome(&state, &outside("10.96.0.1", 2000)), kept("10.244.0.5:2000"));
    assert_eq!(outcome(&state, &outside("10.96.0.1", 1000)), Outcome::Local);
}
