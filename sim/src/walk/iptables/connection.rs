//! Matches on the packet's connection (`net/netfilter/xt_conntrack.c`, `xt_connmark.c`).

use std::net::IpAddr;

use kps_ruleset::Protocol;
use kps_ruleset::iptables::{
    Conntrack, CtDirection, CtStates, CtStatuses, MaskedMark, Negatable, Network, PortRange,
};

use super::field::{View, all};
use crate::conntrack::{Binding, Connection, CtState, Tuple};

impl View<'_> {
    /// `-m conntrack`: a packet without a connection has only a state.
    pub(super) fn conntrack(&self, test: &Conntrack) -> Option<bool> {
        if test.states.is_some_and(|states| !self.states(states)) {
            return Some(false);
        }
        let Some((connection, state)) = self.connection() else {
            return Some(test.states.is_some());
        };
        let reply = connection.reply();
        let protocol = Protocol(connection.original.protocol.number());
        let direction =
            if state == CtState::Reply { CtDirection::Reply } else { CtDirection::Original };
        all([
            Some(test.direction.is_none_or(|wanted| wanted == direction)),
            Some(test.protocol.is_none_or(|test| test.holds(|wanted| *wanted == protocol))),
            original(test, &connection.original),
            expected(test, &reply),
            test.statuses.map_or(Some(true), |test| has_status(test, connection, state)),
            test.expire.map_or(Some(true), |_| None),
        ])
    }

    /// Tells whether the packet's state is one of several. `SNAT` and `DNAT` are states of a packet
    /// whose connection is translated, beside the one that it has.
    pub(super) fn states(&self, test: Negatable<CtStates>) -> bool {
        let mut states = state_of(self.branch.state);
        if let Some((connection, _)) = self.connection() {
            let translated = |binding| matches!(binding, Binding::To(_));
            states.set(CtStates::SNAT, translated(connection.source));
            states.set(CtStates::DNAT, translated(connection.destination));
        }
        test.holds(|wanted| wanted.intersects(states))
    }

    /// `-m connmark`: a packet without a connection never matches.
    pub(super) fn connection_mark(&self, test: Negatable<MaskedMark>) -> Option<bool> {
        let Some((connection, _)) = self.connection() else { return Some(false) };
        let plain = connection.mark.matches(test.value.value, test.value.mask);
        plain.map(|holds| holds != test.negated)
    }

    fn connection(&self) -> Option<(&Connection, CtState)> {
        let state = self.branch.state.filter(|state| state.is_tracked())?;
        Some((self.branch.connection.as_ref()?, state))
    }
}

/// A packet that conntrack has not seen counts as invalid.
fn state_of(state: Option<CtState>) -> CtStates {
    match state {
        None | Some(CtState::Invalid) => CtStates::INVALID,
        Some(CtState::Untracked) => CtStates::UNTRACKED,
        Some(CtState::New) => CtStates::NEW,
        Some(CtState::Related) => CtStates::RELATED,
        Some(CtState::Established | CtState::Reply) => CtStates::ESTABLISHED,
    }
}

fn original(test: &Conntrack, tuple: &Tuple) -> Option<bool> {
    all([
        Some(is_in(test.original_source.as_ref(), tuple.source)),
        Some(is_in(test.original_destination.as_ref(), tuple.destination)),
        port(test.original_source_port, tuple.source_port),
        port(test.original_destination_port, tuple.destination_port),
    ])
}

fn expected(test: &Conntrack, tuple: &Tuple) -> Option<bool> {
    all([
        Some(is_in(test.reply_source.as_ref(), tuple.source)),
        Some(is_in(test.reply_destination.as_ref(), tuple.destination)),
        port(test.reply_source_port, tuple.source_port),
        port(test.reply_destination_port, tuple.destination_port),
    ])
}

fn is_in(test: Option<&Negatable<Network>>, address: IpAddr) -> bool {
    test.is_none_or(|test| test.holds(|network| network.contains(address)))
}

fn port(test: Option<Negatable<PortRange>>, port: Option<u16>) -> Option<bool> {
    let Some(test) = test else { return Some(true) };
    port.map(|port| test.holds(|range| range.contains(port)))
}

/// `NONE` is no status, so that nothing has it. Whether a known connection is assured depends on how
/// many packets it has seen.
fn has_status(
    test: Negatable<CtStatuses>,
    connection: &Connection,
    state: CtState,
) -> Option<bool> {
    // The first four bits of both are the same.
    let bits = connection.status(state).to_le_bytes()[0];
    let statuses = CtStatuses::from_bits_truncate(bits) - CtStatuses::ASSURED;
    let old = matches!(state, CtState::Established | CtState::Reply);
    let plain = match test.value.intersects(statuses) {
        false if old && test.value.contains(CtStatuses::ASSURED) => None,
        holds => Some(holds),
    };
    plain.map(|holds| holds != test.negated)
}
