//! The host around the rules: what `ip` and `sysctl` show of a node.
//!
//! The types mirror the tools' output; [`parse`] reads it. What an address or a route
//! means for a packet is the business of whoever walks.

pub mod parse;
mod print;

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::Name;

pub use print::print_addresses;

/// A node's addresses, links, routes, policy rules and sysctls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// Links (`ip link`).
    pub links: Vec<Link>,
    /// Addresses (`ip -o addr show`).
    pub addresses: Vec<Address>,
    /// Routes of all tables (`ip route show table all`, `ip -6 route show table all`).
    pub routes: Vec<Route>,
    /// Policy rules (`ip rule`, `ip -6 rule`), by ascending priority.
    pub rules: Vec<PolicyRule>,
    /// Sysctls by their dotted name, as `sysctl -a` prints them.
    pub sysctls: BTreeMap<String, String>,
    /// Whether the kernel has nfacct accounting objects.
    pub nfacct: bool,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: Name,
    /// Whether it is up.
    pub up: bool,
    /// The bridge or bond that it belongs to.
    pub master: Option<Name>,
}

/// An address on an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The interface.
    pub link: Name,
    /// The address with its prefix length.
    pub network: IpNet,
    /// Its scope.
    pub scope: Scope,
}

/// The scope of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Valid everywhere.
    Global,
    /// Valid within the site (IPv6, deprecated).
    Site,
    /// Valid on the link.
    Link,
    /// Valid on the host.
    Host,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The table: 254 is `main`, 255 is `local`, 253 is `default`.
    pub table: u32,
    /// What kind of route it is.
    pub kind: RouteKind,
    /// The destinations that it covers.
    pub destination: IpNet,
    /// The next hop.
    pub gateway: Option<IpAddr>,
    /// The interface to send by.
    pub link: Option<Name>,
    /// The preferred source address.
    pub source: Option<IpAddr>,
    /// Its metric; the lowest wins among routes of equal prefix length.
    pub metric: u32,
}

/// The kind of a route (rtnetlink `RTN_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteKind {
    /// Sent on.
    Unicast,
    /// Delivered to the host.
    Local,
    /// A broadcast address.
    Broadcast,
    /// A multicast address.
    Multicast,
    /// An anycast address.
    Anycast,
    /// Dropped silently.
    Blackhole,
    /// Answered with host unreachable.
    Unreachable,
    /// Answered with communication prohibited.
    Prohibit,
    /// Looked up in the next policy rule.
    Throw,
}

/// A routing policy rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// Its priority; lower is tried first.
    pub priority: u32,
    /// Whether it is for IPv6.
    pub ipv6: bool,
    /// The source prefix that it selects; `None` is `from all`.
    pub from: Option<IpNet>,
    /// The destination prefix that it selects.
    pub to: Option<IpNet>,
    /// The mark and mask that it selects.
    pub mark: Option<(u32, u32)>,
    /// The interface by which the packet came in.
    pub input: Option<Name>,
    /// The table that it looks in.
    pub table: u32,
    /// Other selectors and actions, as text: not modelled.
    pub rest: Option<String>,
}
