//! Walks packets through a node's whole state.
//!
//! A [`Walker`] is made once of a node's state and then asked about flows. `stack` is the kernel
//! around the rules, `hooks` the order of everything hooked into it, a folder for each rule
//! language walks its chains, and `ipvs` sends packets to real servers. Where the kernel would draw at random, or the model cannot know, a
//! walk splits into `branch`es; `outcome` gathers their ends into a [`Walk`].

pub(crate) mod ask;
pub(crate) mod branch;
pub(crate) mod chains;
pub(crate) mod datum;
mod hooks;
pub(crate) mod iptables;
pub(crate) mod ipvs;
pub(crate) mod nftables;
mod options;
mod outcome;
mod routing;
mod stack;
pub(crate) mod translation;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use kps_flow::{Answer, Dataplane, Family, Flow, Outcome};
use kps_ruleset::NodeState;
use kps_ruleset::iptables::print_rule;
use kps_ruleset::nftables::TableFamily;

use crate::classes::watch::Watch;
use crate::conntrack::CtState;
use crate::host::Network;
use crate::packet::Packet;
use crate::trace::{Language, RulePlace};
use branch::{Branch, Interrupt};
use hooks::Hooks;
use stack::Stage;

pub use branch::scaled_share;
pub use ipvs::Scheduled;
pub use options::Options;
pub use outcome::{Assumption, Path, Pick, Premise, Walk};

/// Walks packets through the state of one node.
#[derive(Debug)]
pub struct Walker<'a> {
    state: &'a NodeState,
    network: Network,
    nftables: nftables::program::Program,
    iptables: iptables::Program<'a>,
    hooks: Hooks,
    services: ipvs::find::Services<'a>,
}

