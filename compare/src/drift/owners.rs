//! Which ServicePort a line belongs to.
//!
//! What is expected is known by the fragment that makes it. What is too much is known by what it says:
//! the chain that it stands in, its comment, or what clients dial by it.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};

use kps_flow::Protocol;
use kps_model::{NodeView, PortKey, PortView};
use kps_render::nftables::{self, Claim};
use kps_render::{iptables, ipvs};
use kps_ruleset::nftables::Key;
use kps_ruleset::{Name, ipset};

/// An address, protocol and port that clients dial; node ports have no address.
pub(super) type Dialled = (Option<IpAddr>, Protocol, u16);

/// A ServicePort by its label, or a Service of which several ports share something; `None` is what
/// several Services share.
type Owner = Option<Name>;

/// The ServicePorts by what lines say of them.
#[derive(Debug, Default)]
pub(super) struct Owners {
    chains: HashMap<Name, Name>,
    elements: HashMap<(Name, Key), Owner>,
    members: HashMap<(Name, ipset::Element), Owner>,
    dialled: HashMap<Dialled, Owner>,
    addresses: HashMap<IpAddr, Owner>,
    endpoints: HashMap<(SocketAddr, Protocol), Owner>,
}

impl Owners {
    /// Gathers the ServicePorts of views.
    pub fn of(views: &[NodeView]) -> Owners {
        let mut owners = Owners::default();
        views.iter().flat_map(|view| &view.ports).for_each(|port| owners.add(port));
        owners
    }

    fn add(&mut self, view: &PortView) {
        let port = &view.port;
        let (label, protocol) = (label(&port.key), port.key.protocol);
        let vips = port.load_balancer_vips.iter().chain(&port.external_ips);
        for address in std::iter::once(&port.cluster_ip).chain(vips) {
            add(&mut self.dialled, (Some(*address), protocol, port.port), label);
            add(&mut self.addresses, *address, label);
        }
        if let Some(number) = port.node_port {
            add(&mut self.dialled, (None, protocol, number), label);
        }
        for endpoint in &view.endpoints {
            add(&mut self.endpoints, (endpoint.address, protocol), label);
        }
    }

    /// Adds what the fragments of nftables make.
    pub fn add_nftables(&mut self, plan: &nftables::Plan) {
        for fragment in &plan.fragments {
            let label = label(&fragment.key);
            for claim in &fragment.claims {
                match claim {
                    Claim::Chain(chain) => {
                        self.chains.insert(*chain, label);
                    }
                    Claim::Element(container, element) => {
                        add(&mut self.elements, (container.name(), element.key.clone()), label);
                    }
                }
            }
        }
    }

    /// Adds what the fragments of iptables make.
    pub fn add_iptables(&mut self, plan: &iptables::Plan) {
        for fragment in &plan.fragments {
            let label = label(&fragment.key);
            self.chains.extend(fragment.part.nat.chains.iter().map(|chain| (*chain, label)));
        }
    }

    /// Adds what the fragments of ipvs make.
    pub fn add_ipvs(&mut self, plan: &ipvs::Plan, family: kps_flow::Family) {
        for fragment in &plan.fragments {
            let label = label(&fragment.key);
            for (kind, element) in &fragment.entries {
                add(&mut self.members, (kind.name(family), *element), label);
            }
        }
    }

    /// Returns whose an element of nftables is that is expected.
    pub fn of_element(&self, set: Name, key: &Key) -> Option<String> {
        told(self.elements.get(&(set, key.clone())))
    }

    /// Returns whose an element of an ipset is: the one that makes it, else the one it speaks of.
    pub fn of_member(&self, set: Name, element: ipset::Element) -> Option<String> {
        match self.members.get(&(set, element)) {
            Some(owner) => told(Some(owner)),
            None => self.find(None, &element.to_string()),
        }
    }

    /// Returns the ServicePort of a line, by the chain that it stands in, then by its text.
    pub fn find(&self, chain: Option<&str>, text: &str) -> Option<String> {
        chain.and_then(|chain| self.of_word(chain)).or_else(|| self.of_text(text))
    }

    /// Returns the ServicePort that clients reach by something.
    pub fn of_dialled(&self, dialled: Dialled) -> Option<String> {
        told(self.claimed(dialled))
    }

    /// Tells whether any ServicePort can be reached by something.
    pub fn has(&self, dialled: Dialled) -> bool {
        self.claimed(dialled).is_some()
    }

    fn claimed(&self, dialled: Dialled) -> Option<&Owner> {
        let (_, protocol, port) = dialled;
        self.dialled.get(&dialled).or_else(|| self.dialled.get(&(None, protocol, port)))
    }

