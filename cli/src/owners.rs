//! Which Service a chain belongs to.

use std::collections::HashMap;
use std::net::IpAddr;

use kps_flow::{Flow, Protocol};
use kps_model::{Mode, ServicePort};
use kps_render::nftables::Claim;
use kps_render::{iptables, nftables};
use kps_ruleset::Name;

use crate::cluster::Proxied;

/// The ServicePort of each chain and of each destination that has one, by the printed key.
#[derive(Debug, Default)]
pub struct Owners {
    chains: HashMap<Name, String>,
    destinations: HashMap<(IpAddr, u16, Protocol), String>,
}

impl Owners {
    /// Works out the owners of the chains that are rendered for a node.
    pub fn of(proxied: &Proxied<'_>) -> Owners {
        let mut owners = Owners::default();
        for view in &proxied.views {
            view.ports.iter().for_each(|port| owners.add_destinations(&port.port));
            let chains = &mut owners.chains;
            match proxied.mode {
                Mode::Nftables => {
                    for fragment in nftables::plan(view).fragments {
                        let label = fragment.key.to_string();
                        let added = fragment.claims.iter().filter_map(claimed_chain);
                        chains.extend(added.map(|chain| (chain, label.clone())));
                    }
                }
                Mode::Iptables => {
                    for fragment in iptables::plan(view).fragments {
                        let label = fragment.key.to_string();
                        let added = fragment.part.nat.chains.into_iter();
                        chains.extend(added.map(|chain| (chain, label.clone())));
                    }
                }
                Mode::Ipvs => {}
            }
        }
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

    /// Returns the ServicePort that has the destination of a flow, not counting node ports.
    pub fn of_destination(&self, flow: &Flow) -> Option<String> {
        self.destinations.get(&(flow.destination, flow.port, flow.protocol)).cloned()
    }

    /// Returns the ServicePort of a chain. Without objects, the name of an nftables chain says it:
    /// `KIND-HASH-NAMESPACE/NAME/PROTOCOL/PORT`.
    pub fn service(&self, chain: Name) -> Option<String> {
        self.chains.get(&chain).cloned().or_else(|| from_name(chain.as_str()))
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
