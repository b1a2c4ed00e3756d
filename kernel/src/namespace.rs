//! The namespace of a node: its links, addresses, routes and sysctls.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use ipnet::IpNet;
use kps_ruleset::host::{Address, Host, Route, RouteKind};
use nix::sched::{CloneFlags, unshare};
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::KernelError;
use crate::load::feed;

/// A link, with its far end in our hands.
pub struct Device {
    /// Its name on the node.
    pub name: String,
    /// What is written comes in by the link; what is read has left by it.
    pub wire: SyncDevice,
}

/// Routing table `main`.
const MAIN: u32 = 254;

/// Moves this thread into a network namespace that looks like the host.
pub fn enter(host: &Host) -> Result<Vec<Device>, KernelError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(KernelError::system("cannot make a namespace"))?;
    let names = links(host);
    let devices = names.iter().cloned().map(device).collect::<Result<Vec<_>, _>>()?;
    for (name, value) in ERRORS_UNLIMITED {
        // Some kernels have a limit for all namespaces together, which is not ours to set.
        let _ = set(name, value);
    }
    for (name, value) in &host.sysctls {
        set(name, value)?;
    }
    feed("ip", &["-4", "-batch", "-"], &commands(host, &names, false))?;
    feed("ip", &["-6", "-batch", "-"], &commands(host, &names, true))?;
    await_addresses(host)?;
    Ok(devices)
}

/// Waits until the node takes packets to each of its IPv6 addresses. The kernel adds their local
/// routes later, even without detection of duplicates (`net/ipv6/addrconf.c`, `addrconf_dad_work`);
/// until then it would forward such packets.
fn await_addresses(host: &Host) -> Result<(), KernelError> {
    let mut missing: Vec<Ipv6Addr> = host.addresses.iter().filter_map(ipv6).collect();
    let start = Instant::now();
    loop {
        let routes = fs::read_to_string("/proc/thread-self/net/ipv6_route")
            .map_err(KernelError::system("cannot read the routes"))?;
        let local: BTreeSet<&str> = routes.lines().filter_map(local_destination).collect();
        missing.retain(|address| !local.contains(format!("{:032x}", address.to_bits()).as_str()));
        match missing.first() {
            None => return Ok(()),
            Some(_) if start.elapsed() < ADDRESSES_TAKE => thread::sleep(Duration::from_millis(1)),
            Some(address) => {
                let what = format!("{address} does not become the node's");
                return Err(KernelError::system(what)(io::ErrorKind::TimedOut));
            }
        }
    }
}

/// How long addresses may take: far longer than they do on a busy machine.
const ADDRESSES_TAKE: Duration = Duration::from_secs(10);

fn ipv6(address: &Address) -> Option<Ipv6Addr> {
    match address.network.addr() {
        IpAddr::V6(it) if !it.is_loopback() => Some(it),
        _ => None,
    }
}

/// Returns the destination of a line of `/proc/net/ipv6_route` that is a local address
/// (`RTF_LOCAL`, the highest bit of the flags).
fn local_destination(line: &str) -> Option<&str> {
    let mut words = line.split_ascii_whitespace();
    let destination = words.next()?;
    let flags = u32::from_str_radix(words.nth(7)?, 16).ok()?;
    (flags >> 31 == 1).then_some(destination)
}

/// An error is only seen if the kernel does not keep it back.
const ERRORS_UNLIMITED: [(&str, &str); 4] = [
    ("net.ipv4.icmp_ratelimit", "0"),
    ("net.ipv4.icmp_msgs_per_sec", "1000000000"),
    ("net.ipv4.icmp_msgs_burst", "1000000000"),
    ("net.ipv6.icmp.ratelimit", "0"),
];

/// Returns the links that anything of the host names, but for loopback.
pub fn links(host: &Host) -> BTreeSet<String> {
    let named = host.links.iter().map(|link| link.name);
    let addressed = host.addresses.iter().map(|address| address.link);
    let routed = host.routes.iter().filter_map(|route| route.link);
    let all = named.chain(addressed).chain(routed).map(|name| name.to_string());
    all.filter(|name| name != "lo").collect()
}

fn device(name: String) -> Result<Device, KernelError> {
    let what = format!("cannot make the device {name}");
    let wire = DeviceBuilder::new().name(&name).build_sync();
    let wire = wire.map_err(KernelError::system(what.as_str()))?;
    wire.set_nonblocking(true).map_err(KernelError::system(what))?;
    Ok(Device { name, wire })
}

fn set(name: &str, value: &str) -> Result<(), KernelError> {
    let path = PathBuf::from("/proc/sys").join(name.replace('.', "/"));
    fs::write(path, value).map_err(KernelError::system(format!("cannot set {name} to {value}")))
}

/// Returns what `ip -batch` is to do in a family.
pub fn commands(host: &Host, links: &BTreeSet<String>, v6: bool) -> String {
    let mut text = String::from("link set lo up\n");
    for link in links {
        // INVARIANT: writing to a String cannot fail.
        let _ = writeln!(text, "link set {link} up");
    }
    let of_family = |network: &IpNet| network.addr().is_ipv6() == v6;
    for address in host.addresses.iter().filter(|address| of_family(&address.network)) {
        if !address.network.addr().is_loopback() {
            let nodad = if v6 { " nodad" } else { "" };
            let _ = writeln!(text, "addr add {} dev {}{nodad}", address.network, address.link);
        }
    }
    for route in host.routes.iter().filter(|route| of_family(&route.destination)) {
        if route.table == MAIN && route.kind == RouteKind::Unicast {
            let _ = writeln!(text, "route replace {}", written(route));
        }
    }
    text
}

fn written(route: &Route) -> String {
    let mut text = route.destination.to_string();
    for (word, value) in [
        ("via", route.gateway.map(|gateway| gateway.to_string())),
        ("dev", route.link.map(|link| link.to_string())),
        ("src", route.source.map(|source| source.to_string())),
        ("metric", Some(route.metric).filter(|metric| *metric > 0).map(|m| m.to_string())),
    ] {
        if let Some(value) = value {
            // INVARIANT: writing to a String cannot fail.
            let _ = write!(text, " {word} {value}");
        }
    }
    text
}
