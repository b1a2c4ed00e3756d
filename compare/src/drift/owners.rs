//! Which ServicePort a line belongs to.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use kps_flow::Protocol;
use kps_model::{NodeView, PortKey, PortView};
use kps_ruleset::Name;

/// An address, protocol and port that clients dial; node ports have no address.
pub(super) type Dialled = (Option<IpAddr>, Protocol, u16);

/// The ServicePorts by what lines say of them.
#[derive(Debug, Default)]
pub(super) struct Owners {
    chains: HashMap<String, String>,
    dialled: HashMap<Dialled, String>,
    addresses: HashMap<IpAddr, String>,
    endpoints: HashMap<SocketAddr, String>,
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
        let (label, protocol) = (port.key.to_string(), port.key.protocol);
        let vips = port.load_balancer_vips.iter().chain(&port.external_ips);
        for address in std::iter::once(&port.cluster_ip).chain(vips) {
            let dialled = (Some(*address), protocol, port.port);
            self.dialled.entry(dialled).or_insert_with(|| label.clone());
            self.addresses.entry(*address).or_insert_with(|| label.clone());
        }
        if let Some(number) = port.node_port {
            self.dialled.entry((None, protocol, number)).or_insert_with(|| label.clone());
        }
        for endpoint in &view.endpoints {
            self.endpoints.entry(endpoint.address).or_insert_with(|| label.clone());
        }
    }

    /// Adds the chains that are made for a ServicePort.
    pub fn add_chains(&mut self, key: &PortKey, chains: &[Name]) {
        self.chains.extend(chains.iter().map(|chain| (chain.to_string(), key.to_string())));
    }

    /// Returns the ServicePort of a line, by the chain that it stands in, then by its text.
    pub fn find(&self, chain: Option<&str>, text: &str) -> Option<String> {
        chain.and_then(|chain| self.of_word(chain)).or_else(|| self.of_text(text))
    }

    /// Returns the ServicePort that clients reach by something.
    pub fn of_dialled(&self, dialled: Dialled) -> Option<String> {
        let (_, protocol, port) = dialled;
        let by_address = self.dialled.get(&dialled);
        by_address.or_else(|| self.dialled.get(&(None, protocol, port))).cloned()
    }

    fn of_text(&self, text: &str) -> Option<String> {
        let mut words = text.split([' ', '"', ';']);
        words
            .find_map(|word| self.of_word(word))
            .or_else(|| comments(text).find_map(named_in))
            .or_else(|| self.dialled.get(&dialled(text)?).cloned())
            .or_else(|| self.of_address(text))
    }

    /// Returns the ServicePort of the chain that a word names.
    fn of_word(&self, word: &str) -> Option<String> {
        self.chains.get(word).cloned().or_else(|| named_by_chain(word))
    }

    fn of_address(&self, text: &str) -> Option<String> {
        let (address, port) = (first_address(text)?, last_number(text));
        let endpoint = port.and_then(|port| self.endpoints.get(&SocketAddr::new(address, port)));
        endpoint.or_else(|| self.addresses.get(&address)).cloned()
    }
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
