//! What can be said of a virtual server without knowing its state: who could be chosen at all, and
//! how often in the long run.
//!
//! No dump shows a scheduler's cursor or the order of the real servers in the kernel, so this is
//! all that a dump can be asked.

use kps_ruleset::ipvs::{RealServer, Scheduler, VirtualServer};
use num_rational::Ratio;

/// How much is assumed to be going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// No connections yet.
    Idle,
    /// Any connections.
    Any,
}

/// Who could be chosen for a new connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The real servers, as indices into those of the virtual server, rising.
    pub servers: Vec<usize>,
    /// Whether it could be refused.
    pub refusal: bool,
}

/// Returns who could be chosen for a new connection in some state of the scheduler and in some
/// order of the real servers.
#[must_use]
pub fn reach(server: &VirtualServer, load: Load) -> Reach {
    let usable = indices(server, |real| real.weight > 0);
    Reach { refusal: may_refuse(server, load), servers: chosen(server, usable, load) }
}

/// Returns the share of each real server in the long run, as long as nothing changes and no
/// threshold is reached; `None` where it depends on the connections.
#[must_use]
pub fn long_run_shares(server: &VirtualServer) -> Option<Vec<Ratio<u64>>> {
    let turns = turns(server)?;
    let total = turns.iter().sum::<u64>().max(1);
    Some(turns.iter().map(|turns| Ratio::new(*turns, total)).collect())
}

/// Returns after how many connections a scheduler begins anew, and how many of them each real
/// server gets; `None` where it depends on the connections.
#[must_use]
pub fn cycle(server: &VirtualServer) -> Option<(u64, Vec<u64>)> {
    let turns = turns(server)?;
    let divisor = turns.iter().copied().fold(0, num_integer::gcd).max(1);
    let turns: Vec<u64> = turns.iter().map(|turns| turns / divisor).collect();
    Some((turns.iter().sum(), turns))
}

fn turns(server: &VirtualServer) -> Option<Vec<u64>> {
    let weights = server.real_servers.iter().map(|real| real.weight);
    match server.scheduler {
        Scheduler::RoundRobin => Some(weights.map(|weight| weight.min(1).into()).collect()),
        Scheduler::WeightedRoundRobin => Some(weights.map(u64::from).collect()),
        _ => None,
    }
}

fn chosen(server: &VirtualServer, usable: Vec<usize>, load: Load) -> Vec<usize> {
    match (server.scheduler, load) {
        // Without connections, the heaviest has the shortest expected delay.
        (Scheduler::ShortestExpectedDelay | Scheduler::Overflow, Load::Idle)
        | (Scheduler::FailOver, _) => heaviest(server, load),
        _ => usable,
    }
}

/// Returns the heaviest real servers, and under load also those that take over from servers with
/// a threshold.
fn heaviest(server: &VirtualServer, load: Load) -> Vec<usize> {
    let lasting = |real: &&RealServer| load == Load::Idle || real.upper_threshold == 0;
    let floor = server.real_servers.iter().filter(lasting).map(|real| real.weight).max();
    let floor = floor.unwrap_or(0).max(1);
    indices(server, |real| real.weight >= floor)
}

fn may_refuse(server: &VirtualServer, load: Load) -> bool {
    let real = &server.real_servers;
    let may_fill_up = |real: &RealServer| load == Load::Any && real.upper_threshold > 0;
    let may_be_full = |real: &RealServer| real.weight == 0 || may_fill_up(real);
    match server.scheduler {
        Scheduler::Overflow if load == Load::Any => true,
        Scheduler::DestinationHashing => real.is_empty() || real.iter().any(may_be_full),
        Scheduler::SourceHashing | Scheduler::Maglev if !server.flags.first => {
            real.is_empty() || real.iter().any(may_be_full)
        }
        _ => real.iter().all(may_be_full),
    }
}

fn indices(server: &VirtualServer, wanted: impl Fn(&RealServer) -> bool) -> Vec<usize> {
    let real = server.real_servers.iter().enumerate();
    real.filter(|(_, real)| wanted(real)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use kps_ruleset::ipvs::Forwarding;

    use super::*;

    fn virtual_server(scheduler: Scheduler, weights: &[u32]) -> VirtualServer {
        let mut server = VirtualServer::new(scheduler);
        for (last, weight) in (1..).zip(weights) {
            let address = [10, 244, 0, last].into();
            let real = RealServer::new(address, 80, Forwarding::Masquerade);
            server.real_servers.push(RealServer { weight: *weight, ..real });
        }
        server
    }

    #[test]
    fn a_server_of_weight_0_is_out_of_reach() {
        let reached = reach(&virtual_server(Scheduler::RoundRobin, &[1, 0, 1]), Load::Idle);
        assert_eq!(reached, Reach { servers: vec![0, 2], refusal: false });
        let reached = reach(&virtual_server(Scheduler::RoundRobin, &[0]), Load::Idle);
        assert_eq!(reached, Reach { servers: vec![], refusal: true });
    }

    #[test]
    fn buckets_of_a_server_of_weight_0_refuse() {
        let mut server = virtual_server(Scheduler::SourceHashing, &[1, 0]);
        assert!(reach(&server, Load::Idle).refusal);
        server.flags.first = true;
        assert!(!reach(&server, Load::Idle).refusal);
    }

    #[test]
    fn fail_over_reaches_down_to_the_heaviest_without_a_threshold() {
        let mut server = virtual_server(Scheduler::FailOver, &[1, 3, 2, 3]);
        assert_eq!(reach(&server, Load::Any).servers, [1, 3]);
        server.real_servers[1].upper_threshold = 10;
        server.real_servers[3].upper_threshold = 10;
        assert_eq!(reach(&server, Load::Idle).servers, [1, 3]);
        assert_eq!(reach(&server, Load::Any).servers, [1, 2, 3]);
    }

    #[test]
    fn shares_are_known_where_turns_are_taken() {
        let shares = long_run_shares(&virtual_server(Scheduler::WeightedRoundRobin, &[4, 2, 0]));
        assert_eq!(shares, Some(vec![Ratio::new(2, 3), Ratio::new(1, 3), Ratio::new(0, 1)]));
        let server = virtual_server(Scheduler::WeightedRoundRobin, &[4, 2]);
        assert_eq!(cycle(&server), Some((3, vec![2, 1])));
        assert_eq!(long_run_shares(&virtual_server(Scheduler::NeverQueue, &[1])), None);
    }
}
