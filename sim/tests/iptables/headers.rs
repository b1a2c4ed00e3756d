//! What rules ask of a packet's headers, and of the addresses and interfaces in them.

use kps_flow::Protocol;

use crate::tables::{dropping, selects, selects_sent, with_tables6};
use crate::world::{by, outcome, outside, process};
use kps_flow::Outcome;

fn tcp(test: &str) -> bool {
    selects(test, &outside("10.244.0.5", 80))
}

#[test]
fn addresses_are_compared_under_their_masks() {
    assert!(tcp("-s 198.51.100.0/24 -d 10.244.0.5/32"));
    assert!(!tcp("! -s 198.51.100.0/24"));
    assert!(tcp("! -d 10.244.0.6/32"));
    assert!(tcp("-d 10.0.0.5/255.0.0.255"));
    assert!(!tcp("-d 10.0.0.6/255.0.0.255"));
}

#[test]
fn interfaces_may_end_in_a_plus() {
    assert!(tcp("-i eth0 -o veth1"));
    assert!(tcp("-i eth+ -o veth+"));
    assert!(!tcp("-i eth"));
    assert!(!tcp("! -o veth+"));
    let sent = process("10.244.0.5", 80);
    assert!(!selects_sent("-o eth0", &sent));
    assert!(selects_sent("-o veth1", &sent));
}

#[test]
fn protocols_have_names_and_numbers() {
    assert!(tcp("-p tcp"));
    assert!(tcp("-p 6"));
    assert!(tcp("! -p udp"));
    assert!(!tcp("-p udp"));
}

#[test]
fn no_packet_is_a_fragment() {
    assert!(!tcp("-f"));
    assert!(tcp("! -f"));
}

#[test]
fn ports_are_ranges() {
    assert!(tcp("-p tcp -m tcp --dport 80"));
    assert!(tcp("-p tcp -m tcp --sport 40000:40001 --dport 79:81"));
    assert!(tcp("-p tcp -m tcp ! --dport 81"));
    assert!(!tcp("-p tcp -m tcp ! --dport 80"));
    assert!(!tcp("-p udp -m udp --dport 80"));
    let sctp = by(Protocol::Sctp, outside("10.244.0.5", 80));
    assert!(selects("-p sctp -m sctp --dport 80", &sctp));
    let udp = by(Protocol::Udp, outside("10.244.0.5", 80));
    assert!(selects("-p udp -m udp --dport :80", &udp));
}

/// kernel: `--ports 1,9` and `! --dports 1,5:8` counted a packet to port 9.
#[test]
fn several_ports_are_negated_as_one() {
    assert!(tcp("-p tcp -m multiport --dports 22,80:82"));
    assert!(!tcp("-p tcp -m multiport ! --dports 22,80:82"));
    assert!(tcp("-p tcp -m multiport --ports 40000,1"));
    assert!(!tcp("-p tcp -m multiport --sports 80"));
}

#[test]
fn a_first_packet_has_syn_and_nothing_else() {
    assert!(tcp("-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN"));
    assert!(!tcp("-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN"));
    assert!(!tcp("-p tcp -m tcp --tcp-flags ACK ACK"));
}

#[test]
fn pings_are_echo_requests() {
    let ping = by(Protocol::Icmp, outside("10.244.0.5", 0));
    assert!(selects("-p icmp -m icmp --icmp-type 8", &ping));
    assert!(selects("-p icmp -m icmp --icmp-type 8/0", &ping));
    assert!(!selects("-p icmp -m icmp --icmp-type 3", &ping));
    assert!(selects("-p icmp -m icmp ! --icmp-type 0", &ping));
    assert!(selects("-p icmp -m icmp --icmp-type any", &ping));
    let state = with_tables6(&dropping("-p ipv6-icmp -m icmp6 --icmpv6-type 128"));
    let ping = by(Protocol::Icmpv6, outside("fd00:10:244::5", 0));
    assert_eq!(outcome(&state, &ping), Outcome::Drop);
}

#[test]
fn ranges_of_addresses_are_inclusive() {
    assert!(tcp("-m iprange --dst-range 10.244.0.1-10.244.0.5"));
    assert!(!tcp("-m iprange ! --dst-range 10.244.0.5-10.244.0.9"));
    assert!(!tcp("-m iprange --src-range 10.244.0.1-10.244.0.5"));
}

#[test]
fn address_types_are_those_of_the_routing_tables() {
    assert!(tcp("-m addrtype --dst-type UNICAST"));
    assert!(!tcp("-m addrtype --dst-type LOCAL"));
    assert!(tcp("-m addrtype ! --src-type LOCAL"));
    let sent = process("10.244.0.5", 80);
    assert!(selects_sent("-m addrtype --src-type LOCAL --dst-type UNICAST,BROADCAST", &sent));
}

#[test]
fn an_address_may_have_to_be_of_the_interface() {
    let state = |test: &str| crate::tables::table("filter", &format!("-A INPUT {test} -j DROP"));
    let drops = |test: &str| {
        crate::tables::under(&state(test), &outside("192.0.2.10", 80)) == Outcome::Drop
    };
    assert!(drops("-m addrtype --dst-type LOCAL --limit-iface-in"));
    assert!(!drops("-m addrtype ! --dst-type LOCAL --limit-iface-in"));
}

#[test]
fn the_way_back_may_have_to_be_the_way_in() {
    let raw = |test: &str, flow| {
        let rules = crate::tables::table("raw", &format!("-A PREROUTING {test} -j DROP"));
        crate::tables::under(&rules, flow) == Outcome::Drop
    };
    let sound = outside("10.244.0.5", 80);
    assert!(raw("-m rpfilter", &sound));
    assert!(!raw("-m rpfilter --invert", &sound));
    let source = Some("10.244.0.5".parse().unwrap());
    let spoofed = kps_flow::Flow { source, ..outside("10.1.1.1", 80) };
    assert!(!raw("-m rpfilter", &spoofed));
    assert!(raw("-m rpfilter --loose", &spoofed));
    assert!(raw("-m rpfilter --invert", &spoofed));
}
