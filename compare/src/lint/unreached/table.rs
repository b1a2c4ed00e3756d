//! The chains of a table: which rules no packet reaches, since an earlier one takes them all.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use kps_ruleset::Name;

use super::shape::{End, Shape};

/// A rule that asks more than this many things is compared with rules that ask one thing or none.
const MOST_ASKED: usize = 8;

/// Chains with their rules.
pub struct Table {
    /// The rules of each chain, in order.
    pub chains: IndexMap<Name, Vec<Shape>>,
}

/// Rules that another one hides, by their places in the chain.
pub struct Hidden {
    /// The rule that takes their packets.
    pub by: usize,
    /// They.
    pub rules: Vec<usize>,
}

impl Table {
    /// Finds the rules of a chain that are behind one which asks no more than they do and ends the
    /// walk. One that would do the same is not missed: kube-proxy writes such, as for the health
    /// check of a Service with several ports.
    pub fn hidden(&self, rules: &[Shape]) -> Vec<Hidden> {
        let mut ending: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut hidden: IndexMap<usize, Vec<usize>> = IndexMap::new();
        for (place, rule) in rules.iter().enumerate() {
            if let Some(by) = subsets(&rule.asks).find_map(|asks| ending.get(&asks).copied()) {
                if rules.get(by).is_none_or(|first| first.effect != rule.effect) {
                    hidden.entry(by).or_default().push(place);
                }
            } else if !rule.is_unsure && self.ends(rule) {
                ending.entry(rule.asks.clone()).or_insert(place);
            }
        }
        hidden.into_iter().map(|(by, rules)| Hidden { by, rules }).collect()
    }

    /// Returns the chains to which some rule leads.
    pub fn led_to(&self) -> HashSet<Name> {
        self.chains.values().flatten().flat_map(|rule| rule.leads_to.iter().copied()).collect()
    }

    /// Tells whether a packet to which a rule applies comes to no later rule of the chain.
    fn ends(&self, rule: &Shape) -> bool {
        match rule.end {
            End::Open => false,
            End::Sure | End::Back | End::Goto(_) => true,
            End::Jump(chain) => self.always_ends(chain, &rule.asks, &mut HashSet::new()),
        }
    }

    /// Tells whether no packet comes back from a chain, given what is known of it. Chains that were
    /// asked about before are taken to let packets back.
    fn always_ends(&self, chain: Name, known: &[u64], asked: &mut HashSet<Name>) -> bool {
        let Some(rules) = self.chains.get(&chain).filter(|_| asked.insert(chain)) else {
            return false;
        };
        for rule in rules {
            let applies = !rule.is_unsure && rule.asks.iter().all(|ask| known.contains(ask));
            match rule.end {
                End::Back | End::Goto(_) => return false,
                End::Sure if applies => return true,
                End::Jump(next) if applies && self.always_ends(next, known, asked) => return true,
                _ => {}
            }
        }
        false
    }
}

/// Returns every selection of what a rule asks, the empty one first.
fn subsets(asks: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let all = if asks.len() <= MOST_ASKED { 1_usize << asks.len() } else { 1 };
    let single = if asks.len() <= MOST_ASKED { &[] } else { asks };
    let chosen = (0..all).map(|bits| {
        let is_in = |(place, ask): (usize, &u64)| (bits >> place & 1 == 1).then_some(*ask);
        asks.iter().enumerate().filter_map(is_in).collect()
    });
    chosen.chain(single.iter().map(|ask| vec![*ask]))
}
