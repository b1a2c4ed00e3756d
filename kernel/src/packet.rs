//! Packets: probes, answers to them, and what is seen of both.
//!
//! A probe carries its number where no rule changes it: in the initial sequence number of TCP, the
//! initiate tag of SCTP, the payload of UDP and ICMP. Errors quote it. An answer gives it back: as
//! what TCP acknowledges, SCTP verifies, ICMP echoes; UDP has it in its payload with another mark.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpHeaders, IpNumber, LaxIpSlice, PacketBuilder, PacketBuilderStep};
use kps_flow::{Protocol, RejectKind};

/// Marks numbers of probes.
const OURS: u32 = 0xA5 << 24;
/// Marks numbers in answers of protocols that give nothing back.
const ANSWER: u32 = 0x5A << 24;

/// A probe: the first packet of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// Which one.
    pub number: u32,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its source and destination.
    pub ends: Ends,
}

/// A probe, an answer to one, or an error about one.
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
    Probe(Ends),
    /// The answer to it.
    Answer(Ends),
    /// An error about it.
    Refused(RejectKind),
}

/// Where a packet comes from and goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Its source.
    pub source: SocketAddr,
    /// Its destination.
    pub destination: SocketAddr,
}

impl Probe {
    /// Returns the packet, from the IP header on; `None` where the addresses are of two families.
    pub fn packet(&self) -> Option<Vec<u8>> {
        let builder = header(self.ends)?;
        let (from, to) = self.ends.ports();
        let tag = OURS | self.number;
        let payload = tag.to_be_bytes();
        let mut bytes = Vec::new();
        let written = match self.protocol {
            Protocol::Tcp => builder.tcp(from, to, tag, 64_240).syn().write(&mut bytes, &[]),
            Protocol::Udp => builder.udp(from, to).write(&mut bytes, &payload),
            Protocol::Icmp => builder.icmpv4_echo_request(from, 1).write(&mut bytes, &payload),
            Protocol::Icmpv6 => builder.icmpv6_echo_request(from, 1).write(&mut bytes, &payload),
            Protocol::Sctp => {
                builder.write(&mut bytes, IpNumber::SCTP, &sctp((from, to), 0, INIT, tag))
            }
        };
        written.ok().map(|()| bytes)
    }

    /// Returns the answer of whoever got the probe with these ends.
    pub fn answer(&self, seen: Ends) -> Option<Vec<u8>> {
        let builder = header(seen.back())?;
        let (from, to) = seen.back().ports();
        let (tag, own) = (OURS | self.number, ANSWER | self.number);
        let payload = tag.to_be_bytes();
        let mut bytes = Vec::new();
        let written = match self.protocol {
            Protocol::Tcp => {
                let segment = builder.tcp(from, to, own, 64_240).syn().ack(tag + 1);
                segment.write(&mut bytes, &[])
            }
            Protocol::Udp => builder.udp(from, to).write(&mut bytes, &own.to_be_bytes()),
            Protocol::Icmp => builder.icmpv4_echo_reply(to, 1).write(&mut bytes, &payload),
            Protocol::Icmpv6 => builder.icmpv6_echo_reply(to, 1).write(&mut bytes, &payload),
            Protocol::Sctp => {
                builder.write(&mut bytes, IpNumber::SCTP, &sctp((from, to), tag, INIT_ACK, own))
            }
        };
        written.ok().map(|()| bytes)
    }
}

impl Ends {
    /// Returns the ends of a packet that goes back.
    pub fn back(self) -> Ends {
        Ends { source: self.destination, destination: self.source }
    }

    fn ports(self) -> (u16, u16) {
        (self.source.port(), self.destination.port())
    }
}

fn header(ends: Ends) -> Option<PacketBuilderStep<IpHeaders>> {
    match (ends.source.ip(), ends.destination.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Some(PacketBuilder::ipv4(a.octets(), b.octets(), 64)),
        (IpAddr::V6(a), IpAddr::V6(b)) => Some(PacketBuilder::ipv6(a.octets(), b.octets(), 64)),
        _ => None,
    }
}

const INIT: u8 = 1;
const INIT_ACK: u8 = 2;

/// Returns an SCTP packet with a chunk INIT or INIT ACK (RFC 9260, 3.3.2 and 3.3.3).
fn sctp((from, to): (u16, u16), verification: u32, kind: u8, tag: u32) -> Vec<u8> {
    let mut bytes = [from.to_be_bytes(), to.to_be_bytes()].concat();
    bytes.extend(verification.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend([kind, 0, 0, 20]);
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
        let quoted = read(bytes.get(8..)?)?;
        let about_probe = matches!(quoted.what, Sighting::Probe(_));
        return about_probe
            .then_some(Seen { number: quoted.number, what: Sighting::Refused(kind) });
    }
    let ports = match protocol {
        Protocol::Tcp | Protocol::Udp | Protocol::Sctp => (u16_at(bytes, 0)?, u16_at(bytes, 2)?),
        Protocol::Icmp => echo_ports(bytes, 8)?,
        Protocol::Icmpv6 => echo_ports(bytes, 128)?,
    };
    let ends =
        Ends { source: SocketAddr::new(from, ports.0), destination: SocketAddr::new(to, ports.1) };
    let probed = probe_tag(protocol, bytes).and_then(|tag| number(tag, OURS));
    let answered = || answer_number(protocol, bytes);
    let probe = probed.map(|number| Seen { number, what: Sighting::Probe(ends) });
    probe.or_else(|| answered().map(|number| Seen { number, what: Sighting::Answer(ends) }))
}

