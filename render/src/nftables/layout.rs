//! How the rules changed their shape between releases: every such difference is here.

use std::net::IpAddr;

use kps_model::{KubeVersion, NodeView};
use kps_ruleset::Name;
use kps_ruleset::nftables::{Expr, Relation, Statement, Value};

use super::chains::EndpointNames;
use super::containers::Container;
use super::detector::if_not_local;
use super::matches::{
    clear_mark, connection, daddr, dnat, dnat_map, equal, in_set, jump, mark_bit, masquerade,
    protocol, random_goto, return_to_caller, saddr, set_mark, status_dnat,
};
use super::plan::Fragment;
use super::port::Port;
use super::writer::Writer;

/// The chain that marks packets for masquerading, in [`Layout::EndpointChains`].
const MARK_FOR_MASQUERADE: &str = "mark-for-masquerade";
/// The longest comment that the kernel takes, in bytes.
const LONGEST_COMMENT: usize = 128;

/// The shape of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// 1.34 and 1.35: a chain for each endpoint, which also masquerades a client that is the
    /// endpoint; a chain that marks; each `ServicePort` masquerades traffic from outside the
    /// cluster to its cluster IP.
    EndpointChains,
    /// 1.36: endpoints in the map of the choice, chains for them only with affinity; the mark set
    /// in place; one rule masquerades traffic to all cluster IPs
    /// (kubernetes/kubernetes#135800), one set holds the connections of endpoints to themselves
    /// (kubernetes/kubernetes#136499).
    InlineMark,
    /// 1.37: a single endpoint without a choice (kubernetes/kubernetes#140723), comments cut to
    /// what the kernel takes, node ports on loopback (KEP-6032).
    SingleEndpoint,
}

impl Layout {
    /// Returns the layout of a release.
    #[must_use]
    pub fn of(version: KubeVersion) -> Layout {
        match version {
            KubeVersion::V1_34 | KubeVersion::V1_35 => Layout::EndpointChains,
            KubeVersion::V1_36 => Layout::InlineMark,
            KubeVersion::V1_37 => Layout::SingleEndpoint,
        }
    }

    /// Tells whether an endpoint has a chain of its own.
    pub(super) fn has_endpoint_chains(self, affinity: bool) -> bool {
        self == Layout::EndpointChains || affinity
    }

    /// Tells whether connections of endpoints to themselves are in a set.
    pub(super) fn has_hairpin_set(self) -> bool {
        self >= Layout::InlineMark
    }

    /// Tells whether node ports on loopback are handled at all.
    pub(super) fn has_localhost_node_ports(self) -> bool {
        self >= Layout::SingleEndpoint
    }

    /// Returns the comment of an element as this layout writes it.
    pub(super) fn comment(self, label: &str) -> &str {
        if self < Layout::SingleEndpoint || label.len() <= LONGEST_COMMENT {
            return label;
        }
        let end = (0..=LONGEST_COMMENT).rev().find(|end| label.is_char_boundary(*end));
        &label[..end.unwrap_or_default()]
    }

    /// Marks the packet for masquerading.
    pub(super) fn mark(self, mark: u32) -> Statement {
        match self {
            Layout::EndpointChains => jump(MARK_FOR_MASQUERADE),
            Layout::InlineMark | Layout::SingleEndpoint => set_mark(mark),
        }
    }

    /// Writes the rule that marks everything that comes to a Service from outside.
    pub(super) fn write_external_mark(self, port: &Port<'_>, chain: Name, fragment: &mut Fragment) {
        let mark = [self.mark(port.view.mark)];
        match self {
            Layout::EndpointChains => fragment.rule(chain, mark),
            Layout::InlineMark | Layout::SingleEndpoint => {
                fragment.commented_rule(chain, mark, "masquerade");
            }
        }
    }

