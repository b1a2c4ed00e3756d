//! Elements as text.

use std::fmt;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::ast::{Element, Family, Port, SetType};
use super::icmp;
use crate::Name;
use crate::protocol::Protocol;

/// The most elements that one text may stand for: ranges of addresses and ports.
const MOST: usize = 1 << 17;

/// Reads the element of a set of a type and family. A range of addresses or ports stands for several
/// elements. `None` if the text is none of that type.
#[must_use]
pub fn parse(text: &str, kind: SetType, family: Family) -> Option<Vec<Element>> {
    let mut parts = text.split(',');
    let mut next = || parts.next();
    let elements = match kind {
        SetType::BitmapPort => {
            port_numbers(next()?.rsplit(':').next()?)?.map(Element::Port).collect()
        }
        SetType::HashIp | SetType::BitmapIp => {
            addresses(next()?, family)?.map(Element::Ip).collect()
        }
        SetType::HashNet => vec![Element::Net(network(next()?, family)?)],
        SetType::HashMac => vec![Element::Mac(mac(next()?)?)],
        SetType::HashIpMac => vec![Element::IpMac(address(next()?, family)?, Some(mac(next()?)?))],
        SetType::BitmapIpMac => {
            let address = address(next()?, family)?;
            vec![Element::IpMac(address, next().map(|text| mac(text).ok_or(())).transpose().ok()?)]
        }
        SetType::HashIpMark => vec![Element::IpMark(address(next()?, family)?, mark(next()?)?)],
        SetType::HashNetIface => vec![net_iface(next()?, next()?, family)?],
        SetType::HashNetNet => {
            vec![Element::NetNet(network(next()?, family)?, network(next()?, family)?)]
        }
        SetType::ListSet => vec![Element::Set(Name::new(next()?))],
        SetType::Other(_) => return Some(vec![Element::Other(Name::new(text))]),
        _ => return with_port(kind, family, [next()?, next()?], next()),
    };
    if next().is_some() { None } else { Some(elements) }
}

/// Reads an element that has an address or network first and a port second.
fn with_port(
    kind: SetType,
    family: Family,
    [first, port]: [&str; 2],
    third: Option<&str>,
) -> Option<Vec<Element>> {
    if third.is_some() == matches!(kind, SetType::HashIpPort | SetType::HashNetPort) {
        return None;
    }
    let ports = || ports(port);
    Some(match kind {
        SetType::HashNetPort => {
            let network = network(first, family)?;
            ports()?.map(|port| Element::NetPort(network, port)).collect()
        }
        SetType::HashNetPortNet => {
            let (from, to) = (network(first, family)?, network(third?, family)?);
            ports()?.map(|port| Element::NetPortNet(from, port, to)).collect()
        }
        SetType::HashIpPort => product(first, family, &ports()?, Element::IpPort)?,
        SetType::HashIpPortIp => {
            let last = address(third?, family)?;
            product(first, family, &ports()?, |ip, port| Element::IpPortIp(ip, port, last))?
        }
        _ => {
            let last = network(third?, family)?;
            product(first, family, &ports()?, |ip, port| Element::IpPortNet(ip, port, last))?
        }
    })
}

/// Makes an element of each address with each port.
fn product(
    text: &str,
    family: Family,
    ports: &(impl Iterator<Item = Port> + Clone),
    make: impl Fn(IpAddr, Port) -> Element,
) -> Option<Vec<Element>> {
    let make = &make;
    let all = addresses(text, family)?.flat_map(|ip| ports.clone().map(move |port| make(ip, port)));
    let elements: Vec<Element> = all.take(MOST + 1).collect();
    (elements.len() <= MOST).then_some(elements)
}

fn address(text: &str, family: Family) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    (address.is_ipv6() == (family == Family::Inet6)).then_some(address)
}

/// Reads `NETWORK`; host bits are dropped.
fn network(text: &str, family: Family) -> Option<IpNet> {
    match text.split_once('/') {
        None => address(text, family).map(IpNet::from),
        Some((base, length)) => {
            IpNet::new(address(base, family)?, length.parse().ok()?).ok().map(|net| net.trunc())
        }
    }
}

/// Reads `ADDRESS`, `FIRST-LAST` or `NETWORK` as addresses, as few as a set can hold.
fn addresses(text: &str, family: Family) -> Option<impl Iterator<Item = IpAddr> + Clone> {
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (address(first, family)?, address(last, family)?),
        None => bounds(network(text, family)?),
    };
    let (first, last) = (bits(first), bits(last));
    let fits = first <= last && last - first < MOST as u128;
    fits.then(|| (first..=last).map(move |bits| from_bits(bits, family)))
}

fn bounds(network: IpNet) -> (IpAddr, IpAddr) {
    match network {
        IpNet::V4(net) => (net.network().into(), Ipv4Net::broadcast(&net).into()),
        IpNet::V6(net) => (net.network().into(), Ipv6Net::broadcast(&net).into()),
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => u128::from(u32::from(a)),
        IpAddr::V6(a) => u128::from(a),
    }
}

fn from_bits(bits: u128, family: Family) -> IpAddr {
    match (family, u32::try_from(bits)) {
        (Family::Inet, Ok(bits)) => IpAddr::V4(bits.into()),
        _ => IpAddr::V6(bits.into()),
    }
}

