//! The addresses that serve node ports (`pkg/proxy/util/nodeport_addresses.go`).

use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Family;

use super::node::NodeFacts;
use crate::address::{host_prefix, parse_prefix};
use crate::{Config, KubeVersion, Mode};

/// The addresses of one family that serve node ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePortAddresses {
    /// The CIDRs of the family after the words are expanded; never empty.
    pub cidrs: Vec<IpNet>,
    /// Whether a zero CIDR is among them: every local address serves.
    pub match_all: bool,
    /// Whether IPv4 loopback is contained.
    pub contains_ipv4_loopback: bool,
    /// Whether a CIDR is itself a loopback one (zero CIDRs do not count).
    pub contains_explicit_loopback: bool,
}

impl NodePortAddresses {
    /// Works out the addresses of a family. An empty result means every address: so does
    /// `primary` on a node that has no address of the family.
    #[must_use]
    pub fn new(
        config: &Config,
        node: &NodeFacts,
        family: Family,
        version: KubeVersion,
    ) -> NodePortAddresses {
        let mut cidrs = expand(config, node, version);
        cidrs.retain(|cidr| Family::of(cidr.addr()) == family);
        if cidrs.is_empty() {
            cidrs.push(everything(family));
        }
        NodePortAddresses {
            match_all: cidrs.iter().any(|cidr| cidr.prefix_len() == 0),
            contains_ipv4_loopback: family == Family::V4 && contains_loopback(&cidrs),
            contains_explicit_loopback: cidrs.iter().any(is_loopback),
            cidrs,
        }
    }

    /// Returns those of `addresses` that serve node ports, each once, in order.
    #[must_use]
    pub fn serving(&self, addresses: &[IpAddr]) -> Vec<IpAddr> {
        let mut serving = Vec::new();
        for address in addresses {
            if self.cidrs.iter().any(|cidr| cidr.contains(address)) && !serving.contains(address) {
                serving.push(*address);
            }
        }
        serving
    }
}

/// Expands the words; those of other releases than 1.37 know `primary` alone and only by itself.
fn expand(config: &Config, node: &NodeFacts, version: KubeVersion) -> Vec<IpNet> {
    let words: Vec<&str> = config.node_port_addresses.iter().map(|word| word.trim()).collect();
    let default_is_primary = config.mode == Mode::Nftables && words.is_empty();
    if default_is_primary || (version < KubeVersion::V1_37 && words == ["primary"]) {
        return primary(node);
    }
    if version < KubeVersion::V1_37 {
        return words.iter().filter_map(|word| parse_prefix(word)).collect();
    }
    words.iter().flat_map(|word| expand_word(word, node)).collect()
}

fn expand_word(word: &str, node: &NodeFacts) -> Vec<IpNet> {
    match word {
        "primary" => primary(node),
        "localhost" => {
            [("127.0.0.0/8"), ("::1/128")].iter().filter_map(|c| parse_prefix(c)).collect()
        }
        "all" => Family::BOTH.into_iter().map(everything).collect(),
        cidr => parse_prefix(cidr).into_iter().collect(),
    }
}

/// The node's own address of each family that it has one of.
fn primary(node: &NodeFacts) -> Vec<IpNet> {
    let addresses = Family::BOTH.into_iter().filter_map(|family| node.address(family));
    addresses.filter(|address| !address.is_loopback()).map(host_prefix).collect()
}

fn everything(family: Family) -> IpNet {
    let text = match family {
        Family::V4 => "0.0.0.0/0",
        Family::V6 => "::/0",
    };
    parse_prefix(text).unwrap_or_else(|| host_prefix(super::node::loopback(family)))
}

fn is_loopback(cidr: &IpNet) -> bool {
    cidr.addr().is_loopback()
}

/// Looks up to and including the first zero CIDR, as kube-proxy does.
fn contains_loopback(cidrs: &[IpNet]) -> bool {
    let until_zero = cidrs.iter().position(|c| c.prefix_len() == 0).map_or(cidrs.len(), |i| i + 1);
    let start = IpAddr::from([127, 0, 0, 0]);
    cidrs[..until_zero].iter().any(|cidr| is_loopback(cidr) || cidr.contains(&start))
}
