//! Writes rules part by part, and remembers the order.

use std::net::IpAddr;

use super::ast::{
    Header, InterfacePattern, Layout, Match, Negatable, Network, Part, PortTest, Rule, SctpTest,
    Target, TcpTest,
};
use crate::Name;
use crate::protocol::Protocol;

/// A rule that is being written, left to right.
///
/// ```
/// use kps_ruleset::iptables::{Family, Negatable, PortRange, PortTest, Rule, Target, print_written};
/// use kps_ruleset::Protocol;
///
/// let ports = PortTest { destination: Some(Negatable::is(PortRange::single(80))), source: None };
/// let rule = Rule::write()
///     .comment("a:b cluster IP")
///     .load_ports(Protocol::TCP, ports)
///     .protocol(Protocol::TCP)
///     .destination_host([10, 96, 0, 1].into())
///     .options()
///     .target(Target::Jump("SVC".into()));
/// assert_eq!(
///     print_written(&rule, Family::Ipv4),
///     "-m comment --comment \"a:b cluster IP\" -m tcp -p tcp -d 10.96.0.1 --dport 80 -j SVC"
/// );
/// ```
#[derive(Debug, Clone)]
pub struct RuleWriter {
    header: Header,
    matches: Vec<Match>,
    /// `None` if there are too many parts.
    layout: Option<Layout>,
}

impl Rule {
    /// Starts to write a rule.
    #[must_use]
    pub fn write() -> RuleWriter {
        RuleWriter {
            header: Header::default(),
            matches: Vec::new(),
            layout: Some(Layout::default()),
        }
    }
}

impl RuleWriter {
    /// Writes `-s NETWORK`, with `!` if negated.
    #[must_use]
    pub fn source(mut self, network: Negatable<Network>) -> Self {
        self.header.source = Some(network);
        self.part(Part::Source)
    }

    /// Writes `-s ADDRESS`.
    #[must_use]
    pub fn source_host(mut self, address: IpAddr) -> Self {
        self.header.source = Some(Negatable::is(Network::host(address)));
        self.part(Part::SourceHost)
    }

    /// Writes `-d NETWORK`, with `!` if negated.
    #[must_use]
    pub fn destination(mut self, network: Negatable<Network>) -> Self {
        self.header.destination = Some(network);
        self.part(Part::Destination)
    }

    /// Writes `-d ADDRESS`.
    #[must_use]
    pub fn destination_host(mut self, address: IpAddr) -> Self {
        self.header.destination = Some(Negatable::is(Network::host(address)));
        self.part(Part::DestinationHost)
    }

    /// Writes `-i INTERFACE`, with `!` if negated.
    #[must_use]
    pub fn input(mut self, interface: Negatable<InterfacePattern>) -> Self {
        self.header.input = Some(interface);
        self.part(Part::Input)
    }

    /// Writes `-p PROTOCOL`.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.header.protocol = Some(Negatable::is(protocol));
        self.part(Part::Protocol)
    }

    /// Writes a comment.
    #[must_use]
    pub fn comment(self, text: impl Into<Name>) -> Self {
        self.matching(Match::Comment(text.into()))
    }

    /// Writes a match.
    #[must_use]
    pub fn matching(mut self, m: Match) -> Self {
        self.push(m);
        self.part(Part::Match)
    }

    /// Writes `-m NAME` of a match whose options [follow](Self::options) later.
    #[must_use]
    pub fn load(mut self, m: Match) -> Self {
        self.push(m);
        self.part(Part::Load)
    }

    /// Writes `-m tcp`, `-m udp` or `-m sctp`; its ports [follow](Self::options) later. A protocol
    /// without ports writes nothing.
    #[must_use]
    pub fn load_ports(self, protocol: Protocol, ports: PortTest) -> Self {
        match Match::ports(protocol, ports) {
            Some(m) => self.load(m),
            None => self,
        }
    }

    /// Writes the options of the match that was loaded last.
    #[must_use]
    pub fn options(self) -> Self {
        self.part(Part::Options)
    }

    /// Ends the rule with a target.
    #[must_use]
    pub fn target(self, target: Target) -> Rule {
        Rule { target: Some(target), ..self.end() }
    }

    /// Ends the rule without a target.
    #[must_use]
    pub fn end(self) -> Rule {
        Rule {
            header: self.header,
            matches: self.matches.into(),
            target: None,
            counters: None,
            layout: self.layout.map(Layout::unless_in_order).unwrap_or_default(),
        }
    }

    /// Adds a match. Rules are many and their matches few, so no room is left over.
    fn push(&mut self, m: Match) {
        self.matches.reserve_exact(1);
        self.matches.push(m);
    }

    fn part(mut self, part: Part) -> Self {
        self.layout = self.layout.and_then(|layout| layout.then(part));
        self
    }
}

impl Match {
    /// Returns the match on the ports of a protocol, if the tree has one for it.
    #[must_use]
    pub fn ports(protocol: Protocol, ports: PortTest) -> Option<Match> {
        match protocol {
            Protocol::TCP => Some(Match::Tcp(TcpTest { ports, ..TcpTest::default() })),
            Protocol::UDP => Some(Match::Udp(ports)),
            Protocol::SCTP => Some(Match::Sctp(SctpTest { ports, chunks: None })),
            _ => None,
        }
    }
}
