//! The part of one `ServicePort`.

use kps_model::{NodeView, PortView, ServicePort};
use kps_ruleset::Name;
use kps_ruleset::nftables::{Element, Rule, Set, Statement};

use super::chains::{self, Chains, EndpointNames};
use super::containers::Container;
use super::layout::Layout;
use super::plan::{Claim, Content, Fragment};
use super::{endpoints, external, frontends};

/// A `ServicePort` with what all its rules are made of.
pub(super) struct Port<'a> {
    pub view: &'a NodeView,
    /// The `ServicePort` with its endpoints.
    pub seen: &'a PortView,
    /// The `ServicePort` alone.
    pub service: &'a ServicePort,
    pub layout: Layout,
    pub chains: Chains,
    /// The names of the endpoints, at the indices of the view's; empty if none has any.
    pub names: Vec<Option<EndpointNames>>,
}

/// Returns the part of a `ServicePort`.
pub(super) fn fragment(view: &NodeView, seen: &PortView, layout: Layout) -> Fragment {
    let service = &seen.port;
    let base = chains::base(&service.key);
    let names = endpoints::names(seen, &base, layout);
    let port = Port { view, seen, service, layout, chains: Chains::of(seen, &base), names };
    let mut fragment = Fragment::new(service);
    endpoints::claim(&port, &mut fragment);
    frontends::claim(&port, &mut fragment);
    layout.write_policy_chain_mark(&port, &mut fragment);
    external::write(&port, &mut fragment);
    endpoints::write(&port, &mut fragment);
    fragment
}

impl Port<'_> {
    /// Returns the chain for traffic to the cluster IP; none if it has nowhere to go.
    pub fn internal_policy_chain(&self) -> Option<Name> {
        if self.service.internal_local { self.chains.local } else { self.chains.cluster }
    }

    /// Returns the chain for traffic from outside; none if it has nowhere to go.
    pub fn external_policy_chain(&self) -> Option<Name> {
        if self.service.external_local { self.chains.local } else { self.chains.cluster }
    }

    /// Returns the names of an endpoint, if it has any.
    pub fn names_of(&self, index: usize) -> Option<EndpointNames> {
        self.names.get(index).copied().flatten()
    }
}

impl Fragment {
    fn new(port: &ServicePort) -> Fragment {
        Fragment { key: port.key.clone(), claims: Vec::new(), contents: Vec::new() }
    }

    /// Claims a chain.
    pub(super) fn chain(&mut self, name: Name) {
        self.claims.push(Claim::Chain(name));
    }

    /// Claims an element.
    pub(super) fn element(&mut self, container: Container, element: Element) {
        self.claims.push(Claim::Element(container, element));
    }

    /// Adds an affinity set.
    pub(super) fn affinity_set(&mut self, name: Name, set: Set) {
        self.contents.push(Content::AffinitySet(name, Box::new(set)));
    }

    /// Appends a rule to a chain.
    pub(super) fn rule<const N: usize>(&mut self, chain: Name, statements: [Statement; N]) {
        let rule = Rule { statements: statements.into(), comment: None, handle: None };
        self.contents.push(Content::Rule(chain, rule));
    }

    /// Appends a rule with a comment.
    pub(super) fn commented_rule<const N: usize>(
        &mut self,
        chain: Name,
        statements: [Statement; N],
        comment: &str,
    ) {
        let comment = Some(comment.into());
        let rule = Rule { statements: statements.into(), comment, handle: None };
        self.contents.push(Content::Rule(chain, rule));
    }
}
