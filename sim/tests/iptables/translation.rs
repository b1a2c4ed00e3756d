//! Translating targets.

use std::collections::BTreeSet;

use kps_flow::{Outcome, Protocol, SourceNat};

use crate::tables::{table, under, with_tables};
use crate::world::{by, kept, masqueraded, only, outside, pod, process, share, shares};

fn nat(rules: &str) -> String {
    table("nat", rules)
}

#[test]
fn a_destination_is_translated_once() {
    let rules = nat("-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.5:8080
        -A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.5:9090");
    let tcp = |text: &str| text.replace("-d 10.96.0.1/32", "-d 10.96.0.1/32 -p tcp");
    assert_eq!(under(&tcp(&rules), &outside("10.96.0.1", 80)), kept("10.244.0.5:8080"));
}

#[test]
fn a_port_stays_unless_another_is_named() {
    let rules = nat("-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.5");
    assert_eq!(under(&rules, &outside("10.96.0.1", 80)), kept("10.244.0.5:80"));
    let random = rules.replace("10.244.0.5", "10.244.0.5 --random");
    assert_eq!(under(&random, &outside("10.96.0.1", 80)), kept("10.244.0.5:80"));
}

#[test]
fn a_process_is_routed_again_after_its_destination_changed() {
    let rules = nat("-A OUTPUT -d 10.96.0.1/32 -p tcp -j DNAT --to-destination 10.244.0.5:8080");
    let path = only(&with_tables(&rules), &process("10.96.0.1", 80));
    assert_eq!(path.outcome, kept("10.244.0.5:8080"));
    assert_eq!(path.packet.output.map(|link| link.as_str()), Some("veth1"));
}

#[test]
fn masquerading_takes_the_address_of_the_outgoing_interface() {
    let rules = nat("-A PREROUTING -d 10.96.0.1/32 -p tcp -j DNAT --to-destination 10.1.1.1:8080
        -A POSTROUTING -j MASQUERADE --random-fully");
    assert_eq!(under(&rules, &pod("10.96.0.1", 80)), masqueraded("10.1.1.1:8080", "192.0.2.10"));
}

/// kernel: a source that is in the range already stayed.
#[test]
fn a_source_is_spread_over_a_range_unless_it_is_in_it() {
    let rules = nat("-A POSTROUTING -j SNAT --to-source 203.0.113.4-203.0.113.7");
    let shares = shares(&with_tables(&rules), &outside("10.244.0.5", 80));
    let sources: BTreeSet<_> = shares.keys().cloned().collect();
    let expected = (4..8).map(|n| {
        Outcome::Pass(SourceNat::Rewritten(Some(format!("203.0.113.{n}").parse().unwrap())))
    });
    assert_eq!(sources, expected.collect());
    assert!(shares.values().all(|s| *s == share(1, 4)));
    let inside = nat("-A POSTROUTING -j SNAT --to-source 198.51.100.1-198.51.100.9");
    assert_eq!(under(&inside, &outside("10.244.0.5", 80)), Outcome::Pass(SourceNat::Kept));
}

#[test]
fn a_destination_is_spread_over_a_range() {
    let rules = nat("-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.5-10.244.0.6");
    let shares = shares(&with_tables(&rules), &outside("10.96.0.1", 80));
    assert_eq!(shares[&kept("10.244.0.5:80")], share(1, 2));
    assert_eq!(shares[&kept("10.244.0.6:80")], share(1, 2));
}

/// kernel: port 9 stayed in 5-20; of 90-94 with base 7 it became 92.
#[test]
fn a_range_of_ports_keeps_one_that_is_in_it_and_shifts_with_a_base() {
    let to = |ports: &str| {
        let to = format!("-A PREROUTING -p tcp -j DNAT --to-destination 10.244.0.5:{ports}");
        under(&nat(&to), &outside("10.96.0.1", 9))
    };
    assert_eq!(to("5-20"), kept("10.244.0.5:9"));
    assert_eq!(to("90-94/7"), kept("10.244.0.5:92"));
    assert!(matches!(to("90-94"), Outcome::Unknown(_)));
}

#[test]
fn redirecting_goes_to_this_host() {
    let rules = nat("-A PREROUTING -p tcp -j REDIRECT --to-ports 8080
        -A OUTPUT -p tcp -j REDIRECT --to-ports 8080");
    assert_eq!(under(&rules, &outside("10.96.0.1", 80)), kept("192.0.2.10:8080"));
    assert_eq!(under(&rules, &process("10.96.0.1", 80)), kept("127.0.0.1:8080"));
}

/// kernel: 10.8.1.2 became 10.7.1.2.
#[test]
fn a_network_is_exchanged() {
    let rules = nat("-A PREROUTING -d 10.8.0.0/16 -j NETMAP --to 10.244.0.0/16");
    assert_eq!(under(&rules, &outside("10.8.0.5", 80)), kept("10.244.0.5:80"));
}

#[test]
fn the_source_may_be_translated_on_the_way_in() {
    let rules = nat("-A INPUT -j SNAT --to-source 203.0.113.4");
    let path = only(&with_tables(&rules), &outside("192.0.2.10", 80));
    assert_eq!(path.packet.source.to_string(), "203.0.113.4");
}

#[test]
fn icmp_has_no_ports_to_translate() {
    let rules = nat("-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.5");
    let ping = by(Protocol::Icmp, outside("10.96.0.1", 0));
    assert_eq!(only(&with_tables(&rules), &ping).packet.destination.to_string(), "10.244.0.5");
}
