//! Whether matches hold.

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::iptables::{self as ipt, Match, Statistic, print_match};
use num_rational::Ratio;

use super::Run;
use crate::trace::Deed;
use crate::walk::branch::{Branch, Interrupt};
use crate::walk::chains::Chains;
use crate::walk::ipvs::Scheduled;

impl Run<'_> {
    /// Tells whether a match holds. Where the model cannot tell, the walk splits.
    pub(super) fn holds(&self, test: &Match, branch: &mut Branch) -> Result<bool, Interrupt> {
        self.asks_match(test, branch);
        let answer = match test {
            Match::Comment(_) | Match::Nfacct(_) => Some(true),
            Match::Statistic(statistic) => return self.statistic(*statistic, branch),
            Match::Recent(recent) => Some(self.recent(recent, branch)),
            Match::Limit(_) => Some(self.below_limit(test, true, branch)),
            Match::Hashlimit(limit) => {
                let holds = !limit.options.contains("--hashlimit-above");
                Some(self.below_limit(test, holds, branch))
            }
            Match::Set(set) => self.set(set, branch),
            Match::Conntrack(conntrack) => self.view(branch).conntrack(conntrack),
            Match::State(states) => Some(self.view(branch).states(*states)),
            Match::Connmark(mark) => self.view(branch).connection_mark(*mark),
            Match::Ipvs(ipvs) => {
                let (packet, scheduled) = (&branch.packet, branch.scheduled.as_ref());
                Scheduled::meets(ipvs, packet, scheduled, branch.state)
            }
            _ => self.view(branch).headers(test),
        };
        if let Some(holds) = answer {
            return Ok(holds);
        }
        let place = self.place(branch.frame());
        self.suppose(Name::from(format!("a match on {} ({place})", text(test, branch))), branch)
    }

    /// `net/netfilter/xt_statistic.c`: a fresh draw each time, or a counter that wraps. Of a fresh
    /// counter, the first packet is that of number 0.
    fn statistic(&self, statistic: Statistic, branch: &mut Branch) -> Result<bool, Interrupt> {
        let (negated, probability) = match statistic {
            Statistic::Nth { negated, packet, .. } => return Ok((packet == 0) != negated),
            Statistic::Random { negated, probability } => (negated, probability),
        };
        let plain = Ratio::new(u64::from(probability.chances()), u64::from(ipt::Probability::ONE));
        let share = if negated { Ratio::from_integer(1) - plain } else { plain };
        let hit = branch.chance(share)?;
        self.note(branch, || Deed::Tossed { share, hit });
        Ok(hit)
    }

    /// A rate is taken not to be exceeded.
    fn below_limit(&self, test: &Match, holds: bool, branch: &mut Branch) -> bool {
        let what = Name::from(format!("the rate of {} is not exceeded", text(test, branch)));
        self.note(branch, || Deed::Assumes { what, holds: true });
        holds
    }
}

/// Returns a match as the tools print it.
fn text(test: &Match, branch: &Branch) -> String {
    let family = match branch.packet.family() {
        Family::V4 => ipt::Family::Ipv4,
        Family::V6 => ipt::Family::Ipv6,
    };
    print_match(test, family)
}