    /// Writes what masquerades marked packets, and endpoints' connections to themselves.
    pub(super) fn write_masquerading(self, view: &NodeView, writer: &mut Writer) {
        let chain = "masquerading";
        match self {
            Layout::EndpointChains => {
                writer.ensure_chain(MARK_FOR_MASQUERADE.into());
                writer.rule(MARK_FOR_MASQUERADE, [set_mark(view.mark)]);
                writer.rule(chain, [mark_bit(view.mark, Relation::Equal), return_to_caller()]);
                writer.rule(chain, [clear_mark(view.mark)]);
                writer.rule(chain, [masquerade()]);
            }
            Layout::InlineMark | Layout::SingleEndpoint => {
                writer.add_container(Container::HairpinConnections);
                let unmark =
                    [mark_bit(view.mark, Relation::NotEqual), clear_mark(view.mark), masquerade()];
                writer.rule(chain, unmark);
                let hairpin = in_set(connection(view.family), Container::HairpinConnections.name());
                writer.rule(chain, [status_dnat(), hairpin, masquerade()]);
            }
        }
    }

    /// Writes the rule that masquerades traffic to all cluster IPs, if the layout has one.
    pub(super) fn write_cluster_ip_mark(self, view: &NodeView, writer: &mut Writer) {
        if self == Layout::EndpointChains {
            return;
        }
        let to_cluster_ip = in_set(daddr(view.family), Container::ClusterIps.name());
        let mark = self.mark(view.mark);
        if view.masquerade_all {
            let comment = "masquerade all clusterIP traffic";
            writer.commented_rule("services", [to_cluster_ip, mark], comment);
        } else if let Some(detector) = &view.detector {
            let comment = "masquerade clusterIP traffic from outside cluster";
            let from_outside = if_not_local(detector, view.family);
            writer.commented_rule("services", [to_cluster_ip, from_outside, mark], comment);
        }
    }

    /// Writes the rule that masquerades traffic to one cluster IP, if the layout has one; it is the
    /// first of the chain that such traffic goes to.
    pub(super) fn write_policy_chain_mark(self, port: &Port<'_>, fragment: &mut Fragment) {
        let Some(chain) = port.internal_policy_chain() else { return };
        if self != Layout::EndpointChains {
            return;
        }
        let view = port.view;
        let cluster_ip = Expr::Value(Value::address(port.service.cluster_ip));
        let to_cluster_ip = equal(daddr(view.family), cluster_ip);
        match &view.detector {
            _ if view.masquerade_all => {
                fragment.rule(chain, [to_cluster_ip, self.mark(view.mark)]);
            }
            Some(detector) => {
                let from_outside = if_not_local(detector, view.family);
                fragment.rule(chain, [to_cluster_ip, from_outside, self.mark(view.mark)]);
            }
            None => {}
        }
    }

    /// Writes the choice among endpoints: the last rule of a policy chain.
    pub(super) fn write_choice(
        self,
        port: &Port<'_>,
        chain: Name,
        indices: &[usize],
        fragment: &mut Fragment,
    ) {
        let affinity = port.service.affinity.is_some();
        if self.has_endpoint_chains(affinity) {
            let chains = indices.iter().filter_map(|i| Some(port.names_of(*i)?.chain));
            let chains: Vec<Name> = chains.collect();
            fragment.rule(chain, [random_goto(chains.into_iter())]);
            return;
        }
        let protocol = protocol(port.service.key.protocol);
        let addresses = indices.iter().map(|index| port.seen.endpoints[*index].address);
        match indices {
            [only] if self == Layout::SingleEndpoint => {
                fragment.rule(chain, [protocol, dnat(port.seen.endpoints[*only].address)]);
            }
            _ => fragment.rule(chain, [protocol, dnat_map(port.view.family, addresses)]),
        }
    }

    /// Writes the rule that masquerades an endpoint's connections to itself, if that is done in the
    /// endpoint's chain.
    pub(super) fn write_hairpin_mark(
        self,
        port: &Port<'_>,
        names: EndpointNames,
        address: IpAddr,
        fragment: &mut Fragment,
    ) {
        if self == Layout::EndpointChains {
            let from_itself = equal(saddr(port.view.family), Expr::Value(Value::address(address)));
            fragment.rule(names.chain, [from_itself, self.mark(port.view.mark)]);
        }
    }
}
