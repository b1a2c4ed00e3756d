//! The addresses of a host, indexed by interface and network.

use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::IpNet;
use kps_ruleset::Name;
use kps_ruleset::host::{Address, Scope};

use super::LOOPBACK;

/// Addresses in the order of the interfaces, as the kernel scans them.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    all: Vec<Address>,
    owners: HashMap<IpAddr, Name>,
    by_link: HashMap<Name, Vec<usize>>,
    primaries: HashMap<(Name, IpNet), IpAddr>,
}

impl Inventory {
    /// Indexes addresses, and adds those that every host with a running `lo` has.
    pub(super) fn new(addresses: &[Address]) -> Inventory {
        let mut inventory = Inventory::default();
        let known = |network: &IpNet| addresses.iter().any(|a| a.network.addr() == network.addr());
        for network in ["127.0.0.1/8", "::1/128"].iter().filter_map(|text| text.parse().ok()) {
            if !known(&network) {
                inventory.add(Address { link: Name::new(LOOPBACK), network, scope: Scope::Host });
            }
        }
        for address in addresses {
            inventory.add(address.clone());
        }
        inventory
    }

    fn add(&mut self, address: Address) {
        let network = (address.link, address.network.trunc());
        self.owners.entry(address.network.addr()).or_insert(address.link);
        self.by_link.entry(address.link).or_default().push(self.all.len());
        self.primaries.entry(network).or_insert(address.network.addr());
        self.all.push(address);
    }

    /// Returns all addresses.
    pub(super) fn all(&self) -> &[Address] {
        &self.all
    }

    /// Returns the addresses of an interface.
    pub(super) fn of_link(&self, link: Name) -> impl Iterator<Item = &Address> + Clone {
        self.by_link.get(&link).into_iter().flatten().filter_map(|&at| self.all.get(at))
    }

    /// Returns the interface that bears an address.
    pub(super) fn owner(&self, address: IpAddr) -> Option<Name> {
        self.owners.get(&address).copied()
    }

    /// Returns the primary address of the network that `address` is in on its interface: the first
    /// one given to it. Later ones are secondary, and IPv4 never picks them as a source.
    pub(super) fn primary_of(&self, address: &Address) -> IpAddr {
        let network = (address.link, address.network.trunc());
        self.primaries.get(&network).copied().unwrap_or(address.network.addr())
    }

    /// Tells whether an address is the primary one of its network.
    pub(super) fn is_primary(&self, address: &Address) -> bool {
        self.primary_of(address) == address.network.addr()
    }
}
