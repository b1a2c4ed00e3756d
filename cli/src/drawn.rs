//! Draws connections as the mode of a node would spread them: at random, or in turn.
//!
//! The rules of nftables and iptables choose by random numbers, so a draw follows the exact shares
//! with a seed. IPVS has nothing random: its scheduler is run, connection by connection.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kps_flow::{Distribution, Family, Flow, Outcome, RejectKind};
use kps_ruleset::NodeState;
use kps_ruleset::ipvs::VirtualServer;
use kps_sim::Walk;
use kps_sim::draw::{draw, draw_sticky};
use kps_sim::ipvs::{Connection, Settings, VirtualService};

use crate::error::Failure;

/// The connections of a draw.
#[derive(Debug, Clone, Copy)]
pub struct Connections {
    /// How many there are.
    pub number: u64,
    /// How many clients open them, in turn.
    pub clients: u64,
}

/// How connections find where they go.
pub enum Chooser<'a> {
    /// By random numbers, each anew.
    Random,
    /// By random numbers for a client's first connection; the others follow it.
    Sticky,
    /// By an IPVS scheduler, and where each real server's connections end.
    Turns(&'a VirtualServer, BTreeMap<SocketAddr, Outcome>),
}

/// How many connections one client can have at a time: its ports from 1024 on.
const PORTS: u64 = 64_512;

impl<'a> Chooser<'a> {
    /// Returns how the rules of a node choose for the flow of `walk`.
    pub fn of(state: &'a NodeState, walk: &Walk, affinity: bool) -> Chooser<'a> {
        let scheduled = walk.paths.iter().find_map(|path| path.scheduled);
        let service = scheduled.and_then(|it| state.ipvs.services.get(&it.service));
        match service {
            Some(service) => Chooser::Turns(service, ends(walk)),
            None if affinity => Chooser::Sticky,
            None => Chooser::Random,
        }
    }

    /// Tells whether chance decides, so that a seed matters.
    pub fn is_random(&self) -> bool {
        !matches!(self, Chooser::Turns(..))
    }

    /// Tells whether each connection is drawn for itself, so that counts can be tested.
    pub fn is_independent(&self) -> bool {
        matches!(self, Chooser::Random)
    }

    /// Counts where connections go.
    ///
    /// # Errors
    /// If there are more than the clients have ports, or the scheduler cannot be foretold.
    pub fn counts(
        &self,
        flow: &Flow,
        distribution: &Distribution<Outcome>,
        connections: Connections,
        seed: u64,
    ) -> Result<BTreeMap<Outcome, u64>, Failure> {
        let Connections { number, clients } = connections;
        match self {
            Chooser::Random => Ok(draw(distribution, number, seed)),
            Chooser::Sticky => Ok(draw_sticky(distribution, number, clients, seed)),
            Chooser::Turns(service, ends) => in_turn(service, ends, flow, connections),
        }
    }
}

/// Returns where the connections to each real server end.
fn ends(walk: &Walk) -> BTreeMap<SocketAddr, Outcome> {
    let end = |path: &kps_sim::Path| {
        let server = path.scheduled?.server;
        Some((SocketAddr::new(server.address, server.port?), path.outcome.clone()))
    };
    walk.paths.iter().filter_map(end).collect()
}

fn in_turn(
    service: &VirtualServer,
    ends: &BTreeMap<SocketAddr, Outcome>,
    flow: &Flow,
    Connections { number, clients }: Connections,
) -> Result<BTreeMap<Outcome, u64>, Failure> {
    if number > clients.saturating_mul(PORTS) {
        let least = number.div_ceil(PORTS);
        return Err(Failure::Usage(format!(
            "--connections {number}: a client has {PORTS} ports; give at least --clients {least}"
        )));
    }
    let mut service = VirtualService::new(service, Settings::default())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let mut counts: BTreeMap<Outcome, u64> =
        ends.values().map(|outcome| (outcome.clone(), 0)).collect();
    for nth in 0..number {
        let chosen = service.connect(connection(flow, nth, clients));
        let server = chosen.and_then(|id| service.servers().server(id));
        let end = server.and_then(|server| ends.get(&server.address)).cloned();
        *counts.entry(end.unwrap_or(refused(flow))).or_insert(0) += 1;
    }
    Ok(counts)
}

/// What a client is told if the scheduler has no real server for it (`ip_vs_leave`).
fn refused(flow: &Flow) -> Outcome {
    Outcome::Reject(match flow.family() {
        Family::V4 => RejectKind::PORT_UNREACHABLE_V4,
        Family::V6 => RejectKind::PORT_UNREACHABLE_V6,
    })
}

/// Returns the nth connection: clients take turns, and use their ports upwards.
fn connection(flow: &Flow, nth: u64, clients: u64) -> Connection {
    let port = u16::try_from(nth / clients % PORTS).unwrap_or(0);
    let client = neighbour(flow.source, nth % clients);
    Connection {
        protocol: flow.protocol,
        source: SocketAddr::new(client, 1024 + port),
        destination: SocketAddr::new(flow.destination, flow.port),
    }
}

/// Returns the address that lies `distance` behind an address.
fn neighbour(address: Option<IpAddr>, distance: u64) -> IpAddr {
    match address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)) {
        IpAddr::V4(first) => {
            let distance = u32::try_from(distance % (1 << 32)).unwrap_or(0);
            Ipv4Addr::from_bits(first.to_bits().wrapping_add(distance)).into()
        }
        IpAddr::V6(first) => {
            Ipv6Addr::from_bits(first.to_bits().wrapping_add(distance.into())).into()
        }
    }
}
