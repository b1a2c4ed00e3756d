//! Text into the tree: what `ipvsadm-save -n`, `ipvsadm -Ln` and `/proc/net/ip_vs` show.
//!
//! The forms may stand in one text, with `ipvsadm -L --timeout` among them. `--stats`, `--rate` and the
//! like show neither schedulers nor methods, so their lines add nothing and are an error where a
//! virtual server is not known from elsewhere; `--thresholds` tells the thresholds of those that are.

mod list;
mod options;

use std::net::IpAddr;

use super::ast::{RealServer, ServiceId, Table, VirtualServer};
use super::transaction::{Command, apply};
use crate::parsed::{ParseError, Parsed, lines};
use list::Listing;

type Read<T> = Result<T, &'static str>;

/// Reads a table.
#[must_use]
pub fn parse_table(text: &str) -> Parsed<Table> {
    let mut parsed = Parsed { value: Table::default(), errors: Vec::new() };
    let mut listing = Listing::default();
    for (number, line) in lines(text) {
        if let Err(expected) = take(&mut parsed.value, &mut listing, line) {
            parsed.errors.push(ParseError::new(number, expected, line));
        }
    }
    parsed
}

/// Reads commands as `ipvsadm -R` takes them.
#[must_use]
pub fn parse_commands(text: &str) -> Parsed<Vec<Command>> {
    let mut parsed = Parsed { value: Vec::new(), errors: Vec::new() };
    for (number, line) in lines(text) {
        match options::command(line) {
            _ if line.is_empty() || line.starts_with('#') => {}
            Ok(command) => parsed.value.push(command),
            Err(expected) => parsed.errors.push(ParseError::new(number, expected, line)),
        }
    }
    parsed
}

fn take(table: &mut Table, listing: &mut Listing, line: &str) -> Read<()> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(());
    }
    if !line.starts_with('-') || line.starts_with("->") {
        return listing.line(table, line);
    }
    match options::command(line)? {
        Command::AddServer { service, server } => add_server(table, service, server),
        command => apply(table, &command).map_err(|_| "a command that can be done"),
    }
}

/// Adds a real server at the end: a dump is kept in the order in which it is read.
fn add_server(table: &mut Table, service: ServiceId, server: RealServer) -> Read<()> {
    let servers =
        &mut table.services.get_mut(&service).ok_or("a known virtual server")?.real_servers;
    if servers.iter().any(|old| (old.address, old.port) == (server.address, server.port)) {
        return Err("a real server only once");
    }
    servers.push(server);
    Ok(())
}

/// Adds a virtual server.
fn add_service(table: &mut Table, service: ServiceId, server: VirtualServer) -> Read<()> {
    let command = Command::AddService { service, server };
    apply(table, &command).map_err(|_| "a virtual server only once")
}

/// Reads `ADDRESS:PORT` or `[ADDRESS]:PORT`; without a port it is 0.
fn socket(text: &str) -> Read<(IpAddr, u16)> {
    let bad = "an address and a port";
    let (address, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or(bad)?;
            (address, port.strip_prefix(':').unwrap_or("0"))
        }
        None => text.rsplit_once(':').unwrap_or((text, "0")),
    };
    Ok((address.parse().map_err(|_| bad)?, port.parse().map_err(|_| bad)?))
}
