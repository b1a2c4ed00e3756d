//! The part of one `ServicePort`.

use std::net::IpAddr;

use kps_model::{NodeView, PortView};
use kps_ruleset::iptables::RuleWriter;
use kps_ruleset::{Name, Protocol};

use super::chains::Chains;
use super::matches::{self, destination_port};
use super::plan::{Fragment, Part};
use super::{endpoints, external, frontends};

/// A `ServicePort` with what all its rules are made of.
pub(super) struct Port<'a> {
    pub view: &'a NodeView,
    pub port: &'a PortView,
    /// Its printed key, which all comments name.
    pub label: String,
    pub protocol: Protocol,
    pub chains: Chains,
    /// The comment of endpoints' own rules, if they have one.
    pub comment: Option<Name>,
}

/// Returns the part of a `ServicePort`.
pub(super) fn fragment(view: &NodeView, port: &PortView, comments: bool) -> Fragment {
    let key = &port.port.key;
    let label = key.to_string();
    let chains = Chains::of(&label, key.protocol.lower());
    let protocol = matches::protocol(key.protocol);
    let comment = comments.then(|| Name::new(&label));
    let context = Port { view, port, label, protocol, chains, comment };
    let mut part = Part::default();
    frontends::write(&context, &mut part);
    external::write(&context, &mut part.nat);
    endpoints::write(&context, &mut part.nat);
    Fragment { key: key.clone(), part }
}

impl Port<'_> {
    /// Returns the chain for traffic to the cluster IP.
    pub fn internal_policy_chain(&self) -> Name {
        if self.port.port.internal_local { self.chains.local } else { self.chains.cluster }
    }

    /// Returns the chain for traffic from outside.
    pub fn external_policy_chain(&self) -> Name {
        if self.port.port.external_local { self.chains.local } else { self.chains.cluster }
    }

    /// Tells whether there is a chain for traffic from outside.
    pub fn uses_external_chain(&self) -> bool {
        self.port.has_any && self.port.port.externally_accessible()
    }

    /// Tells whether there is a chain for the source ranges.
    pub fn uses_firewall_chain(&self) -> bool {
        let port = &self.port.port;
        self.port.has_any && !port.load_balancer_vips.is_empty() && !port.source_ranges.is_empty()
    }

    /// Adds the test for packets to an address and the Service's port.
    pub fn to(&self, address: IpAddr, rule: RuleWriter) -> RuleWriter {
        rule.load_ports(self.protocol, destination_port(self.port.port.port))
            .protocol(self.protocol)
            .destination_host(address)
            .options()
    }
}
