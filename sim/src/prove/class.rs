//! A class of packets, as people read it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_ruleset::Name;

use crate::classes::region::{Field, Region, address, number};
use crate::classes::set::Set;
use crate::classes::watch::OwnLinks;

/// Packets that both states treat alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Who sends them.
    pub client: ClientClass,
    /// The interface by which they enter the node, where it is one.
    pub interface: Option<String>,
    /// Their protocol.
    pub protocol: Protocol,
    family: Family,
    /// The link of each source, where they come in by several.
    links: Option<Arc<OwnLinks>>,
    region: Region,
}

/// Ranges of addresses or ports. Of many only the first few are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans<T> {
    /// First and last of each range.
    pub ranges: Vec<(T, T)>,
    /// How many ranges more there are.
    pub more: usize,
    /// Whether it is everything that there is.
    pub all: bool,
}

/// More ranges than this are counted, not kept.
const MOST_RANGES: usize = 4;

impl Spans<IpAddr> {
    pub(super) fn of_addresses(set: &Set, family: Family) -> Spans<IpAddr> {
        let last = if family == Family::V4 { u32::MAX.into() } else { u128::MAX };
        Spans::of(set, last, |number| address(number, family))
    }
}

impl Spans<u16> {
    pub(super) fn of_ports(set: &Set) -> Spans<u16> {
        Spans::of(set, u16::MAX.into(), |number| u16::try_from(number).unwrap_or(u16::MAX))
    }
}

impl<T> Spans<T> {
    fn of(set: &Set, last: u128, value: impl Fn(u128) -> T) -> Spans<T> {
        let kept = set.spans().iter().take(MOST_RANGES);
        Spans {
            ranges: kept.map(|(low, high)| (value(*low), value(*high))).collect(),
            more: set.spans().len().saturating_sub(MOST_RANGES),
            all: set.spans() == [(0, last)],
        }
    }
}

impl Class {
    pub(super) fn new(
        client: ClientClass,
        interface: Option<String>,
        protocol: Protocol,
        family: Family,
        links: Option<Arc<OwnLinks>>,
        region: &Region,
    ) -> Class {
        Class { client, interface, protocol, family, links, region: region.clone() }
    }

    /// Returns their source addresses; `None` where the kernel chooses.
    #[must_use]
    pub fn sources(&self) -> Option<Spans<IpAddr>> {
        (self.client != ClientClass::Node).then(|| self.addresses(Field::Source))
    }

    /// Returns their source ports.
    #[must_use]
    pub fn source_ports(&self) -> Spans<u16> {
        Spans::of_ports(self.region.set(Field::SourcePort))
    }

    /// Returns the addresses that they are sent to.
    #[must_use]
    pub fn destinations(&self) -> Spans<IpAddr> {
        self.addresses(Field::Destination)
    }

    /// Returns the ports that they are sent to.
    #[must_use]
    pub fn ports(&self) -> Spans<u16> {
        Spans::of_ports(self.region.set(Field::DestinationPort))
    }

    fn addresses(&self, field: Field) -> Spans<IpAddr> {
        Spans::of_addresses(self.region.set(field), self.family)
    }

    fn comes_in_by(&self, flow: &Flow) -> bool {
        let Some(links) = &self.links else { return flow.interface == self.interface };
        let link = flow.source.and_then(|source| links.get(&number(source)));
        link.is_some() && flow.interface.as_deref() == link.map(Name::as_str)
    }

    /// Tells whether a flow is one of them. Of packets that come by several links, the link is that
    /// of the source.
    #[must_use]
    pub fn contains(&self, flow: &Flow) -> bool {
        let has = |field, number| self.region.set(field).contains(number);
        let ports = !flow.protocol.has_ports()
            || has(Field::SourcePort, flow.source_port.into())
                && has(Field::DestinationPort, flow.port.into());
        self.comes_in_by(flow)
            && flow.protocol == self.protocol
            && flow.family() == self.family
            && flow.source.is_none_or(|source| has(Field::Source, number(source)))
            && has(Field::Destination, number(flow.destination))
            && ports
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.client)?;
        if let Some(sources) = self.sources() {
            write!(f, " {sources}")?;
        }
        if let Some(interface) = &self.interface {
            write!(f, " by {interface}")?;
        }
        if !self.source_ports().all && self.protocol.has_ports() {
            write!(f, " from port {}", self.source_ports())?;
        }
        write!(f, " to {}, {}", self.destinations(), self.protocol)?;
        if self.protocol.has_ports() {
            write!(f, " port {}", self.ports())?;
        }
        Ok(())
    }
}

impl<T: fmt::Display + PartialEq> fmt::Display for Spans<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.all {
            return f.write_str("any");
        }
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{first}")?;
            if first != last {
                write!(f, "-{last}")?;
            }
        }
        if self.more > 0 {
            write!(f, " and {} ranges more", self.more)?;
        }
        Ok(())
    }
}
