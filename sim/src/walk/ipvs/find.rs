//! Finds the virtual server of a packet (`ip_vs_service_find` of `net/netfilter/ipvs/ip_vs_ctl.c`).

use kps_ruleset::ipvs::{ServiceId, Table, VirtualServer};
use kps_ruleset::{Name, Protocol};
use smallvec::smallvec;

use super::is_for;
use crate::classes::line::Span;
use crate::classes::region::{Asked, number};
use crate::classes::table::{self, Key, Row};
use crate::classes::watch::TableKey;
use crate::packet::Packet;
use crate::walk::ask::PORTS;
use crate::walk::branch::{Branch, Interrupt};

/// A node's virtual servers, with those apart that are not found by address and port alone.
#[derive(Debug)]
pub(crate) struct Services<'a> {
    table: &'a Table,
    by_mark: Vec<(u32, ServiceId)>,
    /// Whether one answers to any port.
    any_port: bool,
    /// Whether one is for FTP, whose data connections it then takes too.
    ftp: bool,
}

/// The port of FTP's commands (`FTPPORT`).
pub(super) const FTP: u16 = 21;
/// The port of FTP's data (`FTPDATA`).
const FTP_DATA: u16 = 20;
/// The first port that an ordinary process may use (`net.ipv4.ip_unprivileged_port_start`).
const UNPRIVILEGED: u16 = 1024;

impl<'a> Services<'a> {
    pub(crate) fn new(table: &'a Table) -> Services<'a> {
        let has_port = |wanted: u16| {
            let is =
                |id: &ServiceId| matches!(id, ServiceId::Address { port, .. } if *port == wanted);
            table.services.keys().any(is)
        };
        let by_mark = table.services.keys().filter_map(|id| match id {
            ServiceId::Mark { mark, .. } => Some((*mark, *id)),
            ServiceId::Address { .. } => None,
        });
        Services { table, by_mark: by_mark.collect(), any_port: has_port(0), ftp: has_port(FTP) }
    }

    /// Returns the virtual server of the packet: one by mark comes before one by address, an exact
    /// port before any port.
    pub(super) fn find(
        &self,
        branch: &mut Branch,
    ) -> Result<Option<(ServiceId, &'a VirtualServer)>, Interrupt> {
        let packet = branch.packet;
        for (mark, id) in &self.by_mark {
            if is_for(*id, packet.family()) && has_mark(&packet, *mark, branch)? {
                return Ok(self.table.services.get(id).map(|server| (*id, server)));
            }
        }
        self.asks(branch);
        Ok(packet.destination_port.and_then(|port| self.by_address(&packet, port)))
    }

    /// The look-up as a table: each server has its address and the ports that it may be found by.
    fn asks(&self, branch: &Branch) {
        let (Some(watch), packet) = (branch.watch(), &branch.packet) else { return };
        let key = TableKey::Services(packet.protocol, packet.family());
        let table = watch.table(key, || table::Table::new(self.rows(packet)));
        let port = packet.destination_port.map_or(Key::Any, |port| Key::Asked(Asked::Port(port)));
        table.narrow(watch, &[Key::Asked(Asked::Address(packet.destination)), port]);
    }

    fn rows(&self, like: &Packet) -> Vec<Row> {
        let mut rows = Vec::new();
        for id in self.table.services.keys() {
            let ServiceId::Address { protocol, address, port } = *id else { continue };
            if protocol.0 != like.protocol.number() || !is_for(*id, like.family()) {
                continue;
            }
            let at = (number(address), number(address));
            let one = |port: u16| (u128::from(port), u128::from(port));
            let found_by: &[Span] = match port {
                0 => &[PORTS],
                FTP => &[one(FTP), one(FTP_DATA), (UNPRIVILEGED.into(), PORTS.1)],
                _ => &[one(port)],
            };
            // By which port a server was found counts, too.
            for (ports, gives) in found_by.iter().zip(next_number(&rows)..) {
                rows.push(Row { spans: smallvec![at, *ports], gives });
            }
        }
        rows
    }

    fn by_address(&self, packet: &Packet, port: u16) -> Option<(ServiceId, &'a VirtualServer)> {
        let at = |port| {
            let protocol = Protocol(packet.protocol.number());
            let id = ServiceId::Address { protocol, address: packet.destination, port };
            self.table.services.get(&id).map(|server| (id, server))
        };
        let may_be_ftp_data = self.ftp
            && packet.protocol == kps_flow::Protocol::Tcp
            && (port == FTP_DATA || port >= UNPRIVILEGED);
        at(port)
            .or_else(|| may_be_ftp_data.then(|| at(FTP)).flatten())
            .or_else(|| self.any_port.then(|| at(0)).flatten())
    }
}

fn next_number(rows: &[Row]) -> u32 {
    u32::try_from(rows.len()).unwrap_or(u32::MAX)
}

fn has_mark(packet: &Packet, mark: u32, branch: &mut Branch) -> Result<bool, Interrupt> {
    match packet.mark.equals(mark) {
        Some(has) => Ok(has),
        None => branch.suppose(Name::from(format!("the mark {} is {mark:#x}", packet.mark))),
    }
}