impl<'a> Walker<'a> {
    /// Prepares a node's state: indexes sets and routes, resolves chains, orders hooks.
    #[must_use]
    pub fn new(state: &'a NodeState) -> Walker<'a> {
        Walker {
            state,
            network: Network::new(&state.host),
            nftables: nftables::compile::compile(&state.nftables),
            iptables: iptables::compile(&state.iptables, &state.ipset),
            hooks: Hooks::new(state),
            services: ipvs::find::Services::new(&state.ipvs),
        }
    }

    /// Returns what the node's addresses and routes mean.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns what is assumed because no dump says it.
    #[must_use]
    pub fn assumed(&self) -> Vec<String> {
        let mut all = self.network.assumed().to_vec();
        all.extend(iptables::assumed(self.state));
        all
    }

    /// Returns the rule at a place of a trace, as its tool prints it.
    #[must_use]
    pub fn rule_text(&self, place: &RulePlace) -> Option<String> {
        let at = usize::try_from(place.rule?).ok()?;
        match place.language {
            Language::Nftables => {
                let table = self.state.nftables.table(place.family, &place.table)?;
                table.chains.get(&place.chain)?.rules.get(at).map(ToString::to_string)
            }
            Language::Iptables => {
                let v6 = place.family == TableFamily::Ip6;
                let tables = if v6 { &self.state.iptables.v6 } else { &self.state.iptables.v4 };
                let rule = tables.chain(&place.table, &place.chain)?.rules.get(at)?;
                Some(print_rule(rule, tables.family))
            }
            Language::Ipvs => None,
        }
    }

    /// Walks the packet of a flow that `options` describe, in every way that it can take.
    ///
    /// A packet of a known connection is walked after its first one, with the translations that
    /// each branch of that gave it.
    #[must_use]
    pub fn walk(&self, flow: &Flow, options: &Options) -> Walk {
        match options.state {
            CtState::Established | CtState::Reply => self.follow(flow, *options),
            _ => self.explore(vec![first(flow, *options)], 0, *options),
        }
    }

    /// Walks the packet of a class, and tells `watch` what is asked of it. Sets that rules add to are
    /// taken to be empty.
    pub(crate) fn walk_class(&self, packet: Packet, watch: Rc<Watch>) -> Walk {
        let options = Options { fresh: true, ..Options::default() };
        let stage = if packet.owned { Stage::Starts } else { Stage::Arrives };
        let mut branch = Branch::new(packet, stage, options.trace);
        branch.watch = Some(watch);
        self.explore(vec![branch], 0, options)
    }

    /// Runs branches to their ends, splitting them at questions.
    fn explore(&self, mut waiting: Vec<Branch>, mut questions: u32, options: Options) -> Walk {
        let mut paths = Vec::new();
        while let Some(mut branch) = waiting.pop() {
            let fork = match self.advance(&mut branch, options) {
                Interrupt::End(outcome) => {
                    paths.push(Path::new(&branch, outcome));
                    continue;
                }
                Interrupt::Fork(fork) => fork,
            };
            if paths.len() + waiting.len() > MOST_BRANCHES {
                paths.push(Path::new(&branch, Outcome::Unknown(TOO_MANY.to_owned())));
                continue;
            }
            waiting.extend(branch.split(&fork, questions).into_iter().rev());
            questions += 1;
        }
        Walk { paths }
    }

    fn follow(&self, flow: &Flow, options: Options) -> Walk {
        let opening = Options { state: CtState::New, trace: false, ..options };
        let first = self.explore(vec![first(flow, opening)], 0, opening);
        let questions = first.questions();
        let mut ended = Vec::new();
        let mut waiting = Vec::new();
        for path in first.paths {
            match self.next_packet(&path, flow, options) {
                Some(branch) => waiting.push(branch),
                None => ended.push(path),
            }
        }
        waiting.reverse();
        let mut walk = self.explore(waiting, questions, options);
        walk.paths.splice(0..0, ended);
        walk
    }

    /// Returns a later packet of the connection that a path opened; `None` for an answer to a
    /// packet that did not get through.
    fn next_packet(&self, path: &Path, flow: &Flow, options: Options) -> Option<Branch> {
        let mut branch = if options.state == CtState::Reply {
            let packet = self.answer(path)?;
            let stage = if packet.owned { Stage::Starts } else { Stage::Arrives };
            Branch::new(packet, stage, options.trace)
        } else {
            first(flow, options)
        };
        branch.connection = path.connection.filter(|_| path.got_through());
        branch.weight = path.weight.clone();
        branch.supposed.clone_from(&path.supposed);
        branch.scheduled = path.scheduled.filter(|_| path.got_through());
        branch.premises.clone_from(&path.premises);
        Some(branch)
    }

    /// Returns the answer to the packet of a path that got through.
    fn answer(&self, path: &Path) -> Option<Packet> {
        let reply = path.connection.filter(|_| path.got_through())?.reply();
        let owned = self.network.is_local(reply.source);
        Some(Packet {
            source: reply.source,
            source_port: reply.source_port,
            destination: reply.destination,
            destination_port: reply.destination_port,
            protocol: reply.protocol,
            mark: crate::mark::Mark::ZERO,
            input: if owned { None } else { path.packet.output },
            output: None,
            owned,
            served: false,
        })
    }

    /// Tells whether the answer to a packet that got through comes back to this node, where alone
    /// its translations can be undone: it does if it goes to this node or to something behind it,
    /// or comes from there.
    #[must_use]
    pub fn answer_returns(&self, path: &Path) -> Option<bool> {
        path.got_through().then(|| {
            self.network.is_behind(path.packet.source)
                || self.network.is_behind(path.packet.destination)
        })
    }
}

impl Dataplane for Walker<'_> {
    /// Answers for the first packet of a connection into fresh state.
    fn decide(&self, flow: &Flow) -> Answer {
        let options = Options { fresh: true, ..Options::default() };
        Answer::Exact(self.walk(flow, &options).distribution())
    }
}

/// A walk that splits into more branches than this is cut off.
const MOST_BRANCHES: usize = 1 << 17;
const TOO_MANY: &str = "the walk splits into too many branches";

/// Returns the branch that every walk of a first packet starts from.
fn first(flow: &Flow, options: Options) -> Branch {
    let source = flow.source.unwrap_or_else(|| unspecified(flow.family()));
    let stage = if flow.interface.is_some() { Stage::Arrives } else { Stage::Starts };
    Branch::new(Packet::opening(flow, source), stage, options.trace)
}

fn unspecified(family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
        Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
    }
}
