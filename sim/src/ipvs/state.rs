//! What a packet does to its connection (`ip_vs_proto_tcp.c`, `ip_vs_proto_udp.c`).
//!
//! IPVS keeps its own idea of a TCP connection, apart from conntrack's: it decides whether the
//! connection counts as active and when it is forgotten. The states of SCTP are not modelled: an
//! association stays inactive here, for as long as the kernel keeps an established one.

use std::time::Duration;

use kps_ruleset::ipvs::Timeouts;

/// The state of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nothing seen yet.
    #[default]
    None,
    /// Established.
    Established,
    /// A SYN from the server.
    SynSent,
    /// A SYN from the client.
    SynReceived,
    /// One side has finished.
    FinWait,
    /// Both sides have finished, or so it seems.
    TimeWait,
    /// Reset, or nonsense.
    Close,
    /// The client has finished.
    CloseWait,
    /// The last acknowledgement is due.
    LastAck,
    /// Datagrams, which have no states.
    Udp,
    /// An SCTP association, whose states are not modelled.
    Sctp,
}

/// What a TCP packet says, in the order of precedence if it says several: reset, SYN, FIN, ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Synchronise: opens.
    Syn,
    /// Finish: closes one direction.
    Fin,
    /// Acknowledge.
    Ack,
    /// Reset: closes.
    Reset,
}

/// Where a packet comes from, and whether the other direction is seen at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum From {
    /// The client, where replies pass here too.
    Client,
    /// The client, where replies take another way.
    ClientOnly,
    /// The real server.
    Server,
}

impl State {
    /// Tells whether a connection in this state counts as active (`tcp_state_active_table`): once
    /// it is on its way up, not only when it is established.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, State::Established | State::SynSent | State::SynReceived)
    }

    /// Returns how long an idle connection in this state lasts.
    #[must_use]
    pub fn timeout(self, timeouts: Timeouts) -> Duration {
        let seconds = match self {
            State::None => 2,
            State::Established => timeouts.tcp,
            State::FinWait => timeouts.tcp_fin,
            State::SynSent | State::TimeWait => 120,
            State::SynReceived | State::CloseWait => 60,
            State::LastAck => 30,
            State::Close => 10,
            State::Udp => timeouts.udp,
            State::Sctp => 900,
        };
        Duration::from_secs(seconds.into())
    }

    /// Returns the state after a TCP packet (`tcp_states`).
    pub(super) fn after(self, segment: Segment, from: From) -> State {
        match (segment, from) {
            (Segment::Syn, From::Server) => self.after_server_syn(),
            (Segment::Syn, _) => self.after_client_syn(),
            (Segment::Fin, From::Server) => self.after_server_fin(),
            (Segment::Fin, _) => self.after_client_fin(from == From::ClientOnly),
            (Segment::Ack, From::Server) => self.after_server_ack(),
            (Segment::Ack, _) => self.after_client_ack(),
            (Segment::Reset, From::Server) => self.after_server_reset(),
            (Segment::Reset, _) => self.after_client_reset(),
        }
    }

    fn after_client_syn(self) -> State {
        match self {
            State::Established | State::SynSent => State::Established,
            _ => State::SynReceived,
        }
    }

    fn after_client_fin(self, replies_unseen: bool) -> State {
        match self {
            State::None => State::Close,
            State::Established | State::FinWait if replies_unseen => State::FinWait,
            State::Established => State::CloseWait,
            State::SynReceived | State::FinWait => State::TimeWait,
            unchanged => unchanged,
        }
    }

    fn after_client_ack(self) -> State {
        match self {
            State::None | State::LastAck => State::Close,
            State::SynReceived => State::Established,
            unchanged => unchanged,
        }
    }

    fn after_client_reset(self) -> State {
        match self {
            State::SynReceived | State::LastAck => self,
            _ => State::Close,
        }
    }

    fn after_server_syn(self) -> State {
        match self {
            State::Established | State::SynReceived => self,
            _ => State::SynSent,
        }
    }

    fn after_server_fin(self) -> State {
        match self {
            State::None | State::SynReceived | State::CloseWait => State::TimeWait,
            State::Established => State::FinWait,
            unchanged => unchanged,
        }
    }

    fn after_server_ack(self) -> State {
        match self {
            State::None | State::SynReceived => State::Established,
            unchanged => unchanged,
        }
    }

    fn after_server_reset(self) -> State {
        match self {
            State::SynSent | State::TimeWait => self,
            _ => State::Close,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state after packets: small letters from the client, large ones from the server.
    fn after(packets: &str, client: From) -> State {
        packets.chars().fold(State::None, |state, packet| {
            let segment = match packet.to_ascii_lowercase() {
                's' => Segment::Syn,
                'f' => Segment::Fin,
                'a' => Segment::Ack,
                _ => Segment::Reset,
            };
            state.after(segment, if packet.is_uppercase() { From::Server } else { client })
        })
    }

    #[test]
    fn a_handshake_establishes_a_connection() {
        assert_eq!(after("sS", From::Client), State::SynReceived);
        assert_eq!(after("sSa", From::Client), State::Established);
        assert_eq!(after("sa", From::ClientOnly), State::Established);
        assert!(State::Established.is_active() && State::SynReceived.is_active());
        assert!(!State::FinWait.is_active() && !State::Udp.is_active());
    }

    #[test]
    fn a_client_that_finishes_waits_for_the_server_only_where_replies_are_seen() {
        assert_eq!(after("saf", From::Client), State::CloseWait);
        assert_eq!(after("safF", From::Client), State::TimeWait);
        assert_eq!(after("saf", From::ClientOnly), State::FinWait);
        assert_eq!(after("saF", From::Client), State::FinWait);
        assert_eq!(after("saFf", From::Client), State::TimeWait);
    }

    #[test]
    fn a_reset_closes_an_established_connection() {
        assert_eq!(after("sar", From::Client), State::Close);
        assert_eq!(after("saR", From::Client), State::Close);
        assert_eq!(after("sr", From::Client), State::SynReceived);
        assert_eq!(after("sR", From::Client), State::Close);
    }
}
