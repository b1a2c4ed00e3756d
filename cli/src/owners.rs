//! Which Service a rule belongs to.

use std::collections::HashMap;
use std::net::IpAddr;

use kps_flow::{Flow, Protocol};
use kps_model::{Mode, NodeView, ServicePort};
use kps_render::nftables::Claim;
use kps_render::{iptables, ipvs, nftables};
use kps_ruleset::iptables::{Rule, Target};
use kps_ruleset::nftables::TableFamily;
use kps_ruleset::{Name, NodeState};
use kps_sim::trace::{Language, RulePlace};

use crate::cluster::Proxied;
use crate::node::Node;

/// The ServicePort of each chain, of each virtual server and of each destination that has one, by
/// the printed key.
#[derive(Debug, Default)]
pub struct Owners {
    chains: HashMap<Name, String>,
    destinations: HashMap<(IpAddr, u16, Protocol), String>,
}

impl Owners {
    /// Works out the owners of the rules of a node: from the objects, and from what rules say.
    pub fn of(node: &Node<'_>) -> Owners {
        Owners::of_state(node.proxied.as_ref(), &node.state)
    }

    /// Works out the owners of rules: from the objects, and from what rules say.
    pub fn of_state(proxied: Option<&Proxied<'_>>, state: &NodeState) -> Owners {
        match proxied {
            Some(proxied) => Owners::new(proxied.mode, &proxied.views, state),
            None => Owners::new(Mode::Iptables, &[], state),
        }
    }

    /// Works out the owners of rules from what the proxiers of a mode see, and from what rules say.
    pub fn new(mode: Mode, views: &[NodeView], state: &NodeState) -> Owners {
        let mut owners = Owners::default();
        for view in views {
            view.ports.iter().for_each(|port| owners.add_destinations(&port.port));
            owners.chains.extend(rendered(mode, view));
        }
        owners.add_commented(state);
        owners
    }

    fn add_destinations(&mut self, port: &ServicePort) {
        let addresses = std::iter::once(&port.cluster_ip)
            .chain(&port.external_ips)
            .chain(&port.load_balancer_vips);
        for address in addresses {
            let key = (*address, port.port, port.key.protocol);
            self.destinations.entry(key).or_insert_with(|| port.key.to_string());
        }
    }

    /// Adds the chains of iptables that a rule with the name of a Service in its comment leads to.
    fn add_commented(&mut self, state: &NodeState) {
        let tables = [&state.iptables.v4, &state.iptables.v6].map(|rules| &rules.tables);
        let chains = tables.into_iter().flat_map(|tables| tables.values()).flat_map(|t| &t.chains);
        for (_, chain) in chains.filter(|(name, _)| name.starts_with(KUBE)) {
            for rule in &chain.rules {
                if let (Some(to), Some(service)) = (own_chain(rule), commented(rule)) {
                    self.chains.entry(to).or_insert(service);
                }
            }
        }
    }

    /// Returns the ServicePort that has the destination of a flow, not counting node ports.
    pub fn of_destination(&self, flow: &Flow) -> Option<String> {
        self.destinations.get(&(flow.destination, flow.port, flow.protocol)).cloned()
    }

    /// Returns the ServicePort of a rule or virtual server: that of its chain, or the one that the
    /// rule's comment names.
    pub fn of_rule(&self, place: &RulePlace, state: &NodeState) -> Option<String> {
        self.service(place.chain).or_else(|| {
            let by_kube_proxy = place.chain.starts_with(KUBE);
            rule(place, state).filter(|_| by_kube_proxy).and_then(commented)
        })
    }

    /// Returns the ServicePort of a chain. Without objects, the name of an nftables chain says it:
    /// `KIND-HASH-NAMESPACE/NAME/PROTOCOL/PORT`.
    pub fn service(&self, chain: Name) -> Option<String> {
        self.chains.get(&chain).cloned().or_else(|| from_name(chain.as_str()))
    }
}

/// How the chains of kube-proxy's iptables rules begin.
const KUBE: &str = "KUBE-";
/// How those begin that a single ServicePort has.
const OWN: [&str; 5] = ["KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-FW-", "KUBE-SEP-"];

/// Returns the chains, or what stands in their place, that are rendered for single ServicePorts.
fn rendered(mode: Mode, view: &NodeView) -> Vec<(Name, String)> {
    let owned = |key: &kps_model::PortKey, chains: Vec<Name>| {
        let label = key.to_string();
        chains.into_iter().map(move |chain| (chain, label.clone()))
    };
    match mode {
        Mode::Nftables => nftables::plan(view)
            .fragments
            .into_iter()
            .flat_map(|fragment| {
                owned(&fragment.key, fragment.claims.iter().filter_map(claimed_chain).collect())
            })
            .collect(),
        Mode::Iptables => iptables::plan(view)
            .fragments
            .into_iter()
            .flat_map(|fragment| owned(&fragment.key, fragment.part.nat.chains))
            .collect(),
        Mode::Ipvs => ipvs::plan(view)
            .fragments
            .into_iter()
            .flat_map(|fragment| {
                let servers = fragment.servers.iter();
                let places = servers.map(|(id, _)| RulePlace::virtual_server(*id, None).chain);
                owned(&fragment.key, places.collect())
            })
            .collect(),
    }
}

fn claimed_chain(claim: &Claim) -> Option<Name> {
    match claim {
        Claim::Chain(name) => Some(*name),
        Claim::Element(..) => None,
    }
}

fn from_name(chain: &str) -> Option<String> {
    let (_, rest) = chain.split_once('-')?;
    let (_, base) = rest.split_once('-')?;
    let base = base.split_once("__").map_or(base, |(base, _)| base);
    let mut parts = base.splitn(4, '/');
    let (namespace, name) = (parts.next()?, parts.next()?);
    let (_protocol, port) = (parts.next()?, parts.next()?);
    let port = if port.is_empty() { String::new() } else { format!(":{port}") };
    Some(format!("{namespace}/{name}{port}"))
}

/// Returns the chain of a single ServicePort that a rule leads to.
fn own_chain(rule: &Rule) -> Option<Name> {
    let Some(Target::Jump(chain) | Target::Goto(chain)) = &rule.target else { return None };
    OWN.iter().any(|own| chain.starts_with(own)).then_some(*chain)
}

/// Returns the ServicePort that the comment of a rule names: its word of the form
/// `NAMESPACE/NAME[:PORT]`.
fn commented(rule: &Rule) -> Option<String> {
    let comment = rule.comment()?;
    let word = comment.split(' ').find(|word| is_key(word))?;
    Some(word.to_owned())
}

fn is_key(word: &str) -> bool {
    let named = |part: &str| !part.is_empty() && part.bytes().all(is_of_name);
    word.split_once('/').is_some_and(|(namespace, rest)| named(namespace) && named(rest))
}

fn is_of_name(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b':')
}

fn rule<'s>(place: &RulePlace, state: &'s NodeState) -> Option<&'s Rule> {
    let Language::Iptables = place.language else { return None };
    let is_v6 = place.family == TableFamily::Ip6;
    let tables = if is_v6 { &state.iptables.v6 } else { &state.iptables.v4 };
    tables.chain(&place.table, &place.chain)?.rules.get(usize::try_from(place.rule?).ok()?)
}
