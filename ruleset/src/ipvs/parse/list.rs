//! Reads listings: `ipvsadm -Ln` and `/proc/net/ip_vs`.

use std::net::{IpAddr, Ipv4Addr};

use super::super::ast::{
    Connections, Forwarding, Netmask, Persistence, RealServer, Scheduler, SchedulerFlags,
    ServiceId, Table, Timeouts, VirtualServer,
};
use super::{Read, add_server, add_service, socket};
use crate::Name;
use crate::protocol::Protocol;

/// What the columns of a listing are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Columns {
    /// Scheduler and flags; forwarding, weight, connections.
    #[default]
    Plain,
    /// The thresholds of real servers.
    Thresholds,
    /// Numbers that say nothing about what is done with packets.
    Numbers,
}

/// Where in a listing the reader is.
#[derive(Debug, Default)]
pub(super) struct Listing {
    columns: Columns,
    /// The virtual server whose real servers follow.
    service: Option<ServiceId>,
}

impl Listing {
    pub(super) fn line(&mut self, table: &mut Table, line: &str) -> Read<()> {
        if let Some(numbers) = line.strip_prefix("Timeout (tcp tcpfin udp):") {
            table.timeouts = Some(timeouts(numbers)?);
            return Ok(());
        }
        let mut words = line.split_ascii_whitespace();
        match words.next().unwrap_or_default() {
            "IP" => Ok(()),
            "Prot" => {
                self.columns = columns(line);
                Ok(())
            }
            "->" if line.contains("RemoteAddress:Port") => Ok(()),
            "->" => self.real_server(table, words),
            word => self.service(table, word, words),
        }
    }

    fn service<'a>(
        &mut self,
        table: &mut Table,
        first: &str,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Read<()> {
        let second = words.next().ok_or("a virtual server")?;
        let mut words = words.peekable();
        let id = match first {
            "FWM" => {
                let ipv6 = words.next_if_eq(&"IPv6").is_some();
                ServiceId::Mark { mark: mark(second)?, ipv6 }
            }
            protocol => {
                let protocol = Protocol::parse(&protocol.to_ascii_lowercase());
                let protocol = protocol.filter(|p| p.has_ports()).ok_or("a protocol")?;
                let (address, port) = any_socket(second)?;
                ServiceId::Address { protocol, address, port }
            }
        };
        self.service = Some(id);
        if self.columns == Columns::Plain {
            return add_service(table, id, virtual_server(id, words)?);
        }
        if table.services.contains_key(&id) { Ok(()) } else { Err("a listing with schedulers") }
    }

    fn real_server<'a>(
        &mut self,
        table: &mut Table,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Read<()> {
        let id = self.service.ok_or("a virtual server before its real servers")?;
        let (address, port) = any_socket(words.next().unwrap_or_default())?;
        match self.columns {
            Columns::Plain => {
                let method = forwarding(words.next().unwrap_or_default())?;
                let numbers: Vec<&str> = words.collect();
                add_server(table, id, plain(address, port, method, &numbers)?)
            }
            Columns::Thresholds => {
                let mut next = || words.next().unwrap_or_default().parse().map_err(|_| "a number");
                let (upper, lower) = (next()?, next()?);
                set_thresholds(table, id, (address, port), (upper, lower));
                Ok(())
            }
            Columns::Numbers => Ok(()),
        }
    }
}

fn columns(header: &str) -> Columns {
    if header.contains("Scheduler") {
        Columns::Plain
    } else if header.contains("Uthreshold") {
        Columns::Thresholds
    } else {
        Columns::Numbers
    }
}

/// Reads weight and connections, and the words on a tunnel before them, if any.
fn plain(address: IpAddr, port: u16, method: Forwarding, words: &[&str]) -> Read<RealServer> {
    let [tunnel @ .., weight, active, inactive] = words else { return Err("three numbers") };
    let number = |text: &str| text.parse().map_err(|_| "a number");
    let tunnel = tunnel.iter().find(|word| **word != "n/a").map(|word| Name::new(word));
    Ok(RealServer {
        weight: number(weight)?,
        tunnel,
        connections: Connections { active: number(active)?, inactive: number(inactive)? },
        ..RealServer::new(address, port, method)
    })
}

