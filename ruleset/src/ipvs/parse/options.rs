//! Reads the options of `ipvsadm` as `ipvsadm-save -n` prints them.

use std::net::IpAddr;

use super::super::ast::{
    Forwarding, Netmask, Persistence, RealServer, Scheduler, SchedulerFlags, ServiceId, Timeouts,
    VirtualServer,
};
use super::super::transaction::Command;
use super::{Read, socket};
use crate::Name;
use crate::protocol::Protocol;
use crate::words::Words;

/// The time for which a client is remembered if `-p` says nothing, in seconds.
const DEFAULT_PERSISTENCE: u32 = 360;

/// Reads a command line, with or without the name of the tool.
pub(super) fn command(line: &str) -> Read<Command> {
    let mut words = Words::new(line);
    let first = words.next().map(|w| w.text).unwrap_or_default();
    let verb =
        if first == "ipvsadm" { words.next().map(|w| w.text).unwrap_or_default() } else { first };
    if verb == "--set" {
        return timeouts(&mut words).map(Command::SetTimeouts);
    }
    let mut options = Options::default();
    options.read(&mut words)?;
    Ok(match &*verb {
        "-A" | "--add-service" => {
            Command::AddService { service: options.service()?, server: options.virtual_server()? }
        }
        "-E" | "--edit-service" => {
            Command::EditService { service: options.service()?, server: options.virtual_server()? }
        }
        "-D" | "--delete-service" => Command::DeleteService(options.service()?),
        "-a" | "--add-server" => {
            Command::AddServer { service: options.service()?, server: options.real_server()? }
        }
        "-e" | "--edit-server" => {
            Command::EditServer { service: options.service()?, server: options.real_server()? }
        }
        "-d" | "--delete-server" => {
            let RealServer { address, port, .. } = options.real_server()?;
            Command::DeleteServer { service: options.service()?, address, port }
        }
        "-C" | "--clear" => Command::Clear,
        _ => return Err("a command of ipvsadm"),
    })
}

fn timeouts(words: &mut Words<'_>) -> Read<Timeouts> {
    Ok(Timeouts { tcp: number(words)?, tcp_fin: number(words)?, udp: number(words)? })
}

/// The options of a command, before it is known what they belong to.
#[derive(Default)]
struct Options {
    service: Option<ServiceId>,
    ipv6: bool,
    scheduler: Option<Scheduler>,
    flags: SchedulerFlags,
    persistence: Option<u32>,
    netmask: Option<Netmask>,
    engine: Option<Name>,
    one_packet: bool,
    real: Option<(IpAddr, u16)>,
    method: Option<Forwarding>,
    weight: Option<u32>,
    upper: u32,
    lower: u32,
    tunnel: Option<Name>,
}

impl Options {
    fn read(&mut self, words: &mut Words<'_>) -> Read<()> {
        while let Some(word) = words.next() {
            if !self.service_option(&word.text, words)? && !self.server_option(&word.text, words)? {
                return Err("an option of ipvsadm");
            }
        }
        Ok(())
    }

