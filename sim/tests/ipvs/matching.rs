//! What `-m ipvs` of iptables says of packets at the end of a walk.

use kps_ruleset::iptables::{Family, Ipvs, Match, parse_rule};
use kps_sim::conntrack::CtState;
use kps_sim::walk::Scheduled;
use kps_sim::{Options, Walker};

use crate::director::{ONE, director};
use crate::world::{only, outside};

fn test(options: &str) -> Ipvs {
    let rule = parse_rule(&format!("-A OUTPUT -m ipvs {options} -j DROP"), Family::Ipv4);
    let test = rule.matches.iter().find_map(|test| match test {
        Match::Ipvs(test) => Some((**test).clone()),
        _ => None,
    });
    test.unwrap()
}

/// Asks about the packet that a client sends to this port.
fn holds(options: &str, port: u16) -> Option<bool> {
    let path = only(&director("", ONE), &outside("10.96.0.1", port));
    Scheduled::meets(&test(options), &path.packet, path.scheduled.as_ref(), Some(CtState::New))
}

#[test]
fn a_packet_that_ipvs_sent_shows_its_virtual_server() {
    for options in [
        "--ipvs",
        "--vaddr 10.96.0.1",
        "--vaddr 10.96.0.0/24 --vproto 6 --vport 80",
        "! --vaddr 10.244.0.5",
        "--vdir ORIGINAL",
        "--vmethod MASQ",
    ] {
        assert_eq!(holds(options, 80), Some(true), "{options}");
    }
    for options in ["! --ipvs", "--vaddr 10.244.0.5", "--vport 8080", "--vproto 17", "--vdir REPLY"]
    {
        assert_eq!(holds(options, 80), Some(false), "{options}");
    }
}

#[test]
fn any_other_packet_shows_nothing() {
    assert_eq!(holds("! --ipvs", 81), Some(true));
    for options in ["--ipvs", "--vaddr 10.96.0.1", "! --vaddr 10.96.0.1", "--vport 81"] {
        assert_eq!(holds(options, 81), Some(false), "{options}");
    }
}

#[test]
fn an_answer_shows_no_virtual_server() {
    let state = director("", ONE);
    let options = Options { state: CtState::Reply, ..Options::default() };
    let walk = Walker::new(&state).walk(&outside("10.96.0.1", 80), &options);
    let path = &walk.paths[0];
    assert_eq!(path.packet.source.to_string(), "10.96.0.1", "IPVS has handled it");
    for (options, expected) in
        [("--ipvs", true), ("--vaddr 10.96.0.1", false), ("--vdir REPLY", false)]
    {
        let holds = Scheduled::meets(
            &test(options),
            &path.packet,
            path.scheduled.as_ref(),
            Some(CtState::Reply),
        );
        assert_eq!(holds, Some(expected), "{options}");
    }
}

#[test]
fn the_port_of_a_controlling_connection_is_unknown() {
    assert_eq!(holds("--vaddr 10.96.0.1 --vportctl 21", 80), None);
    assert_eq!(holds("--vaddr 10.96.0.2 --vportctl 21", 80), Some(false));
}
