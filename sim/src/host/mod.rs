//! What a node's addresses, routes, policy rules and sysctls mean for a packet.
//!
//! [`Network`] is built once from what `ip` and `sysctl` show. [`address`] says what kind of address
//! one is, [`route`] where a packet goes, [`source`] which address the kernel picks for it, and
//! [`martian`] which packets the kernel refuses to route. What is missing in the description is
//! assumed, and [`Network::assumed`] says what. No rule set is looked at here.

pub mod address;
pub mod martian;
pub mod route;
pub mod source;
pub mod sysctl;

use std::collections::HashMap;
use std::net::IpAddr;

use kps_ruleset::Name;
use kps_ruleset::host::{Address, Host, PolicyRule};

use route::Tables;
use sysctl::Sysctls;

/// A node's network configuration, indexed for look-ups.
#[derive(Debug)]
pub struct Network {
    /// Addresses in the order of the interfaces, as the kernel scans them.
    addresses: Vec<Address>,
    /// The interface of each address.
    owners: HashMap<IpAddr, Name>,
    tables: Tables,
    rules: Vec<PolicyRule>,
    sysctls: Sysctls,
    assumed: Vec<String>,
}

impl Network {
    /// Indexes a description of a host.
    #[must_use]
    pub fn new(host: &Host) -> Network {
        let addresses = with_loopback(host.addresses.clone());
        let mut assumed = Vec::new();
        let tables = Tables::new(host, &addresses, &mut assumed);
        Network {
            owners: addresses.iter().map(|a| (a.network.addr(), a.link)).collect(),
            rules: route::policy_rules(&host.rules),
            sysctls: Sysctls::new(&host.sysctls),
            addresses,
            tables,
            assumed,
        }
    }

    /// Returns what was assumed because the description does not say it.
    #[must_use]
    pub fn assumed(&self) -> &[String] {
        &self.assumed
    }

    /// Returns the sysctls.
    #[must_use]
    pub fn sysctls(&self) -> &Sysctls {
        &self.sysctls
    }
}

/// Adds the loopback addresses that every network namespace with a running `lo` has.
fn with_loopback(mut addresses: Vec<Address>) -> Vec<Address> {
    for text in ["::1/128", "127.0.0.1/8"] {
        let Ok(network) = text.parse::<ipnet::IpNet>() else { continue };
        if addresses.iter().all(|a| a.network.addr() != network.addr()) {
            let scope = kps_ruleset::host::Scope::Host;
            addresses.insert(0, Address { link: Name::new(LOOPBACK), network, scope });
        }
    }
    addresses
}

/// The loopback interface.
pub const LOOPBACK: &str = "lo";
