//! Packets: probes, and what is seen of them.
//!
//! A probe carries its number where no rule changes it: in the initial sequence number of TCP, the
//! initiate tag of SCTP, the payload of UDP and ICMP. Errors quote it.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpNumber, LaxIpSlice, PacketBuilder};
use kps_flow::{Protocol, RejectKind};

/// Marks numbers as ours.
const OURS: u32 = 0xA5 << 24;

/// A probe: the first packet of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// Which one.
    pub number: u32,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its source.
    pub source: SocketAddr,
    /// Its destination.
    pub destination: SocketAddr,
}

/// A probe, or an error about one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Which probe.
    pub number: u32,
    /// What was seen.
    pub what: Sighting,
}

/// What was seen of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighting {
    /// The probe itself.
    Probe {
        /// Its source now.
        source: SocketAddr,
        /// Its destination now.
        destination: SocketAddr,
    },
    /// An error about it.
    Refused(RejectKind),
}

impl Probe {
    /// Returns the packet, from the IP header on; `None` where the addresses are of two families.
    pub fn packet(&self) -> Option<Vec<u8>> {
        let builder = match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => PacketBuilder::ipv4(a.octets(), b.octets(), 64),
            (IpAddr::V6(a), IpAddr::V6(b)) => PacketBuilder::ipv6(a.octets(), b.octets(), 64),
            _ => return None,
        };
        let (from, to) = (self.source.port(), self.destination.port());
        let tag = OURS | self.number;
        let payload = tag.to_be_bytes();
        let mut bytes = Vec::new();
        let written = match self.protocol {
            Protocol::Tcp => builder.tcp(from, to, tag, 64_240).syn().write(&mut bytes, &[]),
            Protocol::Udp => builder.udp(from, to).write(&mut bytes, &payload),
            Protocol::Icmp => builder.icmpv4_echo_request(from, 1).write(&mut bytes, &payload),
            Protocol::Icmpv6 => builder.icmpv6_echo_request(from, 1).write(&mut bytes, &payload),
            Protocol::Sctp => builder.write(&mut bytes, IpNumber::SCTP, &init(from, to, tag)),
        };
        written.ok().map(|()| bytes)
    }
}

/// Returns an SCTP packet with an INIT chunk (RFC 9260, 3.3.2).
fn init(from: u16, to: u16, tag: u32) -> Vec<u8> {
    let mut bytes = [from.to_be_bytes(), to.to_be_bytes()].concat();
    bytes.extend([0; 8]);
    bytes.extend([1, 0, 0, 20]);
    bytes.extend(tag.to_be_bytes());
    bytes.extend([0, 0, 0xff, 0xff, 0, 1, 0, 1]);
    bytes.extend(tag.to_be_bytes());
    let checksum = crc32c::crc32c(&bytes).to_le_bytes();
    bytes.splice(8..12, checksum);
    bytes
}

/// Reads a packet from its IP header on.
pub fn read(bytes: &[u8]) -> Option<Seen> {
    let (ip, _) = LaxIpSlice::from_slice(bytes).ok()?;
    let payload = ip.payload();
    let protocol = Protocol::from_number(payload.ip_number.0)?;
    transport(protocol, ip.source_addr(), ip.destination_addr(), payload.payload)
}

/// Reads what follows the IP header.
pub fn transport(protocol: Protocol, from: IpAddr, to: IpAddr, bytes: &[u8]) -> Option<Seen> {
    if let Some(kind) = error_kind(protocol, bytes) {
        let number = read(bytes.get(8..)?)?.number;
        return Some(Seen { number, what: Sighting::Refused(kind) });
    }
    let ports = match protocol {
        Protocol::Tcp | Protocol::Udp | Protocol::Sctp => (u16_at(bytes, 0)?, u16_at(bytes, 2)?),
        Protocol::Icmp | Protocol::Icmpv6 => (u16_at(bytes, 4)?, 0),
    };
    let tag = match protocol {
        // An answer to a SYN has RST or ACK.
        Protocol::Tcp if bytes.get(13).is_some_and(|flags| flags & 0x14 != 0) => return None,
        Protocol::Tcp => u32_at(bytes, 4)?,
        Protocol::Udp => u32_at(bytes, 8)?,
        Protocol::Sctp => u32_at(bytes, 16)?,
        Protocol::Icmp if bytes.first() == Some(&8) => u32_at(bytes, 8)?,
        Protocol::Icmpv6 if bytes.first() == Some(&128) => u32_at(bytes, 8)?,
        Protocol::Icmp | Protocol::Icmpv6 => return None,
    };
    let what = Sighting::Probe {
        source: SocketAddr::new(from, ports.0),
        destination: SocketAddr::new(to, ports.1),
    };
    (tag & 0xff << 24 == OURS).then_some(Seen { number: tag & 0xff_ffff, what })
}

fn error_kind(protocol: Protocol, bytes: &[u8]) -> Option<RejectKind> {
    match (protocol, bytes) {
        (Protocol::Icmp, [3, code, ..]) => Some(RejectKind::Icmp(*code)),
        (Protocol::Icmpv6, [1, code, ..]) => Some(RejectKind::Icmpv6(*code)),
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
