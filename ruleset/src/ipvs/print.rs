//! The tree as text: as `ipvsadm-save -n` prints it, and commands as `ipvsadm -R` takes them.

use std::fmt::{self, Write as _};
use std::net::IpAddr;

use super::ast::{
    Forwarding, Netmask, Persistence, RealServer, Scheduler, SchedulerFlags, ServiceId, Table,
    VirtualServer,
};
use super::order::{sort_real_servers, sort_services};
use super::transaction::Command;
use crate::protocol::Protocol;

/// Returns what `ipvsadm-save -n` prints, in the tool's order. The tool leaves thresholds out.
#[must_use]
pub fn print_save(table: &Table) -> String {
    let mut services: Vec<_> = table.services.iter().map(|(id, server)| (*id, server)).collect();
    sort_services(&mut services);
    let mut out = String::new();
    for (id, server) in services {
        line(&mut out, format_args!("-A {id}{server}"));
        let mut real: Vec<&RealServer> = server.real_servers.iter().collect();
        sort_real_servers(&mut real);
        for server in real {
            line(&mut out, format_args!("-a {id} {server}"));
        }
    }
    out
}

/// Returns commands, one a line, as `ipvsadm -R` takes them.
#[must_use]
pub fn print_commands(commands: &[Command]) -> String {
    let mut out = String::new();
    for command in commands {
        line(&mut out, format_args!("{command}"));
    }
    out
}

fn line(out: &mut String, text: fmt::Arguments<'_>) {
    // INVARIANT: writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::AddService { service, server } => write!(f, "-A {service}{server}"),
            Command::EditService { service, server } => write!(f, "-E {service}{server}"),
            Command::DeleteService(service) => write!(f, "-D {service}"),
            Command::AddServer { service, server } => {
                write!(f, "-a {service} {server}{}", Thresholds(server))
            }
            Command::EditServer { service, server } => {
                write!(f, "-e {service} {server}{}", Thresholds(server))
            }
            Command::DeleteServer { service, address, port } => {
                write!(f, "-d {service} -r {}", Socket(*address, *port))
            }
            Command::Clear => f.write_str("-C"),
            Command::SetTimeouts(t) => write!(f, "--set {} {} {}", t.tcp, t.tcp_fin, t.udp),
        }
    }
}

/// `-t 10.0.0.1:80`, `-f 5 -6`.
impl fmt::Display for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceId::Address { protocol, address, port } => {
                let option = match *protocol {
                    Protocol::TCP => "-t",
                    Protocol::UDP => "-u",
                    _ => "--sctp-service",
                };
                write!(f, "{option} {}", Socket(*address, *port))
            }
            ServiceId::Mark { mark, ipv6: false } => write!(f, "-f {mark}"),
            ServiceId::Mark { mark, ipv6: true } => write!(f, "-f {mark} -6"),
        }
    }
}

/// ` -s rr -p 300 -b sh-port`: the options after the virtual server's name.
impl fmt::Display for VirtualServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " -s {}", self.scheduler)?;
        if let Some(persistence) = &self.persistence {
            write!(f, "{persistence}")?;
        }
        if self.one_packet {
            f.write_str(" -o")?;
        }
        let flags = self.flags.names(self.scheduler).collect::<Vec<_>>().join(",");
        if flags.is_empty() { Ok(()) } else { write!(f, " -b {flags}") }
    }
}

impl fmt::Display for Persistence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " -p {}", self.timeout)?;
        match self.netmask {
            Netmask::V6(128) => {}
            Netmask::V4(mask) if mask.is_broadcast() => {}
            Netmask::V4(mask) => write!(f, " -M {mask}")?,
            Netmask::V6(length) => write!(f, " -M {length}")?,
        }
        self.engine.map_or(Ok(()), |engine| write!(f, " --pe {engine}"))
    }
}

/// `-r 10.0.0.2:80 -m -w 1`.
impl fmt::Display for RealServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.method.option();
        write!(f, "-r {} {method} -w {}", Socket(self.address, self.port), self.weight)?;
        self.tunnel.map_or(Ok(()), |tunnel| write!(f, " {tunnel}"))
    }
}

/// The thresholds of a real server, if it has any.
struct Thresholds<'a>(&'a RealServer);

impl fmt::Display for Thresholds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RealServer { upper_threshold: upper, lower_threshold: lower, .. } = self.0;
        if (*upper, *lower) == (0, 0) { Ok(()) } else { write!(f, " -x {upper} -y {lower}") }
    }
}

struct Socket(IpAddr, u16);

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}:{}", self.1),
            IpAddr::V6(address) => write!(f, "[{address}]:{}", self.1),
        }
    }
}

impl Forwarding {
    /// Returns the tool's option. A local or bypassing server was set up as a routed one.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Forwarding::Masquerade => "-m",
            Forwarding::Tunnel => "-i",
            Forwarding::DirectRoute | Forwarding::Local | Forwarding::Bypass => "-g",
        }
    }
}

impl SchedulerFlags {
    /// Returns the names of the flags that are set, as a scheduler calls them.
    pub fn names(self, scheduler: Scheduler) -> impl Iterator<Item = &'static str> {
        let names = match scheduler {
            Scheduler::SourceHashing => ["sh-fallback", "sh-port", "flag-3"],
            Scheduler::Maglev => ["mh-fallback", "mh-port", "flag-3"],
            _ => ["flag-1", "flag-2", "flag-3"],
        };
        let set = [self.first, self.second, self.third];
        names.into_iter().zip(set).filter(|(_, set)| *set).map(|(name, _)| name)
    }
}