fn set_thresholds(table: &mut Table, id: ServiceId, socket: (IpAddr, u16), thresholds: (u32, u32)) {
    let servers = table.services.get_mut(&id).map(|service| service.real_servers.iter_mut());
    for server in servers.into_iter().flatten() {
        if (server.address, server.port) == socket {
            (server.upper_threshold, server.lower_threshold) = thresholds;
        }
    }
}

/// Reads `SCHEDULER [(FLAGS)] [ops] [persistent SECONDS [mask MASK] [pe ENGINE]] [ops]`; `/proc` has
/// the mask as eight digits after the time.
fn virtual_server<'a>(id: ServiceId, words: impl Iterator<Item = &'a str>) -> Read<VirtualServer> {
    let mut words = words;
    let scheduler = Scheduler::parse(words.next().ok_or("a scheduler")?);
    let mut server = VirtualServer::new(scheduler);
    let mut persistence: Option<Persistence> = None;
    while let Some(word) = words.next() {
        match (word, &mut persistence) {
            ("ops", _) => server.one_packet = true,
            ("persistent", _) => {
                let timeout = words.next().and_then(|w| w.parse().ok()).ok_or("a time")?;
                let netmask = Netmask::full(id.is_ipv6());
                persistence = Some(Persistence { timeout, netmask, engine: None });
            }
            ("mask", Some(persistence)) => {
                let mask = words.next().ok_or("a netmask")?;
                persistence.netmask = super::options::netmask(mask)?;
            }
            ("pe", Some(persistence)) => persistence.engine = words.next().map(Name::new),
            (word, _) if word.starts_with('(') => {
                server.flags = SchedulerFlags::parse(word.trim_matches(['(', ')']))?;
            }
            (word, Some(persistence)) if word.len() == 8 => {
                persistence.netmask = hexadecimal_mask(word, id.is_ipv6())?;
            }
            _ => return Err("a property of a virtual server"),
        }
    }
    server.persistence = persistence;
    Ok(server)
}

/// Reads the mask of `/proc/net/ip_vs`, which swaps the bytes of an IPv6 prefix length.
fn hexadecimal_mask(word: &str, ipv6: bool) -> Read<Netmask> {
    let bits = u32::from_str_radix(word, 16).map_err(|_| "a netmask")?;
    if !ipv6 {
        return Ok(Netmask::V4(Ipv4Addr::from(bits)));
    }
    u8::try_from(bits.swap_bytes()).map(Netmask::V6).map_err(|_| "a netmask")
}

fn forwarding(word: &str) -> Read<Forwarding> {
    match word {
        "Masq" => Ok(Forwarding::Masquerade),
        "Route" => Ok(Forwarding::DirectRoute),
        "Tunnel" => Ok(Forwarding::Tunnel),
        "Local" => Ok(Forwarding::Local),
        "Bypass" => Ok(Forwarding::Bypass),
        _ => Err("a forwarding method"),
    }
}

/// Reads the mark of a listing: decimal, or eight hexadecimal digits in `/proc`.
fn mark(word: &str) -> Read<u32> {
    let mark = if word.len() == 8 { u32::from_str_radix(word, 16) } else { word.parse() };
    mark.map_err(|_| "a mark")
}

/// Reads `ADDRESS:PORT`, or the hexadecimal form of `/proc`.
fn any_socket(text: &str) -> Read<(IpAddr, u16)> {
    let hexadecimal = || {
        let (address, port) = text.rsplit_once(':').filter(|(_, port)| port.len() == 4)?;
        let port = u16::from_str_radix(port, 16).ok()?;
        if let Some(v6) = address.strip_prefix('[') {
            let address: std::net::Ipv6Addr = v6.strip_suffix(']')?.parse().ok()?;
            // Only /proc writes all eight groups in full.
            return (v6.len() == 40).then_some((IpAddr::V6(address), port));
        }
        let bits = u32::from_str_radix(address, 16).ok().filter(|_| address.len() == 8)?;
        Some((IpAddr::V4(bits.into()), port))
    };
    hexadecimal().map_or_else(|| socket(text), Ok)
}

fn timeouts(numbers: &str) -> Read<Timeouts> {
    let mut numbers = numbers.split_ascii_whitespace().map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok).ok_or("a time");
    Ok(Timeouts { tcp: next()?, tcp_fin: next()?, udp: next()? })
}
