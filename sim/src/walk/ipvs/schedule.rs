//! Chooses a real server for a new connection (`ip_vs_schedule` of `net/netfilter/ipvs/ip_vs_core.c`).

use kps_flow::{Family, Outcome, Protocol, RejectKind};
use kps_ruleset::Name;
use kps_ruleset::ipvs::{Forwarding, RealServer, Scheduler, ServiceId, VirtualServer};
use num_rational::Ratio;

use super::Scheduled;
use super::find::FTP;
use crate::conntrack::{CtState, Endpoint, Side};
use crate::ipvs::{Load, long_run_shares, reach};
use crate::trace::Deed;
use crate::walk::Walker;
use crate::walk::branch::{Branch, Interrupt};
use crate::walk::options::Options;
use crate::walk::outcome::Premise;

/// What a virtual server makes of a packet that belongs to no connection.
enum Port {
    /// Its real servers get it at this port; `None` is each one's own.
    Sent(Option<u16>),
    /// It is no business of IPVS.
    Ignored,
    /// It is refused.
    Refused,
}

impl Walker<'_> {
    /// Chooses a real server, in every way that the scheduler could; `None` if the packet is for
    /// no virtual server.
    pub(super) fn schedule(
        &self,
        branch: &mut Branch,
        options: Options,
    ) -> Result<Option<Scheduled>, Interrupt> {
        if !may_open(branch) {
            return Ok(None);
        }
        let Some((id, service)) = self.services.find(branch)? else { return Ok(None) };
        let port = match port(id, service, branch.packet.destination_port) {
            Port::Sent(port) => port,
            Port::Ignored => return Ok(None),
            Port::Refused => {
                return Err(refusal(id, "only a persistent service has any port", branch));
            }
        };
        let number = choose(id, service, branch, options)?;
        let Some(real) = service.real_servers.get(number) else {
            return Err(refusal(id, "there is no such real server", branch));
        };
        let scheduled = scheduled(id, number, real, port, branch);
        note_choice(&scheduled, service, branch);
        check_forwarding(real)?;
        Ok(Some(scheduled))
    }
}

/// Tells whether a packet could open a connection: with TCP only a SYN does, and no SYN belongs to
/// what conntrack calls invalid or an answer.
fn may_open(branch: &Branch) -> bool {
    match branch.state {
        Some(CtState::Invalid | CtState::Established | CtState::Reply) => {
            branch.packet.protocol != Protocol::Tcp
        }
        _ => true,
    }
}

/// Without persistence a virtual server takes one port only, unless it goes by mark. The real
/// servers of a persistent one get other ports unchanged (`ip_vs_sched_persist`).
fn port(id: ServiceId, service: &VirtualServer, dialled: Option<u16>) -> Port {
    let ServiceId::Address { port, .. } = id else {
        let unchanged = service.persistence.is_some();
        return Port::Sent(dialled.filter(|_| unchanged));
    };
    match (Some(port) == dialled, service.persistence) {
        (true, _) => Port::Sent(None),
        (false, Some(_)) => Port::Sent(dialled),
        (false, None) if port == FTP => Port::Ignored,
        (false, None) => Port::Refused,
    }
}

/// Returns the number of the real server.
fn choose(
    id: ServiceId,
    service: &VirtualServer,
    branch: &mut Branch,
    options: Options,
) -> Result<usize, Interrupt> {
    if let Scheduler::Other(name) = service.scheduler {
        return Err(unknown(format!("the IPVS scheduler {name}")));
    }
    let reached = reach(service, if options.fresh { Load::Idle } else { Load::Any });
    if reached.servers.is_empty() {
        return Err(refusal(id, "no real server takes connections", branch));
    }
    if reached.refusal && branch.suppose(may_refuse(service.scheduler))? {
        return Err(refusal(id, "the scheduler finds no real server", branch));
    }
    if reached.servers.len() > 1 {
        branch.premises.insert(Premise::SchedulerState);
    }
    let shares = shares(service, &reached.servers);
    let chosen = branch.choose(&shares)?;
    Ok(reached.servers.get(chosen).copied().unwrap_or(usize::MAX))
}

/// Returns the share of each server that could be chosen: in the long run where turns are taken,
/// else the same for all.
fn shares(service: &VirtualServer, reached: &[usize]) -> Vec<Ratio<u64>> {
    let equal = || Ratio::new(1, reached.len().try_into().unwrap_or(u64::MAX));
    match long_run_shares(service) {
        Some(all) => reached.iter().map(|i| all.get(*i).copied().unwrap_or_else(equal)).collect(),
        None => vec![equal(); reached.len()],
    }
}

fn may_refuse(scheduler: Scheduler) -> Name {
    Name::from(format!("the scheduler {scheduler} comes upon a real server that takes nothing"))
}

fn scheduled(
    service: ServiceId,
    number: usize,
    real: &RealServer,
    port: Option<u16>,
    branch: &Branch,
) -> Scheduled {
    let dialled = branch.packet.endpoint(Side::Destination);
    let own = if real.port == 0 { dialled.port } else { Some(real.port) };
    Scheduled {
        service,
        client: branch.packet.endpoint(Side::Source),
        address: dialled,
        server: Endpoint { address: real.address, port: port.or(own) },
        number: number.try_into().unwrap_or(u32::MAX),
    }
}

fn note_choice(scheduled: &Scheduled, service: &VirtualServer, branch: &mut Branch) {
    let (name, to) = (service.scheduler.as_str(), scheduled.server);
    branch.note_service(scheduled.service, Some(scheduled.number), || Deed::Schedules {
        scheduler: Name::new(name),
        to,
    });
}

/// Packets are sent on with their destination rewritten; other methods are not modelled.
fn check_forwarding(real: &RealServer) -> Result<(), Interrupt> {
    match real.method {
        Forwarding::Masquerade => Ok(()),
        other => Err(unknown(format!("IPVS forwarding by {other:?} to {}", real.address))),
    }
}

/// `ip_vs_leave`: the client is told that the port is unreachable.
fn refusal(id: ServiceId, why: &str, branch: &mut Branch) -> Interrupt {
    let kind = match branch.packet.family() {
        Family::V4 => RejectKind::PORT_UNREACHABLE_V4,
        Family::V6 => RejectKind::PORT_UNREACHABLE_V6,
    };
    branch.note_service(id, None, || Deed::Refuses(why.to_owned()));
    branch.note_service(id, None, || Deed::Rejects(kind));
    Interrupt::End(Outcome::Reject(kind))
}

fn unknown(why: String) -> Interrupt {
    Interrupt::End(Outcome::Unknown(why))
}
