//! Writes a rule: header, matches, target, in the tools' order or in that of its layout.

use std::fmt::Write as _;
use std::net::IpAddr;

use super::super::ast::{
    Header, InterfacePattern, Match, Negatable, Network, Part, PortRange, Rule,
};
use super::{Form, Writer};

impl Writer<'_> {
    /// Writes a rule, each option with a blank before it.
    pub(super) fn rule(&mut self, rule: &Rule) {
        self.conditions(rule);
        self.target(rule);
    }

    /// Writes all but the target.
    pub(super) fn conditions(&mut self, rule: &Rule) {
        if self.form == Form::Written && !rule.layout.is_empty() {
            self.laid_out(rule);
        } else {
            self.in_tool_order(&rule.header);
            for m in &rule.matches {
                self.whole_match(m);
            }
        }
    }

    pub(super) fn target(&mut self, rule: &Rule) {
        if let Some(target) = &rule.target {
            self.whole_target(target);
        }
    }

    fn in_tool_order(&mut self, header: &Header) {
        const ORDER: [Part; 6] = [
            Part::Source,
            Part::Destination,
            Part::Input,
            Part::Output,
            Part::Protocol,
            Part::Fragment,
        ];
        for part in ORDER {
            self.header_part(part, header);
        }
    }

    fn laid_out(&mut self, rule: &Rule) {
        let mut matches = rule.matches.iter();
        let mut loaded = None;
        for part in rule.layout.parts() {
            match part {
                Part::Match => matches.next().into_iter().for_each(|m| self.whole_match(m)),
                Part::Load => {
                    loaded = matches.next();
                    if let Some(m) = loaded {
                        self.load(m);
                    }
                }
                Part::Options => loaded.into_iter().for_each(|m| self.match_options(m)),
                _ => self.header_part(part, &rule.header),
            }
        }
        matches.for_each(|m| self.whole_match(m));
    }

    pub(super) fn whole_match(&mut self, m: &Match) {
        self.load(m);
        self.match_options(m);
    }

    fn load(&mut self, m: &Match) {
        if !m.module().is_empty() {
            self.text(&[" -m ", m.module()]);
        }
    }

    fn header_part(&mut self, part: Part, header: &Header) {
        match part {
            Part::Source => self.network(" -s ", header.source.as_ref()),
            Part::SourceHost => self.host(" -s ", header.source.as_ref()),
            Part::Destination => self.network(" -d ", header.destination.as_ref()),
            Part::DestinationHost => self.host(" -d ", header.destination.as_ref()),
            Part::Input => self.interface(" -i ", header.input),
            Part::Output => self.interface(" -o ", header.output),
            Part::Protocol => {
                if let Some(protocol) = self.negatable(header.protocol.as_ref()) {
                    self.text(&[" -p "]);
                    self.display(protocol);
                }
            }
            Part::Fragment => match header.fragment {
                Some(true) => self.text(&[" -f"]),
                Some(false) => self.text(&[" ! -f"]),
                None => {}
            },
            Part::Match | Part::Load | Part::Options => {}
        }
    }

    fn network(&mut self, option: &str, network: Option<&Negatable<Network>>) {
        let Some(network) = self.negatable(network) else { return };
        self.text(&[option]);
        match network {
            Network::Prefix(prefix) => {
                self.address(prefix.addr());
                self.text(&["/"]);
                self.number(prefix.prefix_len());
            }
            Network::Masked(masked) => {
                self.address(masked.0);
                self.text(&["/"]);
                self.address(masked.1);
            }
        }
    }

    /// Writes a network without the length of a full prefix.
    pub(super) fn host(&mut self, option: &str, network: Option<&Negatable<Network>>) {
        match network {
            Some(Negatable { negated, value: Network::Prefix(prefix) })
                if prefix.prefix_len() == prefix.max_prefix_len() =>
            {
                self.text(&[if *negated { " !" } else { "" }, option]);
                self.address(prefix.addr());
            }
            network => self.network(option, network),
        }
    }

    pub(super) fn interface(&mut self, option: &str, name: Option<Negatable<InterfacePattern>>) {
        if let Some(name) = self.negatable(name.as_ref()) {
            self.text(&[option, &name.0]);
        }
    }

    /// Writes the `!` of a test and returns its value.
    pub(super) fn negatable<'t, T>(&mut self, test: Option<&'t Negatable<T>>) -> Option<&'t T> {
        let test = test?;
        self.negation(test.negated);
        Some(&test.value)
    }

    pub(super) fn negation(&mut self, negated: bool) {
        if negated {
            self.text(&[" !"]);
        }
    }

    pub(super) fn address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => {
                for (i, octet) in address.octets().into_iter().enumerate() {
                    self.text(&[if i > 0 { "." } else { "" }]);
                    self.number(octet);
                }
            }
            IpAddr::V6(address) => self.display(address),
        }
    }

    /// Writes `FIRST[SEPARATOR LAST]`.
    pub(super) fn range(&mut self, range: PortRange, separator: &str) {
        self.number(range.first);
        if range.last != range.first {
            self.text(&[separator]);
            self.number(range.last);
        }
    }

    pub(super) fn display(&mut self, value: impl std::fmt::Display) {
        // INVARIANT: writing to a String cannot fail.
        let _ = write!(self.out, "{value}");
    }
}
