//! `wrr`: one after the other, the heavier ones more often (`ip_vs_wrr.c`).

use num_integer::gcd;

use super::Scheduler;
use crate::ipvs::connection::Connection;
use crate::ipvs::server::{Change, RealServers, ServerId};

/// Passes over the list, each for servers of at least a certain weight, which falls from pass to
/// pass from the greatest weight to the least.
#[derive(Debug, Clone, Default)]
pub struct WeightedRoundRobin {
    /// The place in the list where the last connection went; `None` is before its head.
    last: Option<usize>,
    /// The weight that this pass asks for (`cw`).
    required: i64,
    /// What the first pass asks for (`mw`): the greatest weight, less so much that the last pass
    /// asks for 1.
    greatest: i64,
    /// How much less each pass asks for (`di`): the common divisor of the weights.
    step: i64,
}

/// How far a search has come.
struct Search {
    /// Where it began.
    start: Option<usize>,
    /// This pass asks for weight 1: after it, all have been asked.
    last_pass: bool,
    /// The last server to ask in this pass.
    stop: Option<usize>,
    /// All passes began anew.
    restarted: bool,
}

impl Scheduler for WeightedRoundRobin {
    fn schedule(&mut self, servers: &RealServers, _: &Connection) -> Option<ServerId> {
        if self.greatest == 0 {
            return None;
        }
        let mut search =
            Search { start: self.last, last_pass: false, stop: None, restarted: false };
        loop {
            if let Some(position) = self.pass(servers, search.stop) {
                self.last = Some(position);
                return servers.at(position).map(|(id, _)| id);
            }
            if search.stop.is_some() || !self.next_pass(servers, &mut search) {
                return None;
            }
        }
    }

    fn changed(&mut self, servers: &RealServers, _: Change) {
        let weights = || servers.iter().map(|(_, server)| i64::from(server.weight));
        self.last = None;
        self.step = weights().filter(|weight| *weight > 0).fold(0, gcd).max(1);
        self.greatest = weights().max().unwrap_or(0) - (self.step - 1);
        if self.required > self.greatest || self.required == 0 {
            self.required = self.greatest;
        } else if self.step > 1 {
            self.required = self.required / self.step * self.step + 1;
        }
    }
}

impl WeightedRoundRobin {
    /// Returns the first suitable server after the cursor, up to `stop`. If it comes to `stop`, the
    /// cursor stays there, else at the head.
    fn pass(&mut self, servers: &RealServers, stop: Option<usize>) -> Option<usize> {
        let next = self.last.map_or(0, |last| last + 1);
        let end = stop.map_or(servers.len(), |stop| stop + 1);
        let suits = |position: &usize| {
            servers.at(*position).is_some_and(|(_, server)| {
                !server.overloaded && i64::from(server.weight) >= self.required
            })
        };
        let found = (next..end).find(suits);
        self.last = stop;
        found
    }

    /// Asks for less from now on; tells whether there is anyone left to ask.
    fn next_pass(&mut self, servers: &RealServers, search: &mut Search) -> bool {
        self.required -= self.step;
        self.skip_useless_passes(servers);
        if self.required <= 0 {
            self.required = self.greatest;
            if search.last_pass || search.start.is_none() {
                return false;
            }
            search.restarted = true;
        }
        search.last_pass = self.required <= self.step;
        if search.last_pass && search.restarted {
            search.stop = search.start;
        }
        true
    }

    /// Leaves out passes that ask for more than any server has, but not the last one. The kernel
    /// goes through them, to the same end.
    fn skip_useless_passes(&mut self, servers: &RealServers) {
        let fit = servers.iter().filter(|(_, server)| !server.overloaded);
        let heaviest = fit.map(|(_, server)| i64::from(server.weight)).max().unwrap_or(0).max(1);
        // INVARIANT: what passes ask for is 1 more than a multiple of the step, so this stops at 1.
        let useless = (self.required - heaviest).max(0);
        self.required -= (useless + self.step - 1) / self.step * self.step;
    }
}
