//! The part of one `ServicePort`.

use std::net::IpAddr;

use kps_model::{NodeView, PortView, ServicePort};
use kps_ruleset::iptables::{RuleWriter, Target};
use kps_ruleset::{Name, Protocol};

use super::chains::Chains;
use super::lines::Part;
use super::matches::{self, destination_port};
use super::plan::Fragment;
use super::{endpoints, external, frontends};

/// A `ServicePort` with what all its rules are made of.
pub(super) struct Port<'a> {
    pub view: &'a NodeView,
    /// The `ServicePort` with its endpoints.
    pub seen: &'a PortView,
    /// The `ServicePort` alone.
    pub service: &'a ServicePort,
    /// Its printed key, which all comments name.
    pub label: String,
    pub protocol: Protocol,
    pub chains: Chains,
    /// The chain that marks packets for masquerading.
    pub mark_chain: Name,
    /// The comment of endpoints' own rules, if they have one.
    pub comment: Option<Name>,
}

/// Returns the part of a `ServicePort`.
pub(super) fn fragment(view: &NodeView, seen: &PortView, comments: bool) -> Fragment {
    let service = &seen.port;
    let protocol = service.key.protocol;
    let label = service.key.to_string();
    let port = Port {
        view,
        seen,
        service,
        protocol: matches::protocol(protocol),
        chains: Chains::of(&label, protocol.lower()),
        mark_chain: Name::new("KUBE-MARK-MASQ"),
        comment: comments.then(|| Name::new(&label)),
        label,
    };
    let mut lines = Part::default();
    frontends::write(&port, &mut lines);
    external::write(&port, &mut lines.nat);
    endpoints::write(&port, &mut lines.nat);
    Fragment { key: service.key.clone(), part: lines }
}

impl Port<'_> {
    /// Returns the chain for traffic to the cluster IP.
    pub fn internal_policy_chain(&self) -> Name {
        if self.service.internal_local { self.chains.local } else { self.chains.cluster }
    }

    /// Returns the chain for traffic from outside.
    pub fn external_policy_chain(&self) -> Name {
        if self.service.external_local { self.chains.local } else { self.chains.cluster }
    }

    /// Tells whether there is a chain for traffic from outside.
    pub fn uses_external_chain(&self) -> bool {
        self.seen.has_any && self.service.externally_accessible()
    }

    /// Tells whether there is a chain for the source ranges.
    pub fn uses_firewall_chain(&self) -> bool {
        let service = self.service;
        self.seen.has_any
            && !service.load_balancer_vips.is_empty()
            && !service.source_ranges.is_empty()
    }

    /// Returns the target that marks a packet for masquerading.
    pub fn mark_for_masquerade(&self) -> Target {
        Target::Jump(self.mark_chain)
    }

    /// Adds the test for packets to an address and the Service's port.
    pub fn to(&self, address: IpAddr, rule: RuleWriter) -> RuleWriter {
        rule.load_ports(self.protocol, destination_port(self.service.port))
            .protocol(self.protocol)
            .destination_host(address)
            .options()
    }
}
