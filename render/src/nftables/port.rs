//! The part of one `ServicePort`.

use kps_model::{NodeView, PortView};
use kps_ruleset::Name;
use kps_ruleset::nftables::Verdict;

use super::chains::{self, Chains};
use super::endpoints::Target;
use super::layout::Layout;
use super::plan::Fragment;
use super::writer::Writer;
use super::{endpoints, external, frontends};

/// A `ServicePort` with what all its rules are made of.
pub(super) struct Port<'a> {
    pub view: &'a NodeView,
    pub port: &'a PortView,
    pub layout: Layout,
    pub chains: Chains,
    /// The endpoints, parallel to those of the view; those out of reach have none.
    pub targets: Vec<Option<Target>>,
}

/// Returns the part of a `ServicePort`.
pub(super) fn fragment(view: &NodeView, port: &PortView, layout: Layout) -> Fragment {
    let base = chains::base(&port.port.key);
    let chains = Chains::of(&base);
    let targets = endpoints::targets(port, &base, layout);
    let context = Port { view, port, layout, chains, targets };
    let mut writer = Writer::new(view.family);
    context.ensure_chains(&mut writer);
    frontends::write(&context, &mut writer);
    layout.write_policy_chain_mark(&context, &mut writer);
    external::write(&context, &mut writer);
    endpoints::write(&context, &mut writer);
    Fragment { key: port.port.key.clone(), commands: writer.finish() }
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

    /// Tells whether there is a chain for policy Cluster.
    pub fn uses_cluster_chain(&self) -> bool {
        !self.port.cluster.is_empty() && self.port.port.uses_cluster_endpoints()
    }

    /// Tells whether there is a chain for policy Local.
    pub fn uses_local_chain(&self) -> bool {
        !self.port.local.is_empty() && self.port.port.uses_local_endpoints()
    }

    /// Tells whether there is a chain for traffic from outside.
    pub fn uses_external_chain(&self) -> bool {
        self.port.has_any && self.port.port.externally_accessible()
    }

    /// Tells whether there is a chain for the source ranges. Unlike in the other modes, it does not
    /// take endpoints to have one.
    pub fn uses_firewall_chain(&self) -> bool {
        let port = &self.port.port;
        !port.load_balancer_vips.is_empty() && !port.source_ranges.is_empty()
    }

    /// What becomes of packets that nobody may have: refused if the Service has no endpoint at all,
    /// dropped if only the policy stands in the way.
    pub fn no_endpoint_verdict(&self) -> Verdict {
        if self.port.has_any { Verdict::Drop } else { Verdict::Goto("reject-chain".into()) }
    }

    /// Returns the endpoints at these indices of the view.
    pub fn targets_at<'a>(&'a self, indices: &'a [usize]) -> impl Iterator<Item = &'a Target> {
        indices.iter().filter_map(|index| self.targets.get(*index)?.as_ref())
    }

    fn ensure_chains(&self, writer: &mut Writer) {
        endpoints::ensure(self, writer);
        for (wanted, chain) in [
            (self.uses_cluster_chain(), self.chains.cluster),
            (self.uses_local_chain(), self.chains.local),
            (self.uses_external_chain(), self.chains.external),
        ] {
            if wanted {
                writer.ensure_chain(chain);
            }
        }
    }
}
