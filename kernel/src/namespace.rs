//! The namespace of a node: its links, addresses, routes, sysctls and rules.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use nix::sched::{CloneFlags, unshare};
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::KernelError;
use crate::load::feed;
use crate::setup::{Link, Setup};

/// A link, with its far end in our hands.
pub struct Device {
    /// Its name on the node.
    pub name: String,
    /// What is written comes in by the link; what is read has left by it.
    pub wire: SyncDevice,
}

/// Tells whether we may make network namespaces.
pub fn permitted() -> bool {
    static PERMITTED: LazyLock<bool> = LazyLock::new(|| {
        thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET)).join().is_ok_and(|done| done.is_ok())
    });
    *PERMITTED
}

/// Moves this thread into a network namespace that is set up as a node.
pub fn enter(setup: &Setup) -> Result<Vec<Device>, KernelError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(KernelError::system("cannot make a namespace"))?;
    let devices = setup.links.iter().map(device).collect::<Result<Vec<_>, _>>()?;
    for (name, value) in ERRORS_UNLIMITED {
        // Some kernels have a limit for all namespaces together, which is not ours to set.
        let _ = set(name, value);
    }
    for (name, value) in &setup.sysctls {
        set(name, value)?;
    }
    setup.network.iter().try_for_each(feed)?;
    await_addresses(&setup.awaited)?;
    setup.rules.iter().try_for_each(feed)?;
    Ok(devices)
}

/// Waits until the node takes packets to each of its IPv6 addresses. The kernel adds their local
/// routes later, even without detection of duplicates (`net/ipv6/addrconf.c`, `addrconf_dad_work`);
/// until then it would forward such packets.
fn await_addresses(awaited: &[Ipv6Addr]) -> Result<(), KernelError> {
    let mut missing = awaited.to_vec();
    let start = Instant::now();
    while !missing.is_empty() {
        let routes = fs::read_to_string("/proc/thread-self/net/ipv6_route")
            .map_err(KernelError::system("cannot read the routes"))?;
        let local: BTreeSet<&str> = routes.lines().filter_map(local_destination).collect();
        missing.retain(|address| !local.contains(format!("{:032x}", address.to_bits()).as_str()));
        match missing.first() {
            Some(address) if start.elapsed() > ADDRESSES_TAKE => {
                let what = format!("{address} does not become the node's");
                return Err(KernelError::system(what)(io::ErrorKind::TimedOut));
            }
            Some(_) => thread::sleep(Duration::from_millis(1)),
            None => {}
        }
    }
    Ok(())
}

/// How long addresses may take: far longer than they do on a busy machine.
const ADDRESSES_TAKE: Duration = Duration::from_secs(10);

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

fn device(link: &Link) -> Result<Device, KernelError> {
    let what = format!("cannot make the device {}", link.name);
    let wire = DeviceBuilder::new().name(&link.name).enable(false).build_sync();
    let wire = wire.map_err(KernelError::system(what.as_str()))?;
    wire.set_nonblocking(true).map_err(KernelError::system(what))?;
    Ok(Device { name: link.name.clone(), wire })
}

fn set(name: &str, value: &str) -> Result<(), KernelError> {
    let path = PathBuf::from("/proc/sys").join(name.replace('.', "/"));
    fs::write(path, value).map_err(KernelError::system(format!("cannot set {name} to {value}")))
}
