//! Which Service a chain belongs to.

use std::collections::HashMap;

use kps_model::Mode;
use kps_render::{iptables, nftables};
use kps_ruleset::Name;
use kps_ruleset::nftables::Command;

use crate::node::Proxied;

/// The ServicePort of each chain that has one, by the printed key.
#[derive(Debug, Default)]
pub struct Owners(HashMap<Name, String>);

impl Owners {
    /// Works out the owners of the chains that are rendered for a node.
    pub fn of(proxied: &Proxied) -> Owners {
        let mut owners = HashMap::new();
        for view in &proxied.views {
            match proxied.mode {
                Mode::Nftables => {
                    for fragment in nftables::plan(view).fragments {
                        let label = fragment.key.to_string();
                        let chains = fragment.commands.iter().filter_map(added_chain);
                        owners.extend(chains.map(|chain| (chain, label.clone())));
                    }
                }
                Mode::Iptables => {
                    for fragment in iptables::plan(view).fragments {
                        let label = fragment.key.to_string();
                        let chains = fragment.part.nat.chains.into_iter();
                        owners.extend(chains.map(|chain| (chain, label.clone())));
                    }
                }
                Mode::Ipvs => {}
            }
        }
        Owners(owners)
    }

    /// Returns the ServicePort of a chain. Without objects, the name of an nftables chain says it:
    /// `KIND-HASH-NAMESPACE/NAME/PROTOCOL/PORT`.
    pub fn service(&self, chain: Name) -> Option<String> {
        self.0.get(&chain).cloned().or_else(|| from_name(chain.as_str()))
    }
}

fn added_chain(command: &Command) -> Option<Name> {
    match command {
        Command::AddChain { name, .. } => Some(*name),
        _ => None,
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
