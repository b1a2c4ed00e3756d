//! The sysctls that decide on a packet's way.

use std::collections::BTreeMap;

use kps_flow::Family;
use kps_ruleset::Name;

/// Sysctls by dotted name; where one is not known, the value that a Kubernetes node has is used.
#[derive(Debug, Default)]
pub struct Sysctls {
    values: BTreeMap<String, String>,
}

impl Sysctls {
    /// Takes the values. Names with slashes are read as well.
    #[must_use]
    pub fn new(values: &BTreeMap<String, String>) -> Sysctls {
        let dotted =
            |name: &String| if name.contains('/') { name.replace('/', ".") } else { name.clone() };
        Sysctls { values: values.iter().map(|(k, v)| (dotted(k), v.trim().to_owned())).collect() }
    }

    /// Tells whether packets that come in by `link` are forwarded; yes if nothing is known.
    #[must_use]
    pub fn forwards(&self, family: Family, link: Name) -> bool {
        let value = match family {
            Family::V4 => self
                .number(&format!("net.ipv4.conf.{link}.forwarding"))
                .or_else(|| self.number("net.ipv4.ip_forward"))
                .or_else(|| self.number("net.ipv4.conf.all.forwarding")),
            // ip6_forward of net/ipv6/ip6_output.c looks at `all` only.
            Family::V6 => self.number("net.ipv6.conf.all.forwarding"),
        };
        value != Some(0)
    }

    /// Tells whether 127.0.0.0/8 may be routed by `link` (`IN_DEV_ROUTE_LOCALNET`: all or link).
    #[must_use]
    pub fn routes_localnet(&self, link: Name) -> bool {
        self.of_link(link, "route_localnet").max().unwrap_or(0) != 0
    }

    /// Returns the mode of reverse path filtering on `link`: 0 off, 1 strict, 2 loose
    /// (`IN_DEV_RPFILTER`: the larger of all and link).
    #[must_use]
    pub fn reverse_path_filter(&self, link: Name) -> u32 {
        self.of_link(link, "rp_filter").max().unwrap_or(0)
    }

    /// Tells whether a packet from outside may bear an address of this host as its source.
    #[must_use]
    pub fn accepts_local_source(&self, link: Name) -> bool {
        self.of_link(link, "accept_local").max().unwrap_or(0) != 0
    }

    /// Returns a numeric sysctl.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u32> {
        self.values.get(name)?.parse().ok()
    }

    fn of_link(&self, link: Name, key: &str) -> impl Iterator<Item = u32> {
        ["all", link.as_str()]
            .map(|scope| self.number(&format!("net.ipv4.conf.{scope}.{key}")))
            .into_iter()
            .flatten()
    }
}
