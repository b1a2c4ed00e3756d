//! What a node's addresses, routes, policy rules and sysctls mean for a packet.
//!
//! [`Network`] is built once from what `ip` and `sysctl` show. [`address`] says what kind of address
//! one is, [`route`] where a packet goes, [`source`] which address the kernel picks for it, and
//! [`martian`] which packets the kernel refuses to route. `places` says which addresses are alike in all of it. What is missing in the description is
//! assumed, and [`Network::assumed`] says what. No rule set is looked at here.

pub mod address;
mod inventory;
pub mod martian;
pub(crate) mod places;
pub mod route;
pub mod source;
pub mod sysctl;

use kps_ruleset::Name;
use kps_ruleset::host::{Host, PolicyRule, Route};

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

    /// Returns the routes of all tables.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        self.tables.all()
    }

    /// Tells whether a policy rule selects packets by the link that they come in by.
    pub(crate) fn selects_by(&self, link: Name) -> bool {
        self.rules.iter().any(|rule| rule.input == Some(link))
    }

    /// Returns the sysctls.
    #[must_use]
    pub fn sysctls(&self) -> &Sysctls {
        &self.sysctls
    }
}

/// The loopback interface.
pub const LOOPBACK: &str = "lo";