    /// Tells whether a ServicePort has an address.
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.addresses.contains_key(&address)
    }

    /// Returns the ServicePort that has an address.
    pub fn of_address(&self, address: IpAddr) -> Option<String> {
        told(self.addresses.get(&address))
    }

    fn of_text(&self, text: &str) -> Option<String> {
        let mut words = text.split([' ', '"', ';']);
        words
            .find_map(|word| self.of_word(word))
            .or_else(|| comments(text).find_map(named_in))
            .or_else(|| self.of_numbers(text))
    }

    /// Returns the ServicePort of the chain that a word names.
    fn of_word(&self, word: &str) -> Option<String> {
        let known = || self.chains.get(&Name::new(word)).map(ToString::to_string);
        word.contains('-').then(known).flatten().or_else(|| named_by_chain(word))
    }

    fn of_numbers(&self, text: &str) -> Option<String> {
        if let Some(owner) = dialled(text).and_then(|dialled| self.dialled.get(&dialled)) {
            return told(Some(owner));
        }
        let address = first_address(text)?;
        let endpoint = dialled(text).and_then(|(_, protocol, port)| {
            self.endpoints.get(&(SocketAddr::new(address, port), protocol))
        });
        told(endpoint.or_else(|| self.addresses.get(&address)))
    }
}

fn label(key: &PortKey) -> Name {
    Name::from(key.to_string())
}

/// Adds an owner to something that others may have, too.
fn add<K: Hash + Eq>(owners: &mut HashMap<K, Owner>, key: K, label: Name) {
    let owner = owners.entry(key).or_insert(Some(label));
    *owner = owner.and_then(|known| shared(known, label));
}

/// Returns whose something is that two have: of two ports of a Service, the Service's.
fn shared(one: Name, other: Name) -> Owner {
    let of = |label: Name| label.as_str().split(':').next().unwrap_or_default();
    if one == other { Some(one) } else { (of(one) == of(other)).then(|| Name::new(of(one))) }
}

fn told(owner: Option<&Owner>) -> Option<String> {
    owner.copied().flatten().map(|label| label.to_string())
}

/// Reads what a line lets clients dial: `ADDR . PROTO . PORT` or `PROTO . PORT` of nftables,
/// `-d ADDR -p PROTO ... --dport PORT` of iptables, `ADDR,PROTO:PORT` of a set.
pub(super) fn dialled(text: &str) -> Option<Dialled> {
    let protocol = words(text).find_map(|word| word.parse::<Protocol>().ok())?;
    Some((first_address(text), protocol, last_number(text)?))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let items = text.split([' ', ',', ';']);
    items
        .flat_map(|item| {
            let parts = item.split_once(':').filter(|(head, _)| head.parse::<Protocol>().is_ok());
            parts.map_or([Some(item), None], |(head, rest)| [Some(head), Some(rest)])
        })
        .flatten()
}

fn first_address(text: &str) -> Option<IpAddr> {
    words(text).find_map(|word| word.split('/').next()?.parse().ok())
}

/// Returns the port of a line: that after `--dport`, else the number after its protocol.
fn last_number(text: &str) -> Option<u16> {
    let mut after = words(text).skip_while(|word| *word != "--dport");
    let given = after.nth(1).and_then(|word| word.parse().ok());
    let mut rest = words(text).skip_while(|word| word.parse::<Protocol>().is_err());
    given.or_else(|| rest.find_map(|word| word.parse().ok()))
}

/// Returns the ServicePort that a chain of nftables names:
/// `KIND-HASH-NAMESPACE/NAME/PROTOCOL/PORT`, for an endpoint with `__ADDRESS/PORT` after it.
fn named_by_chain(chain: &str) -> Option<String> {
    let (_, rest) = chain.split_once('-')?;
    let (hash, base) = rest.split_once('-')?;
    let is_hash =
        hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let base = base.split_once("__").map_or(base, |(base, _)| base);
    let mut parts = base.splitn(4, '/');
    let (namespace, name) = (parts.next()?, parts.next().filter(|_| is_hash)?);
    let (_protocol, port) = (parts.next()?, parts.next()?);
    let port = if port.is_empty() { String::new() } else { format!(":{port}") };
    Some(format!("{namespace}/{name}{port}"))
}

/// Returns the comments of a line: what stands in quotes after the word `comment` or `--comment`.
fn comments(text: &str) -> impl Iterator<Item = &str> {
    text.split("comment \"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// Returns the ServicePort that a comment names, by a word `NAMESPACE/NAME[:PORT]`.
fn named_in(comment: &str) -> Option<String> {
    let is_of_name = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b':');
    let named = |part: &str| !part.is_empty() && part.bytes().all(is_of_name);
    let is_key =
        |word: &&str| word.split_once('/').is_some_and(|(ns, rest)| named(ns) && named(rest));
    comment.split(' ').find(is_key).map(str::to_owned)
}
