//! Finds the virtual server of a packet (`ip_vs_service_find` of `net/netfilter/ipvs/ip_vs_ctl.c`).

use kps_ruleset::ipvs::{ServiceId, Table, VirtualServer};
use kps_ruleset::{Name, Protocol};

use super::is_for;
use crate::packet::Packet;
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
        Ok(packet.destination_port.and_then(|port| self.by_address(&packet, port)))
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

fn has_mark(packet: &Packet, mark: u32, branch: &mut Branch) -> Result<bool, Interrupt> {
    match packet.mark.equals(mark) {
        Some(has) => Ok(has),
        None => branch.suppose(Name::from(format!("the mark {} is {mark:#x}", packet.mark))),
    }
}
