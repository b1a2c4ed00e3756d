//! The small parts that matches and targets share.

use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::Name;

/// A test that may be turned round with `!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Negatable<T> {
    /// Whether there is a `!`.
    pub negated: bool,
    /// What is tested.
    pub value: T,
}

/// A set of addresses given by an address and a mask.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    /// A prefix, without host bits.
    Prefix(IpNet),
    /// An address and a mask that is no prefix (`10.0.0.1/255.0.0.255`), without host bits.
    Masked(Box<(IpAddr, IpAddr)>),
}

/// An interface name; a last `+` stands for any ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfacePattern(pub Name);

/// An inclusive range of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

/// `VALUE/MASK`: holds if the masked mark equals the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MaskedMark {
    /// The value.
    pub value: u32,
    /// The mask.
    pub mask: u32,
}

/// A match or target that the tree does not model. A walker must say that it cannot decide.
///
/// Two of them are equal if their texts are: the line is only for reports.
#[derive(Debug, Clone, Copy)]
pub struct Unknown {
    /// The name of the extension; empty if a whole rule could not be read.
    pub module: Name,
    /// Its options, as the tool prints them.
    pub options: Name,
    /// The line, counted from 1; 0 if it was not read from text.
    pub line: u32,
}

impl<T> Negatable<T> {
    /// Returns the plain test.
    pub fn is(value: T) -> Negatable<T> {
        Negatable { negated: false, value }
    }

    /// Returns the test with `!`.
    pub fn not(value: T) -> Negatable<T> {
        Negatable { negated: true, value }
    }

    /// Returns whether the test holds, given whether the plain test does.
    pub fn holds(&self, plain: impl FnOnce(&T) -> bool) -> bool {
        plain(&self.value) != self.negated
    }
}

impl Network {
    /// Returns whether an address lies inside.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match self {
            Network::Prefix(prefix) => prefix.contains(&address),
            Network::Masked(masked) => and(address, masked.1) == Some(masked.0),
        }
    }

    /// Returns the network of one address.
    #[must_use]
    pub fn host(address: IpAddr) -> Network {
        Network::Prefix(IpNet::from(address))
    }

    /// Returns the network of an address and a mask; host bits are dropped. `None` if the families
    /// differ.
    #[must_use]
    pub fn new(address: IpAddr, mask: IpAddr) -> Option<Network> {
        let base = and(address, mask)?;
        Some(match IpNet::with_netmask(base, mask) {
            Ok(prefix) => Network::Prefix(prefix),
            Err(_) => Network::Masked(Box::new((base, mask))),
        })
    }
}

impl From<IpNet> for Network {
    fn from(prefix: IpNet) -> Network {
        Network::Prefix(prefix.trunc())
    }
}

fn and(address: IpAddr, mask: IpAddr) -> Option<IpAddr> {
    match (address, mask) {
        (IpAddr::V4(a), IpAddr::V4(m)) => Some((a & m).into()),
        (IpAddr::V6(a), IpAddr::V6(m)) => Some((a & m).into()),
        _ => None,
    }
}

impl InterfacePattern {
    /// Returns whether an interface's name matches.
    #[must_use]
    pub fn matches(&self, interface: &str) -> bool {
        match self.0.as_str().strip_suffix('+') {
            Some(start) => interface.starts_with(start),
            None => interface == self.0.as_str(),
        }
    }
}

impl PortRange {
    /// Returns the range of one port.
    #[must_use]
    pub fn single(port: u16) -> PortRange {
        PortRange { first: port, last: port }
    }

    /// Returns whether a port lies inside.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl MaskedMark {
    /// Returns whether a mark matches.
    #[must_use]
    pub fn matches(&self, mark: u32) -> bool {
        mark & self.mask == self.value
    }
}

impl PartialEq for Unknown {
    fn eq(&self, other: &Self) -> bool {
        self.module == other.module && self.options == other.options
    }
}

impl Eq for Unknown {}

impl Hash for Unknown {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.module, self.options).hash(state);
    }
}
