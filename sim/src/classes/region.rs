//! A region: packets that differ in addresses and ports only, as a set for each field.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kps_flow::Family;

use super::set::Set;

/// A field of the packet that opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Source,
    SourcePort,
    Destination,
    DestinationPort,
}

impl Field {
    /// All of them.
    pub(crate) const ALL: [Field; 4] =
        [Field::Source, Field::SourcePort, Field::Destination, Field::DestinationPort];

    /// Returns its place among all.
    fn at(self) -> usize {
        self as usize
    }

    /// Tells whether it holds an address.
    pub(crate) fn is_address(self) -> bool {
        matches!(self, Field::Source | Field::Destination)
    }
}

/// A value that rules may ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Address(IpAddr),
    Port(u16),
}

impl Asked {
    /// Returns the value as a number.
    pub(crate) fn number(self) -> u128 {
        match self {
            Asked::Address(address) => number(address),
            Asked::Port(port) => port.into(),
        }
    }

    fn is_address(self) -> bool {
        matches!(self, Asked::Address(_))
    }
}

/// One value for each field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample([u128; 4]);

impl Sample {
    /// Returns the value of a field.
    pub(crate) fn get(&self, field: Field) -> u128 {
        self.0[field.at()]
    }

    /// Returns the fields that hold a value.
    pub(crate) fn holding(self, asked: Asked) -> impl Iterator<Item = Field> {
        let alike = move |field: &Field| field.is_address() == asked.is_address();
        let fields = Field::ALL.into_iter().filter(alike);
        fields.filter(move |field| self.get(*field) == asked.number())
    }
}

/// A set for each field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region([Set; 4]);

impl Region {
    /// Makes a region of a set for each field, in the order of [`Field::ALL`].
    pub(crate) fn new(sets: [Set; 4]) -> Region {
        Region(sets)
    }

    /// Returns the set of a field.
    pub(crate) fn set(&self, field: Field) -> &Set {
        &self.0[field.at()]
    }

    /// Returns the region with another set for a field.
    pub(crate) fn with(&self, field: Field, set: Set) -> Region {
        let mut other = self.clone();
        other.0[field.at()] = set;
        other
    }

    /// Tells whether it is one packet.
    pub(crate) fn is_single(&self) -> bool {
        self.0.iter().all(Set::is_single)
    }

    /// Returns a packet of it: in each field one of those that read well, else the first. Source and
    /// destination differ if they can: of a value that two fields hold nobody can tell which of them
    /// a rule asks about, so that both would be narrowed.
    pub(crate) fn sample(&self, addresses: &[u128], ports: &[u128]) -> Sample {
        let source = self.set(Field::Source).pick(addresses, &[]);
        let source_port = self.set(Field::SourcePort).pick(ports, &[]);
        let destination = self.set(Field::Destination).pick(addresses, &[source]);
        let port = self.set(Field::DestinationPort).pick(ports, &[source_port]);
        Sample([source, source_port, destination, port])
    }

    /// Returns a packet that differs from another in each field that has several values.
    pub(crate) fn other(&self, than: &Sample) -> Sample {
        let pick = |field: Field, twin: u128| self.set(field).pick(&[], &[twin, than.get(field)]);
        let source = pick(Field::Source, than.get(Field::Destination));
        let source_port = pick(Field::SourcePort, than.get(Field::DestinationPort));
        let destination = pick(Field::Destination, source);
        let port = pick(Field::DestinationPort, source_port);
        Sample([source, source_port, destination, port])
    }
}

/// Returns an address as a number.
pub(crate) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => v6.into(),
    }
}

/// Returns a number as an address.
pub(crate) fn address(number: u128, family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from(u32::try_from(number).unwrap_or(u32::MAX)).into(),
        Family::V6 => Ipv6Addr::from(number).into(),
    }
}