/// An echo's identifier is the port of who asks.
fn echo_ports(bytes: &[u8], request: u8) -> Option<(u16, u16)> {
    let identifier = u16_at(bytes, 4)?;
    Some(if bytes.first() == Some(&request) { (identifier, 0) } else { (0, identifier) })
}

fn probe_tag(protocol: Protocol, bytes: &[u8]) -> Option<u32> {
    match protocol {
        Protocol::Tcp if flags(bytes) & (RST | ACK) == 0 => u32_at(bytes, 4),
        Protocol::Udp => u32_at(bytes, 8),
        Protocol::Sctp if bytes.get(12) == Some(&INIT) => u32_at(bytes, 16),
        Protocol::Icmp if bytes.first() == Some(&8) => u32_at(bytes, 8),
        Protocol::Icmpv6 if bytes.first() == Some(&128) => u32_at(bytes, 8),
        _ => None,
    }
}

/// Returns the number of the probe that a packet answers; a refusal of a TCP port is an answer, too.
fn answer_number(protocol: Protocol, bytes: &[u8]) -> Option<u32> {
    match protocol {
        Protocol::Tcp if flags(bytes) & ACK != 0 => number(u32_at(bytes, 8)?.wrapping_sub(1), OURS),
        Protocol::Udp => number(u32_at(bytes, 8)?, ANSWER),
        Protocol::Sctp if bytes.get(12) == Some(&INIT_ACK) => number(u32_at(bytes, 4)?, OURS),
        Protocol::Icmp if bytes.first() == Some(&0) => number(u32_at(bytes, 8)?, OURS),
        Protocol::Icmpv6 if bytes.first() == Some(&129) => number(u32_at(bytes, 8)?, OURS),
        _ => None,
    }
}

const RST: u8 = 0x04;
const ACK: u8 = 0x10;

fn flags(bytes: &[u8]) -> u8 {
    bytes.get(13).copied().unwrap_or_default()
}

/// Returns the number in a tag with this mark.
fn number(tag: u32, mark: u32) -> Option<u32> {
    (tag & 0xff << 24 == mark).then_some(tag & 0xff_ffff)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn probes() -> impl Iterator<Item = Probe> {
        let v4 = ("10.244.0.5:10007", "10.96.0.1:80");
        let v6 = ("[fd00:10:244::5]:10007", "[fd00:10:96::1]:80");
        let with_ports = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];
        let probe = |protocol, (source, destination): (&str, &str)| {
            let mut ends =
                Ends { source: source.parse().unwrap(), destination: destination.parse().unwrap() };
            if !Protocol::has_ports(protocol) {
                ends.destination.set_port(0);
            }
            Probe { number: 7, protocol, ends }
        };
        let echoes = [probe(Protocol::Icmp, v4), probe(Protocol::Icmpv6, v6)];
        let both = move |protocol| [probe(protocol, v4), probe(protocol, v6)];
        with_ports.into_iter().flat_map(both).chain(echoes)
    }

    #[test]
    fn a_probe_is_known_by_its_number() {
        for probe in probes() {
            let seen = read(&probe.packet().unwrap());
            let what = Sighting::Probe(probe.ends);
            assert_eq!(seen, Some(Seen { number: 7, what }), "{probe:?}");
        }
    }

    #[test]
    fn an_answer_is_known_by_the_number_of_its_probe() {
        for probe in probes() {
            let seen = read(&probe.answer(probe.ends).unwrap());
            let what = Sighting::Answer(probe.ends.back());
            assert_eq!(seen, Some(Seen { number: 7, what }), "{probe:?}");
        }
    }

    #[test]
    fn an_error_is_about_what_it_quotes() {
        let refused = |quoted: &[u8]| {
            let error = [&[3, 3, 0, 0, 0, 0, 0, 0], quoted].concat();
            let (from, to) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
            transport(Protocol::Icmp, from, to, &error)
        };
        for probe in probes() {
            let what = Sighting::Refused(RejectKind::Icmp(3));
            assert_eq!(refused(&probe.packet().unwrap()), Some(Seen { number: 7, what }));
            assert_eq!(refused(&probe.answer(probe.ends).unwrap()), None);
        }
    }
}
