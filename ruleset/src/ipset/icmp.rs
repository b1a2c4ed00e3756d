//! Names that ipset has for ICMP types and codes (lib/icmp.c and lib/icmpv6.c of ipset).

use crate::protocol::Protocol;

/// Returns the name of a type and code, packed as in a [`Port`](super::Port).
pub(super) fn name(protocol: Protocol, port: u16) -> Option<&'static str> {
    let [kind, code] = port.to_be_bytes();
    let known = table(protocol).iter().find(|(k, c, _)| (*k, *c) == (kind, code));
    known.map(|(_, _, name)| *name)
}

/// Reads a name, or `TYPE/CODE`.
pub(super) fn parse(protocol: Protocol, word: &str) -> Option<u16> {
    if let Some((kind, code, _)) = table(protocol).iter().find(|(_, _, name)| *name == word) {
        return Some(u16::from_be_bytes([*kind, *code]));
    }
    if word == "ping" || word == "pong" {
        return parse(protocol, if word == "ping" { "echo-request" } else { "echo-reply" });
    }
    let (kind, code) = word.split_once('/')?;
    Some(u16::from_be_bytes([kind.parse().ok()?, code.parse().ok()?]))
}

fn table(protocol: Protocol) -> &'static [(u8, u8, &'static str)] {
    if protocol == Protocol::ICMP { &V4 } else { &V6 }
}

const V4: [(u8, u8, &str); 32] = [
    (0, 0, "echo-reply"),
    (3, 0, "network-unreachable"),
    (3, 1, "host-unreachable"),
    (3, 2, "protocol-unreachable"),
    (3, 3, "port-unreachable"),
    (3, 4, "fragmentation-needed"),
    (3, 5, "source-route-failed"),
    (3, 6, "network-unknown"),
    (3, 7, "host-unknown"),
    (3, 9, "network-prohibited"),
    (3, 10, "host-prohibited"),
    (3, 11, "TOS-network-unreachable"),
    (3, 12, "TOS-host-unreachable"),
    (3, 13, "communication-prohibited"),
    (3, 14, "host-precedence-violation"),
    (3, 15, "precedence-cutoff"),
    (4, 0, "source-quench"),
    (5, 0, "network-redirect"),
    (5, 1, "host-redirect"),
    (5, 2, "TOS-network-redirect"),
    (5, 3, "TOS-host-redirect"),
    (8, 0, "echo-request"),
    (9, 0, "router-advertisement"),
    (10, 0, "router-solicitation"),
    (11, 0, "ttl-zero-during-transit"),
    (11, 1, "ttl-zero-during-reassembly"),
    (12, 0, "ip-header-bad"),
    (12, 1, "required-option-missing"),
    (13, 0, "timestamp-request"),
    (14, 0, "timestamp-reply"),
    (17, 0, "address-mask-request"),
    (18, 0, "address-mask-reply"),
];

const V6: [(u8, u8, &str); 17] = [
    (1, 0, "no-route"),
    (1, 1, "communication-prohibited"),
    (1, 3, "address-unreachable"),
    (1, 4, "port-unreachable"),
    (2, 0, "packet-too-big"),
    (3, 0, "ttl-zero-during-transit"),
    (3, 1, "ttl-zero-during-reassembly"),
    (4, 0, "bad-header"),
    (4, 1, "unknown-header-type"),
    (4, 2, "unknown-option"),
    (128, 0, "echo-request"),
    (129, 0, "echo-reply"),
    (133, 0, "router-solicitation"),
    (134, 0, "router-advertisement"),
    (135, 0, "neighbour-solicitation"),
    (136, 0, "neighbour-advertisement"),
    (137, 0, "redirect"),
];
