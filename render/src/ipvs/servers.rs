//! Virtual servers and their real servers.

use kps_model::{Endpoint, NodeView, PortView};
use kps_ruleset::ipvs::{
    Forwarding, Netmask, Persistence, RealServer, Scheduler, SchedulerFlags, VirtualServer,
};

/// Returns the virtual server of a `ServicePort` at one of its addresses.
pub(super) fn virtual_server(view: &NodeView, port: &PortView, only_local: bool) -> VirtualServer {
    let scheduler = scheduler(view);
    let persistence = port.port.affinity.map(|timeout| Persistence {
        timeout,
        netmask: Netmask::full(port.port.cluster_ip.is_ipv6()),
        engine: None,
    });
    VirtualServer {
        // Maglev hashing would otherwise look at the source address alone.
        flags: SchedulerFlags {
            second: scheduler == Scheduler::Maglev,
            ..SchedulerFlags::default()
        },
        persistence,
        real_servers: real_servers(port, only_local),
        ..VirtualServer::new(scheduler)
    }
}

/// Returns the scheduler that is configured; round robin if none is.
fn scheduler(view: &NodeView) -> Scheduler {
    match view.ipvs.scheduler.as_str() {
        "" => Scheduler::RoundRobin,
        name => Scheduler::parse(name),
    }
}

/// Returns the real servers. Unlike the other modes, policy Local falls back to all endpoints when
/// none is local.
fn real_servers(port: &PortView, only_local: bool) -> Vec<RealServer> {
    if only_local && !port.local.is_empty() {
        port.local_endpoints().map(real_server).collect()
    } else {
        port.cluster_endpoints().map(real_server).collect()
    }
}

fn real_server(endpoint: &Endpoint) -> RealServer {
    RealServer::new(endpoint.address.ip(), endpoint.address.port(), Forwarding::Masquerade)
}
