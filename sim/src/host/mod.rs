//! What a node's addresses, routes, policy rules and sysctls mean for a packet.
//!
//! [`Network`] is built once from what `ip` and `sysctl` show. [`address`] says what kind of address
//! one is, [`route`] where a packet goes, [`source`] which address the kernel picks for it, and
//! [`martian`] which packets the kernel refuses to route. What is missing in the description is
//! assumed, and [`Network::assumed`] says what. No rule set is looked at here.

pub mod address;
mod inventory;
pub mod martian;
pub mod route;
pub mod source;
pub mod sysctl;

use kps_ruleset::host::{Host, PolicyRule};

use inventory::Inventory;
use route::Tables;
use sysctl::Sysctls;

/// A node's network configuration, indexed for look-ups.
#[derive(Debug)]
pub struct Network {
    addresses: Inventory,
    tables: Tables,
    rules: Vec<PolicyRule>,
    sysctls: Sysctls,
    assumed: Vec<String>,
}

impl Network {
    /// Indexes a description of a host.
    #[must_use]
    pub fn new(host: &Host) -> Network {
        let addresses = Inventory::new(&host.addresses);
        let mut assumed = Vec::new();
        let tables = Tables::new(host, &addresses, &mut assumed);
        Network {
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

/// The loopback interface.
pub const LOOPBACK: &str = "lo";
