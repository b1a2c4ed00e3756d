//! Are two nodes' IPVS tables the same?
//!
//! The order of virtual and real servers is not looked at, since dumps do not show the kernel's own;
//! neither are connections.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use super::ast::{Connections, RealServer, ServiceId, Table, VirtualServer};

/// A difference between what is expected and what is there.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// A virtual server is missing.
    MissingService(ServiceId),
    /// A virtual server is there that is not expected.
    ExtraService(ServiceId),
    /// A virtual server has other properties.
    ChangedService {
        /// The virtual server.
        service: ServiceId,
        /// Its properties as expected, in the tool's words.
        expected: String,
        /// As they are.
        found: String,
    },
    /// A real server is missing.
    MissingServer {
        /// Its virtual server.
        service: ServiceId,
        /// Its address.
        address: IpAddr,
        /// Its port.
        port: u16,
    },
    /// A real server is there that is not expected.
    ExtraServer {
        /// Its virtual server.
        service: ServiceId,
        /// Its address.
        address: IpAddr,
        /// Its port.
        port: u16,
    },
    /// A real server has another method, weight or thresholds.
    ChangedServer {
        /// Its virtual server.
        service: ServiceId,
        /// The real server as expected, in the tool's words.
        expected: String,
        /// As it is.
        found: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::MissingService(service) => write!(f, "missing virtual server {service}"),
            Difference::ExtraService(service) => write!(f, "extra virtual server {service}"),
            Difference::ChangedService { service, expected, found } => {
                write!(f, "virtual server {service}: expected{expected}, found{found}")
            }
            Difference::MissingServer { service, address, port } => {
                write!(f, "virtual server {service}: missing real server {address} port {port}")
            }
            Difference::ExtraServer { service, address, port } => {
                write!(f, "virtual server {service}: extra real server {address} port {port}")
            }
            Difference::ChangedServer { service, expected, found } => {
                write!(f, "virtual server {service}: expected {expected}, found {found}")
            }
        }
    }
}

/// Returns all differences, in the order of the virtual servers.
#[must_use]
pub fn compare(expected: &Table, found: &Table) -> Vec<Difference> {
    let mut ids: Vec<ServiceId> =
        expected.services.keys().chain(found.services.keys()).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let mut differences = Vec::new();
    for id in ids {
        match (expected.services.get(&id), found.services.get(&id)) {
            (Some(a), Some(b)) => compare_service(id, a, b, &mut differences),
            (Some(_), None) => differences.push(Difference::MissingService(id)),
            (None, _) => differences.push(Difference::ExtraService(id)),
        }
    }
    differences
}

fn compare_service(
    service: ServiceId,
    expected: &VirtualServer,
    found: &VirtualServer,
    differences: &mut Vec<Difference>,
) {
    let (before, after) = (expected.to_string(), found.to_string());
    if before != after {
        differences.push(Difference::ChangedService { service, expected: before, found: after });
    }
    let (expected, found) = (by_socket(expected), by_socket(found));
    for ((address, port), server) in &expected {
        match found.get(&(*address, *port)) {
            None => differences.push(Difference::MissingServer {
                service,
                address: *address,
                port: *port,
            }),
            Some(other) if same(server, other) => {}
            Some(other) => differences.push(Difference::ChangedServer {
                service,
                expected: server.to_string(),
                found: other.to_string(),
            }),
        }
    }
    let extra = found.keys().filter(|socket| !expected.contains_key(socket));
    differences.extend(extra.map(|(address, port)| Difference::ExtraServer {
        service,
        address: *address,
        port: *port,
    }));
}

fn by_socket(server: &VirtualServer) -> BTreeMap<(IpAddr, u16), &RealServer> {
    server.real_servers.iter().map(|real| ((real.address, real.port), real)).collect()
}

fn same(a: &RealServer, b: &RealServer) -> bool {
    let key =
        |server: &RealServer| RealServer { connections: Connections::default(), ..server.clone() };
    key(a) == key(b)
}
