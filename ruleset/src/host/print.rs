//! Addresses as `ip -o addr show` prints them.

use std::fmt::Write as _;

use indexmap::IndexSet;
use ipnet::IpNet;

use super::{Address, Host, Scope};
use crate::Name;

/// Returns the addresses of a host in the form of `ip -o addr show`.
///
/// Links that are listed have the index of their place; others follow in the order in which they
/// occur. Lifetimes are endless.
#[must_use]
pub fn print_addresses(host: &Host) -> String {
    let mut links: IndexSet<Name> = host.links.iter().map(|link| link.name).collect();
    links.extend(host.addresses.iter().map(|address| address.link));
    let mut out = String::new();
    for (at, link) in links.iter().enumerate() {
        for address in host.addresses.iter().filter(|address| address.link == *link) {
            address_line(&mut out, at + 1, address);
        }
    }
    out
}

fn address_line(out: &mut String, index: usize, address: &Address) {
    let Address { link, network, scope } = address;
    let scope = scope.as_str();
    let (family, label) = match network {
        IpNet::V4(_) => ("inet", link.as_str()),
        IpNet::V6(_) => ("inet6", ""),
    };
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        out,
        "{index}: {link}    {family} {network} scope {scope} {label}\\       \
         valid_lft forever preferred_lft forever"
    );
}

impl Scope {
    /// Returns the word that `ip` uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Global => "global",
            Scope::Site => "site",
            Scope::Link => "link",
            Scope::Host => "host",
        }
    }
}
