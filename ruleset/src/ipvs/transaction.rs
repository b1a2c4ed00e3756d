//! Commands of ipvsadm and their effect. Each takes effect on its own.

use std::net::IpAddr;

use thiserror::Error;

use super::ast::{RealServer, ServiceId, Table, Timeouts, VirtualServer};

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// `-A`: adds a virtual server without real servers.
    AddService {
        /// What it answers to.
        service: ServiceId,
        /// Its properties.
        server: VirtualServer,
    },
    /// `-E`: changes the properties of a virtual server; its real servers stay.
    EditService {
        /// What it answers to.
        service: ServiceId,
        /// Its new properties.
        server: VirtualServer,
    },
    /// `-D`.
    DeleteService(ServiceId),
    /// `-a`: adds a real server at the head of the list.
    AddServer {
        /// To which virtual server.
        service: ServiceId,
        /// The real server.
        server: RealServer,
    },
    /// `-e`: changes the method, weight and thresholds of a real server.
    EditServer {
        /// Of which virtual server.
        service: ServiceId,
        /// The real server.
        server: RealServer,
    },
    /// `-d`.
    DeleteServer {
        /// From which virtual server.
        service: ServiceId,
        /// The real server's address.
        address: IpAddr,
        /// Its port.
        port: u16,
    },
    /// `-C`: removes everything.
    Clear,
    /// `--set`: 0 leaves a timeout as it is.
    SetTimeouts(Timeouts),
}

/// Why a command was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// There is such a virtual server.
    #[error("virtual server {0} already exists")]
    ServiceExists(ServiceId),
    /// There is no such virtual server.
    #[error("no virtual server {0}")]
    NoSuchService(ServiceId),
    /// There is such a real server.
    #[error("virtual server {service} already has a real server {address} port {port}")]
    ServerExists {
        /// The virtual server.
        service: ServiceId,
        /// The real server's address.
        address: IpAddr,
        /// Its port.
        port: u16,
    },
    /// There is no such real server.
    #[error("virtual server {service} has no real server {address} port {port}")]
    NoSuchServer {
        /// The virtual server.
        service: ServiceId,
        /// The real server's address.
        address: IpAddr,
        /// Its port.
        port: u16,
    },
}

/// Applies a command.
///
/// # Errors
///
/// What the kernel would refuse; the table is as before.
pub fn apply(table: &mut Table, command: &Command) -> Result<(), ApplyError> {
    match command {
        Command::AddService { service, .. } if table.services.contains_key(service) => {
            Err(ApplyError::ServiceExists(*service))
        }
        Command::AddService { service, server } => {
            table.services.insert(*service, server.clone());
            Ok(())
        }
        Command::EditService { service, server } => {
            let old = known(table, *service)?;
            let real_servers = std::mem::take(&mut old.real_servers);
            *old = VirtualServer { real_servers, ..server.clone() };
            Ok(())
        }
        Command::DeleteService(service) => {
            let gone = table.services.shift_remove(service);
            gone.map(drop).ok_or(ApplyError::NoSuchService(*service))
        }
        Command::AddServer { service, server } => add_server(table, *service, server),
        Command::EditServer { service, server } => {
            let (address, port) = (server.address, server.port);
            let old = real_server(table, *service, address, port)?;
            let RealServer { connections, .. } = *old;
            *old = RealServer { connections, ..server.clone() };
            Ok(())
        }
        Command::DeleteServer { service, address, port } => {
            real_server(table, *service, *address, *port)?;
            let servers = &mut known(table, *service)?.real_servers;
            servers.retain(|server| (server.address, server.port) != (*address, *port));
            Ok(())
        }
        Command::Clear => {
            table.services.clear();
            Ok(())
        }
        Command::SetTimeouts(timeouts) => {
            table.timeouts = Some(table.timeouts.unwrap_or_default().set(*timeouts));
            Ok(())
        }
    }
}

fn known(table: &mut Table, service: ServiceId) -> Result<&mut VirtualServer, ApplyError> {
    table.services.get_mut(&service).ok_or(ApplyError::NoSuchService(service))
}

fn real_server(
    table: &mut Table,
    service: ServiceId,
    address: IpAddr,
    port: u16,
) -> Result<&mut RealServer, ApplyError> {
    let mut servers = known(table, service)?.real_servers.iter_mut();
    let found = servers.find(|server| (server.address, server.port) == (address, port));
    found.ok_or(ApplyError::NoSuchServer { service, address, port })
}

fn add_server(
    table: &mut Table,
    service: ServiceId,
    server: &RealServer,
) -> Result<(), ApplyError> {
    let (address, port) = (server.address, server.port);
    match real_server(table, service, address, port) {
        Ok(_) => Err(ApplyError::ServerExists { service, address, port }),
        Err(ApplyError::NoSuchServer { .. }) => {
            known(table, service)?.real_servers.insert(0, server.clone());
            Ok(())
        }
        Err(error) => Err(error),
    }
}

impl Timeouts {
    /// Returns the timeouts after `ipvsadm --set`: 0 leaves one as it is.
    #[must_use]
    pub fn set(self, new: Timeouts) -> Timeouts {
        let pick = |new, old| if new == 0 { old } else { new };
        Timeouts {
            tcp: pick(new.tcp, self.tcp),
            tcp_fin: pick(new.tcp_fin, self.tcp_fin),
            udp: pick(new.udp, self.udp),
        }
    }
}

impl Default for Timeouts {
    /// The kernel's own: 15 minutes, 2 minutes, 5 minutes.
    fn default() -> Self {
        Timeouts { tcp: 900, tcp_fin: 120, udp: 300 }
    }
}
