//! `ip -o addr show`.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{each_line, word_after};
use crate::Parsed;
use crate::host::{Address, Scope};

/// Reads `ip -o addr show`, one address a line: `3: eth0    inet 192.0.2.10/24 scope global eth0\ …`.
#[must_use]
pub fn parse_addresses(text: &str) -> Parsed<Vec<Address>> {
    each_line(text, address)
}

fn address(text: &str) -> Result<Option<Address>, &'static str> {
    let shown = text.split('\\').next().unwrap_or(text);
    let fields: Vec<&str> = shown.split_whitespace().collect();
    let [_, link, family, written, ..] = fields[..] else { return Err("an address") };
    if !matches!(family, "inet" | "inet6") {
        return Ok(None);
    }
    let network = network(written, word_after(&fields, "peer")).ok_or("an address")?;
    let scope = scope(word_after(&fields, "scope").unwrap_or("global")).ok_or("a scope")?;
    let link = link.split(['@', ':']).next().unwrap_or(link).into();
    Ok(Some(Address { link, network, scope }))
}

/// Reads `ADDRESS/LENGTH`; an address with a peer has none of its own and covers only itself.
fn network(written: &str, peer: Option<&str>) -> Option<IpNet> {
    if peer.is_none() && written.contains('/') {
        return written.parse().ok();
    }
    let address: IpAddr = written.split('/').next()?.parse().ok()?;
    Some(IpNet::from(address))
}

fn scope(word: &str) -> Option<Scope> {
    Some(match word {
        "global" | "0" => Scope::Global,
        "site" => Scope::Site,
        "link" => Scope::Link,
        "host" => Scope::Host,
        _ => return None,
    })
}
