//! The matches and targets that kube-proxy writes.

use kps_flow::{Family, Protocol};
use kps_ruleset::Name;
use kps_ruleset::iptables::{
    AddrType, AddressTypes, Conntrack, CtStates, MaskedMark, Match, Negatable, PortRange, PortTest,
    RejectWith,
};

/// Returns the protocol in the rule set's terms.
pub(crate) fn protocol(protocol: Protocol) -> kps_ruleset::Protocol {
    kps_ruleset::Protocol(protocol.number())
}

/// `--dport PORT`.
pub(crate) fn destination_port(port: u16) -> PortTest {
    PortTest { destination: Some(Negatable::is(PortRange::single(port))), source: None }
}

/// `-m conntrack --ctstate STATES`.
pub(crate) fn states(states: CtStates) -> Match {
    conntrack(Negatable::is(states))
}

/// `-m conntrack ! --ctstate STATES`.
pub(crate) fn not_states(states: CtStates) -> Match {
    conntrack(Negatable::not(states))
}

fn conntrack(states: Negatable<CtStates>) -> Match {
    Match::Conntrack(Box::new(Conntrack { states: Some(states), ..Conntrack::default() }))
}

/// `-m addrtype --src-type LOCAL`.
pub(crate) fn source_is_local() -> Match {
    source_type(Negatable::is(AddressTypes::LOCAL))
}

/// `-m addrtype ! --src-type LOCAL`.
pub(crate) fn source_is_not_local() -> Match {
    source_type(Negatable::not(AddressTypes::LOCAL))
}

fn source_type(types: Negatable<AddressTypes>) -> Match {
    Match::AddrType(AddrType { source: Some(types), ..AddrType::default() })
}

/// `-m addrtype --dst-type LOCAL`.
pub(crate) fn destination_is_local() -> Match {
    let types = Some(Negatable::is(AddressTypes::LOCAL));
    Match::AddrType(AddrType { destination: types, ..AddrType::default() })
}

/// `-m mark --mark MARK/MARK`.
pub(crate) fn marked(mark: u32) -> Match {
    Match::Mark(Negatable::is(MaskedMark { value: mark, mask: mark }))
}

/// `-m mark ! --mark MARK/MARK`.
pub(crate) fn not_marked(mark: u32) -> Match {
    Match::Mark(Negatable::not(MaskedMark { value: mark, mask: mark }))
}

/// `-m nfacct --nfacct-name COUNTER`.
pub(crate) fn counted(counter: &str) -> Match {
    Match::Nfacct(Name::new(counter))
}

/// `-j REJECT`: the family's port unreachable.
pub(crate) fn port_unreachable(family: Family) -> RejectWith {
    match family {
        Family::V4 => RejectWith::Icmp(3),
        Family::V6 => RejectWith::Icmpv6(4),
    }
}
