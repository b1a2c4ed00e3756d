//! Addresses and prefixes as Kubernetes reads them.
//!
//! Kubernetes parses leniently what old API servers accepted: leading zeros in IPv4 octets are
//! decimal (`k8s.io/utils/net`, `ParseIPSloppy`). Everything is printed canonically afterwards.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

/// Reads an address; leading zeros in IPv4 octets are allowed and decimal. An IPv4 address mapped
/// into IPv6 is the IPv4 address, as in Go.
#[must_use]
pub fn parse_address(text: &str) -> Option<IpAddr> {
    let address = text.parse().ok().or_else(|| parse_with_zeros(text).map(IpAddr::V4))?;
    Some(IpAddr::to_canonical(&address))
}

fn parse_with_zeros(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// Reads a prefix and masks it: `203.0.113.7/25` is `203.0.113.0/25`.
#[must_use]
pub fn parse_prefix(text: &str) -> Option<IpNet> {
    let (address, length) = text.split_once('/')?;
    if length.len() > 1 && length.starts_with('0') || !length.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let net = IpNet::new(parse_address(address)?, length.parse().ok()?).ok()?;
    Some(net.trunc())
}

/// Returns the prefix that holds one address.
#[must_use]
pub fn host_prefix(address: IpAddr) -> IpNet {
    IpNet::from(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_are_decimal() {
        assert_eq!(parse_address("010.0.00.001"), parse_address("10.0.0.1"));
        assert_eq!(parse_address("10.0.0"), None);
        assert_eq!(parse_address("10.0.0.256"), None);
        assert_eq!(parse_address("::ffff:10.0.0.1"), parse_address("10.0.0.1"));
    }

    #[test]
    fn prefixes_are_masked() {
        assert_eq!(parse_prefix("203.0.113.7/25").unwrap().to_string(), "203.0.113.0/25");
        assert_eq!(parse_prefix("fd00:1::7/64").unwrap().to_string(), "fd00:1::/64");
        assert_eq!(parse_prefix("10.0.0.0"), None);
        assert_eq!(parse_prefix("10.0.0.0/33"), None);
    }
}