    fn service_option(&mut self, option: &str, words: &mut Words<'_>) -> Read<bool> {
        match option {
            "-t" | "--tcp-service" => self.address(Protocol::TCP, words)?,
            "-u" | "--udp-service" => self.address(Protocol::UDP, words)?,
            "--sctp-service" => self.address(Protocol::SCTP, words)?,
            "-f" | "--fwmark-service" => {
                self.service = Some(ServiceId::Mark { mark: number(words)?, ipv6: false });
            }
            "-6" | "--ipv6" => self.ipv6 = true,
            "-s" | "--scheduler" => self.scheduler = Some(Scheduler::parse(&value(words)?)),
            "-b" | "--sched-flags" => self.flags = SchedulerFlags::parse(&value(words)?)?,
            "-p" | "--persistent" => {
                let seconds = words.peek().and_then(|word| word.text.parse().ok());
                if seconds.is_some() {
                    words.next();
                }
                self.persistence = Some(seconds.unwrap_or(DEFAULT_PERSISTENCE));
            }
            "-M" | "--netmask" => self.netmask = Some(netmask(&value(words)?)?),
            "--pe" => self.engine = Some(Name::new(&value(words)?)),
            "-o" | "-O" | "--ops" => self.one_packet = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn server_option(&mut self, option: &str, words: &mut Words<'_>) -> Read<bool> {
        match option {
            "-r" | "--real-server" => self.real = Some(socket(&value(words)?)?),
            "-m" | "--masquerading" => self.method = Some(Forwarding::Masquerade),
            "-g" | "--gatewaying" => self.method = Some(Forwarding::DirectRoute),
            "-i" | "--ipip" => self.method = Some(Forwarding::Tunnel),
            "-w" | "--weight" => self.weight = Some(number(words)?),
            "-x" | "--u-threshold" => self.upper = number(words)?,
            "-y" | "--l-threshold" => self.lower = number(words)?,
            "--tun-type" | "--tun-port" => {
                let text = format!("{option} {}", value(words)?);
                self.tunnel_option(&text);
            }
            "--tun-nocsum" | "--tun-csum" | "--tun-remcsum" => self.tunnel_option(option),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn tunnel_option(&mut self, text: &str) {
        let joined = self.tunnel.map(|before| format!("{before} {text}").into());
        self.tunnel = joined.or_else(|| Some(Name::new(text)));
    }

    fn address(&mut self, protocol: Protocol, words: &mut Words<'_>) -> Read<()> {
        let (address, port) = socket(&value(words)?)?;
        self.service = Some(ServiceId::Address { protocol, address, port });
        Ok(())
    }

    fn service(&self) -> Read<ServiceId> {
        match self.service {
            Some(ServiceId::Mark { mark, .. }) => Ok(ServiceId::Mark { mark, ipv6: self.ipv6 }),
            service => service.ok_or("a virtual server"),
        }
    }

    fn virtual_server(&self) -> Read<VirtualServer> {
        let full = Netmask::full(self.service()?.is_ipv6());
        let persistence = self.persistence.map(|timeout| Persistence {
            timeout,
            netmask: self.netmask.unwrap_or(full),
            engine: self.engine,
        });
        Ok(VirtualServer {
            scheduler: self.scheduler.unwrap_or_default(),
            flags: self.flags,
            persistence,
            one_packet: self.one_packet,
            real_servers: Vec::new(),
        })
    }

    fn real_server(&self) -> Read<RealServer> {
        let (address, port) = self.real.ok_or("a real server")?;
        let method = self.method.unwrap_or(Forwarding::DirectRoute);
        Ok(RealServer {
            weight: self.weight.unwrap_or(1),
            upper_threshold: self.upper,
            lower_threshold: self.lower,
            tunnel: self.tunnel,
            ..RealServer::new(address, port, method)
        })
    }
}

pub(super) fn netmask(text: &str) -> Read<Netmask> {
    if let Ok(mask) = text.parse() {
        return Ok(Netmask::V4(mask));
    }
    let length = text.parse().ok().filter(|length| (1..=128).contains(length));
    length.map(Netmask::V6).ok_or("a netmask")
}

fn value(words: &mut Words<'_>) -> Read<String> {
    words.next().map(|word| word.text.into_owned()).ok_or("a value")
}

fn number(words: &mut Words<'_>) -> Read<u32> {
    value(words)?.parse().map_err(|_| "a number")
}

impl SchedulerFlags {
    /// Reads names with commas between.
    pub(super) fn parse(text: &str) -> Read<SchedulerFlags> {
        let mut flags = SchedulerFlags::default();
        for name in text.split(',') {
            match name {
                "flag-1" | "sh-fallback" | "mh-fallback" => flags.first = true,
                "flag-2" | "sh-port" | "mh-port" => flags.second = true,
                "flag-3" => flags.third = true,
                _ => return Err("a scheduler flag"),
            }
        }
        Ok(flags)
    }
}
