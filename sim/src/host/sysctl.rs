//! The sysctls that decide on a packet's way.

use std::collections::{BTreeMap, HashMap};

use kps_flow::Family;
use kps_ruleset::Name;

/// The settings that matter; where one is not known, the value that a Kubernetes node has is used.
#[derive(Debug, Default)]
pub struct Sysctls {
    /// `net.ipv4.conf.LINK.SETTING`.
    of_links: HashMap<(Setting, Name), u32>,
    /// `net.ipv4.conf.all.SETTING`.
    of_all: HashMap<Setting, u32>,
    /// `net.ipv4.ip_forward`, which is `net.ipv4.conf.all.forwarding` by another name.
    forward_v4: Option<u32>,
    /// `net.ipv6.conf.all.forwarding`.
    forward_v6: Option<u32>,
    /// `net.ipv4.vs.conntrack`.
    ipvs_conntrack: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Setting {
    Forwarding,
    RouteLocalnet,
    ReversePath,
    AcceptLocal,
}

impl Sysctls {
    /// Reads the settings from sysctls by their dotted names.
    #[must_use]
    pub fn new(values: &BTreeMap<String, String>) -> Sysctls {
        let mut sysctls = Sysctls::default();
        for (name, value) in values {
            let Ok(value) = value.trim().parse() else { continue };
            match name.replace('/', ".").as_str() {
                "net.ipv4.ip_forward" => sysctls.forward_v4 = Some(value),
                "net.ipv6.conf.all.forwarding" => sysctls.forward_v6 = Some(value),
                "net.ipv4.vs.conntrack" => sysctls.ipvs_conntrack = Some(value),
                dotted => sysctls.take(dotted, value),
            }
        }
        sysctls
    }

    fn take(&mut self, name: &str, value: u32) {
        let of_link = name.strip_prefix("net.ipv4.conf.").and_then(|rest| rest.rsplit_once('.'));
        let Some((link, setting)) = of_link else { return };
        let setting = match setting {
            "forwarding" => Setting::Forwarding,
            "route_localnet" => Setting::RouteLocalnet,
            "rp_filter" => Setting::ReversePath,
            "accept_local" => Setting::AcceptLocal,
            _ => return,
        };
        if link == "all" {
            self.of_all.insert(setting, value);
        } else {
            self.of_links.insert((setting, Name::new(link)), value);
        }
    }

    /// Tells whether packets that come in by `link` are forwarded; yes if nothing is known. For
    /// IPv6 the setting of all interfaces decides (`ip6_forward` of `net/ipv6/ip6_output.c`).
    #[must_use]
    pub fn forwards(&self, family: Family, link: Name) -> bool {
        let of_link = self.of_links.get(&(Setting::Forwarding, link)).copied();
        let of_all = self.of_all.get(&Setting::Forwarding).copied();
        let value = match family {
            Family::V4 => of_link.or(self.forward_v4).or(of_all),
            Family::V6 => self.forward_v6,
        };
        value != Some(0)
    }

    /// Tells whether 127.0.0.0/8 may be routed by `link` (`IN_DEV_ROUTE_LOCALNET`: all or link).
    #[must_use]
    pub fn routes_localnet(&self, link: Name) -> bool {
        self.larger(Setting::RouteLocalnet, link) != 0
    }

    /// Returns the mode of reverse path filtering on `link`: 0 off, 1 strict, 2 loose
    /// (`IN_DEV_RPFILTER`: the larger of all and link).
    #[must_use]
    pub fn reverse_path_filter(&self, link: Name) -> u32 {
        self.larger(Setting::ReversePath, link)
    }

    /// Tells whether a packet from outside may bear an address of this host as its source.
    #[must_use]
    pub fn accepts_local_source(&self, link: Name) -> bool {
        self.larger(Setting::AcceptLocal, link) != 0
    }

    /// Returns all that is set of a link: links with the same are treated alike.
    pub(crate) fn of_link(&self, family: Family, link: Name) -> [u32; 4] {
        [
            self.forwards(family, link).into(),
            self.larger(Setting::RouteLocalnet, link),
            self.larger(Setting::ReversePath, link),
            self.larger(Setting::AcceptLocal, link),
        ]
    }

    /// Tells whether conntrack follows the connections of IPVS; yes if nothing is known.
    #[must_use]
    pub fn ipvs_keeps_conntrack(&self) -> bool {
        self.ipvs_conntrack != Some(0)
    }

    fn larger(&self, setting: Setting, link: Name) -> u32 {
        let of_link = self.of_links.get(&(setting, link)).copied().unwrap_or(0);
        of_link.max(self.of_all.get(&setting).copied().unwrap_or(0))
    }
}
