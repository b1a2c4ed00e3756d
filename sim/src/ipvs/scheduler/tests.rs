//! What each scheduler is documented to do, and laws that hold for all of them.

use std::net::SocketAddr;

use kps_flow::Protocol;
use kps_ruleset::ipvs::{Forwarding, RealServer, Scheduler as Kind, VirtualServer};
use proptest::prelude::*;

use crate::ipvs::{Connection, Segment, Settings, UnsupportedScheduler, VirtualService};

const ALL: [&str; 13] =
    ["rr", "wrr", "lc", "wlc", "lblc", "lblcr", "dh", "sh", "sed", "nq", "fo", "ovf", "mh"];

/// Returns a service with servers 1, 2, … of these weights; the last is the first in the list.
fn service(scheduler: &str, weights: &[u32]) -> VirtualService {
    let mut definition = VirtualServer::new(Kind::parse(scheduler));
    definition.real_servers = (1..).zip(weights).map(|(n, weight)| server(n, *weight)).collect();
    VirtualService::new(&definition, Settings::default()).unwrap()
}

fn server(number: u8, weight: u32) -> RealServer {
    let address = [10, 244, 0, number].into();
    RealServer { weight, ..RealServer::new(address, 8080, Forwarding::Masquerade) }
}

/// Returns the nth connection, each from its own address.
fn connection(number: u32) -> Connection {
    let source = std::net::Ipv4Addr::from_bits(0xC612_0000 + number);
    Connection {
        protocol: Protocol::Tcp,
        source: SocketAddr::new(source.into(), 40_000),
        destination: SocketAddr::from(([10, 96, 0, 10], 80)),
    }
}

/// Opens connections and returns the numbers of their servers, 0 where there was none.
fn picks(service: &mut VirtualService, connections: std::ops::Range<u32>) -> Vec<u8> {
    connections.map(|number| pick(service, connection(number))).collect()
}

fn pick(service: &mut VirtualService, connection: Connection) -> u8 {
    let Some(id) = service.connect(connection) else { return 0 };
    match service.servers().server(id).unwrap().address {
        SocketAddr::V4(address) => address.ip().octets()[3],
        SocketAddr::V6(_) => unreachable!("all servers have IPv4 addresses"),
    }
}

/// Returns how often a server was chosen.
fn share(picks: &[u8], server: u8) -> u32 {
    picks.iter().map(|pick| u32::from(*pick == server)).sum()
}

#[test]
fn rr_takes_turns_from_the_head_of_the_list() {
    assert_eq!(picks(&mut service("rr", &[1, 5, 0, 1]), 0..5), [4, 2, 1, 4, 2]);
}

#[test]
fn rr_goes_on_where_a_deleted_server_was() {
    let mut service = service("rr", &[1, 1, 1]);
    assert_eq!(picks(&mut service, 0..2), [3, 2]);
    service.remove(SocketAddr::from(([10, 244, 0, 2], 8080)));
    assert_eq!(picks(&mut service, 2..5), [1, 3, 1]);
}

#[test]
fn wrr_spreads_a_weight_over_its_cycle() {
    // Alone, server 1 lowered what a pass asks for to 1, and there it stays when server 2 comes.
    assert_eq!(picks(&mut service("wrr", &[3, 1]), 0..8), [2, 1, 1, 1, 2, 1, 1, 1]);
    assert_eq!(picks(&mut service("wrr", &[0, 0]), 0..2), [0, 0]);
}

#[test]
fn wrr_passes_over_great_weights_in_no_time() {
    let mut service = service("wrr", &[u32::MAX, 1]);
    let full = RealServer { upper_threshold: 1, ..server(1, u32::MAX) };
    service.add(&full);
    assert_eq!(picks(&mut service, 0..3), [2, 1, 2]);
}

#[test]
fn lc_ignores_weights_and_wlc_does_not() {
    assert_eq!(picks(&mut service("lc", &[5, 1]), 0..4), [2, 1, 2, 1]);
    assert_eq!(picks(&mut service("wlc", &[2, 1]), 0..4), [2, 1, 1, 2]);
}

