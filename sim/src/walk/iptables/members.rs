//! IP sets as tables, for a walk that stands for a class of packets.

use std::net::IpAddr;

use ipnet::IpNet;
use kps_ruleset::Name;
use kps_ruleset::ipset::{Element, Port, SetType};
use kps_ruleset::iptables::Side;
use smallvec::{SmallVec, smallvec};

use super::lookup::{Set, side_of};
use crate::classes::line::Span;
use crate::classes::region::Asked;
use crate::classes::table::{Key, Row, Table};
use crate::classes::watch::TableKey;
use crate::host::places::span;
use crate::walk::branch::Branch;

impl Branch {
    /// It is asked whether a set has the packet.
    pub(super) fn asks_set(&self, name: Name, set: &Set, sides: &[Side]) {
        let Some(watch) = self.watch() else { return };
        if set.kind() == SetType::HashNetIface {
            self.asks_input();
        }
        let table = watch.table(TableKey::IpSet(name), || table_of(set));
        table.narrow(watch, &self.key(set.kind(), sides));
    }

    fn key(&self, kind: SetType, sides: &[Side]) -> SmallVec<[Key; 4]> {
        let address = |part: usize| {
            Key::Asked(Asked::Address(match side_of(sides, part) {
                Side::Source => self.packet.source,
                Side::Destination => self.packet.destination,
            }))
        };
        let protocol = Key::Known(self.packet.protocol.number().into());
        let port = |part: usize| {
            let port = match side_of(sides, part) {
                Side::Source => self.packet.source_port,
                Side::Destination => self.packet.destination_port,
            };
            let asked = port.filter(|_| self.packet.protocol.has_ports());
            asked.map_or(Key::Any, |port| Key::Asked(Asked::Port(port)))
        };
        match kind {
            SetType::BitmapPort => smallvec![protocol, port(0)],
            SetType::HashIpPort | SetType::HashNetPort => {
                smallvec![address(0), protocol, port(1)]
            }
            SetType::HashIpPortIp | SetType::HashIpPortNet | SetType::HashNetPortNet => {
                smallvec![address(0), protocol, port(1), address(2)]
            }
            SetType::HashNetNet => smallvec![address(0), address(1)],
            _ => smallvec![address(0)],
        }
    }
}

fn table_of(set: &Set) -> Table {
    let row = |(element, nomatch): (&Element, bool)| {
        let spans = spans(element, set.length())?;
        Some(Row { spans, gives: nomatch.into() })
    };
    Table::new(set.elements().filter_map(row).collect())
}

/// Returns what an element asks of each part of the key. A set of addresses may hold one for each
/// network of a length.
fn spans(element: &Element, length: Option<u8>) -> Option<SmallVec<[Span; 3]>> {
    let one = |address: IpAddr| span(IpNet::from(address));
    let around = |address: IpAddr| {
        let network = length.and_then(|length| IpNet::new(address, length).ok());
        span(network.unwrap_or_else(|| IpNet::from(address)))
    };
    Some(match *element {
        Element::Ip(address) | Element::IpMark(address, _) => smallvec![around(address)],
        Element::Net(network) | Element::NetIface { network, .. } => smallvec![span(network)],
        Element::NetNet(one, two) => smallvec![span(one), span(two)],
        Element::IpPort(address, at) => smallvec![around(address), protocol(at), port(at)],
        Element::NetPort(network, at) => smallvec![span(network), protocol(at), port(at)],
        Element::IpPortIp(from, at, to) => smallvec![one(from), protocol(at), port(at), one(to)],
        Element::IpPortNet(from, at, to) => smallvec![one(from), protocol(at), port(at), span(to)],
        Element::NetPortNet(from, at, to) => {
            smallvec![span(from), protocol(at), port(at), span(to)]
        }
        Element::Port(at) => smallvec![(0, u128::from(u8::MAX)), (at.into(), at.into())],
        _ => return None,
    })
}

fn protocol(at: Port) -> Span {
    (at.protocol.0.into(), at.protocol.0.into())
}

fn port(at: Port) -> Span {
    (at.port.into(), at.port.into())
}