/// Reads `[PROTOCOL:]PORT[-PORT]`; the protocol is TCP if nothing is said.
fn ports(text: &str) -> Option<impl Iterator<Item = Port> + Clone> {
    let (protocol, port) = text.split_once(':').unwrap_or(("tcp", text));
    let protocol = Protocol::parse(protocol)?;
    let (first, last) = match protocol {
        Protocol::ICMP | Protocol::ICMPV6 => {
            let port = icmp::parse(protocol, port)?;
            (port, port)
        }
        Protocol::TCP | Protocol::UDP | Protocol::SCTP | Protocol::UDPLITE => port_bounds(port)?,
        _ => Some((0, 0)).filter(|_| port == "0")?,
    };
    Some((first..=last).map(move |port| Port { protocol, port }))
}

fn port_numbers(text: &str) -> Option<impl Iterator<Item = u16>> {
    let (first, last) = port_bounds(text)?;
    Some(first..=last)
}

/// Reads `PORT[-PORT]`; the tool turns a range round that is the wrong way.
fn port_bounds(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    Some((first.min(last), first.max(last)))
}

fn net_iface(net: &str, interface: &str, family: Family) -> Option<Element> {
    let (physdev, name) = match interface.strip_prefix("physdev:") {
        Some(name) => (true, name),
        None => (false, interface),
    };
    let interface = Name::new(name);
    Some(Element::NetIface { network: network(net, family)?, interface, physdev })
}

fn mark(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn mac(text: &str) -> Option<[u8; 6]> {
    let mut parts = text.split(':');
    let mut mac = [0; 6];
    for byte in &mut mac {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Ip(ip) | Element::IpMac(ip, None) => write!(f, "{ip}"),
            Element::IpMac(ip, Some(mac)) => write!(f, "{ip},{}", Mac(*mac)),
            Element::IpMark(ip, mark) => write!(f, "{ip},{mark:#010x}"),
            Element::IpPort(ip, port) => write!(f, "{ip},{port}"),
            Element::IpPortIp(ip, port, last) => write!(f, "{ip},{port},{last}"),
            Element::IpPortNet(ip, port, net) => write!(f, "{ip},{port},{}", Net(*net)),
            Element::Mac(mac) => write!(f, "{}", Mac(*mac)),
            Element::Net(net) => write!(f, "{}", Net(*net)),
            Element::NetIface { network, interface, physdev } => {
                let physdev = if *physdev { "physdev:" } else { "" };
                write!(f, "{},{physdev}{interface}", Net(*network))
            }
            Element::NetNet(from, to) => write!(f, "{},{}", Net(*from), Net(*to)),
            Element::NetPort(net, port) => write!(f, "{},{port}", Net(*net)),
            Element::NetPortNet(from, port, to) => write!(f, "{},{port},{}", Net(*from), Net(*to)),
            Element::Port(port) => write!(f, "{port}"),
            Element::Set(text) | Element::Other(text) => write!(f, "{text}"),
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Port { protocol, port } = *self;
        match protocol {
            Protocol::ICMP | Protocol::ICMPV6 => match icmp::name(protocol, port) {
                Some(name) => write!(f, "{protocol}:{name}"),
                None => write!(f, "{protocol}:{}/{}", port >> 8, port & 0xff),
            },
            _ => write!(f, "{protocol}:{port}"),
        }
    }
}

/// A network, without the length of a full prefix.
struct Net(IpNet);

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            self.0.addr().fmt(f)
        } else {
            self.0.fmt(f)
        }
    }
}

struct Mac([u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.map(|byte| format!("{byte:02X}"));
        f.write_str(&bytes.join(":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, kind: SetType, family: Family) -> Vec<String> {
        let elements = parse(text, kind, family).unwrap_or_default();
        elements.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranges_stand_for_several_elements() {
        let read = |text, kind| read(text, kind, Family::Inet);
        assert_eq!(
            read("10.0.0.0/31,udp:53-54", SetType::HashIpPort),
            ["10.0.0.0,udp:53", "10.0.0.0,udp:54", "10.0.0.1,udp:53", "10.0.0.1,udp:54"]
        );
        assert_eq!(read("82-80", SetType::BitmapPort), ["80", "81", "82"]);
        assert_eq!(read("1.1.1.1-1.1.1.2", SetType::HashIp), ["1.1.1.1", "1.1.1.2"]);
        assert!(parse("0.0.0.0/0", SetType::HashIp, Family::Inet).is_none());
    }

    #[test]
    fn icmp_has_names_and_other_protocols_only_port_zero() {
        let read = |text| read(text, SetType::HashIpPort, Family::Inet);
        assert_eq!(read("1.1.1.1,icmp:3/4"), ["1.1.1.1,icmp:fragmentation-needed"]);
        assert_eq!(read("1.1.1.1,icmp:200/3"), ["1.1.1.1,icmp:200/3"]);
        assert_eq!(read("1.1.1.1,47:0"), ["1.1.1.1,gre:0"]);
        assert_eq!(read("1.1.1.1,80"), ["1.1.1.1,tcp:80"]);
        for bad in ["1.1.1.1,esp:5", "1.1.1.1,foo:3", "1.1.1.1,tcp:70000", "1.1.1.1", "::1,tcp:1"] {
            assert!(read(bad).is_empty(), "{bad}");
        }
    }

    #[test]
    fn networks_lose_host_bits_and_a_full_length() {
        let read = |text, family| read(text, SetType::HashIpPortNet, family);
        assert_eq!(read("1.2.3.4,tcp:80,10.1.2.3/8", Family::Inet), ["1.2.3.4,tcp:80,10.0.0.0/8"]);
        assert_eq!(read("fd00::1,tcp:80,fd00::2/128", Family::Inet6), ["fd00::1,tcp:80,fd00::2"]);
    }
}