#[test]
fn sed_counts_the_connection_to_come_and_nq_fills_idle_servers_first() {
    assert_eq!(picks(&mut service("sed", &[3, 1]), 0..4), [1, 1, 2, 1]);
    assert_eq!(picks(&mut service("nq", &[3, 1]), 0..4), [2, 1, 1, 1]);
}

#[test]
fn fo_stays_with_the_heaviest_and_ovf_until_it_is_full() {
    assert_eq!(picks(&mut service("fo", &[1, 3, 2]), 0..3), [2, 2, 2]);
    assert_eq!(picks(&mut service("ovf", &[1, 2]), 0..6), [2, 2, 2, 1, 1, 0]);
}

#[test]
fn hashing_schedulers_keep_a_client_at_its_server() {
    for scheduler in ["sh", "mh"] {
        let mut service = service(scheduler, &[1, 1, 1]);
        let first = picks(&mut service, 0..50);
        let again: Vec<u8> = (0..50)
            .map(|number| {
                let mut again = connection(number);
                again.source.set_port(50_000);
                pick(&mut service, again)
            })
            .collect();
        assert_eq!(first, again, "{scheduler}");
        assert!([1, 2, 3].iter().all(|server| first.contains(server)), "{scheduler}");
    }
}

#[test]
fn a_destination_keeps_its_server_until_that_is_overloaded() {
    for scheduler in ["lblc", "lblcr"] {
        let mut service = service(scheduler, &[2, 4]);
        // Server 2 is overloaded with its fifth connection, while server 1 has none.
        assert_eq!(picks(&mut service, 0..6), [2, 2, 2, 2, 2, 1], "{scheduler}");
    }
}

#[test]
fn a_threshold_keeps_connections_away_until_enough_are_gone() {
    let mut service = service("rr", &[1]);
    service.add(&RealServer { upper_threshold: 4, lower_threshold: 2, ..server(1, 1) });
    assert_eq!(picks(&mut service, 0..5), [1, 1, 1, 1, 0]);
    for number in 0..2 {
        service.packet(connection(number), Segment::Ack);
        service.packet(connection(number), Segment::Reset);
    }
    service.advance(std::time::Duration::from_secs(11));
    assert_eq!(picks(&mut service, 5..6), [0], "two are left, and 2 is not below 2");
    service.packet(connection(2), Segment::Ack);
    service.packet(connection(2), Segment::Reset);
    service.advance(std::time::Duration::from_secs(22));
    assert_eq!(picks(&mut service, 6..7), [1]);
}

#[test]
fn what_cannot_be_foretold_is_refused() {
    let random = VirtualServer::new(Kind::PowerOfTwo);
    let error = VirtualService::new(&random, Settings::default()).unwrap_err();
    assert_eq!(error, UnsupportedScheduler::Random);
    let unknown = VirtualServer::new(Kind::parse("best"));
    let error = VirtualService::new(&unknown, Settings::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no scheduler `best`");
}

proptest! {
    #[test]
    fn rr_gives_each_of_n_servers_k_of_nk(n in 1_u8..20, k in 1_u32..8) {
        let mut service = service("rr", &vec![1; n.into()]);
        let picks = picks(&mut service, 0..u32::from(n) * k);
        for number in 1..=n {
            prop_assert_eq!(share(&picks, number), k);
        }
    }

    #[test]
    fn wrr_gives_each_its_weight_in_a_cycle(weights in prop::collection::vec(0_u32..9, 1..9)) {
        let mut service = service("wrr", &weights);
        let picks = picks(&mut service, 0..weights.iter().sum());
        for (number, weight) in (1..).zip(&weights) {
            prop_assert_eq!(share(&picks, number), *weight);
        }
    }

    #[test]
    fn weight_0_gets_nothing_and_the_same_comes_again(
        weights in prop::collection::vec(0_u32..4, 1..12),
        scheduler in prop::sample::select(&ALL),
    ) {
        let first = picks(&mut service(scheduler, &weights), 0..60);
        for pick in first.iter().filter(|pick| **pick > 0) {
            prop_assert!(weights[usize::from(*pick) - 1] > 0);
        }
        prop_assert_eq!(first, picks(&mut service(scheduler, &weights), 0..60));
    }
}
