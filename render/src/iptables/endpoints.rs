//! The chains that choose an endpoint, `KUBE-SVC-X` and `KUBE-SVL-X`, and those of the endpoints,
//! `KUBE-SEP-Y`.

use std::fmt::Write;

use kps_model::Endpoint;
use kps_ruleset::Name;
use kps_ruleset::iptables::{
    Match, Nat, Negatable, PortTest, Probability, Recent, RecentAction, Rule, RuleWriter, Side,
    Statistic, Target,
};

use super::chains::endpoint_chain;
use super::lines::Lines;
use super::port::Port;

/// What stands between a Service and its endpoint in a comment.
const ARROW: &str = " -> ";

/// The chain of an endpoint.
struct Destination<'a> {
    endpoint: &'a Endpoint,
    chain: Name,
    /// The comment of rules that lead there.
    comment: Option<Name>,
}

/// Writes the chains of both policies, as far as they have endpoints, then those of the endpoints.
pub(super) fn write(port: &Port, nat: &mut Lines) {
    let destinations = destinations(port);
    nat.chains.reserve_exact(2 + port.seen.reachable.len());
    nat.runs.reserve_exact(2 + port.seen.reachable.len());
    let chosen = |indices: &[usize]| -> Vec<&Destination> {
        indices.iter().filter_map(|index| destinations.get(*index)?.as_ref()).collect()
    };
    choose(port, port.chains.cluster, &chosen(&port.seen.cluster), nat);
    choose(port, port.chains.local, &chosen(&port.seen.local), nat);
    for destination in destinations.iter().flatten() {
        deliver(port, destination, nat);
    }
}

/// Returns the chains of the endpoints that can be reached, at the endpoints' own indices.
fn destinations<'a>(port: &Port<'a>) -> Vec<Option<Destination<'a>>> {
    let endpoints = &port.seen.endpoints;
    let mut destinations: Vec<_> = endpoints.iter().map(|_| None).collect();
    let mut text = format!("{}{ARROW}", port.label);
    for index in &port.seen.reachable {
        text.truncate(port.label.len() + ARROW.len());
        destinations[*index] = Some(Destination::of(&endpoints[*index], port, &mut text));
    }
    destinations
}

impl<'a> Destination<'a> {
    /// Returns the chain of an endpoint. `text` is the start of the comment and gets the rest.
    fn of(endpoint: &'a Endpoint, port: &Port, text: &mut String) -> Destination<'a> {
        let start = text.len();
        // INVARIANT: writing to a String cannot fail.
        let _ = write!(text, "{}", endpoint.address);
        let protocol = port.service.key.protocol.lower();
        let chain = endpoint_chain(&port.label, protocol, &text[start..]);
        let comment = port.comment.map(|_| Name::new(text));
        Destination { endpoint, chain, comment }
    }

    fn start(&self) -> RuleWriter {
        commented(self.comment)
    }

    /// Returns the rule for clients that have been here within the affinity time.
    fn returning(&self, seconds: u32) -> Rule {
        let recent = Recent {
            seconds: Some(seconds),
            reap: true,
            ..recent(self.chain, RecentAction::Check)
        };
        self.start().matching(Match::Recent(Box::new(recent))).target(Target::Jump(self.chain))
    }

    /// Returns the rule that takes one of so many packets.
    fn share(&self, count: usize) -> Rule {
        let rule = self.start();
        let rule = if count > 1 { rule.matching(one_of(count)) } else { rule };
        rule.target(Target::Jump(self.chain))
    }
}

/// Writes a chain that chooses one of the endpoints with equal probabilities: the first of n rules
/// takes 1/n of all, the next 1/(n - 1) of the rest, and so on.
fn choose(port: &Port, chain: Name, destinations: &[&Destination], nat: &mut Lines) {
    if destinations.is_empty() {
        return;
    }
    nat.chains.push(chain);
    let ways = if port.service.affinity.is_some() { 2 } else { 1 };
    let mut rules = Vec::with_capacity(ways * destinations.len());
    if let Some(seconds) = port.service.affinity {
        rules.extend(destinations.iter().map(|destination| destination.returning(seconds)));
    }
    let left = (1..=destinations.len()).rev();
    rules.extend(destinations.iter().zip(left).map(|(destination, left)| destination.share(left)));
    nat.extend(chain, rules);
}

/// Writes the chain of an endpoint.
fn deliver(port: &Port, destination: &Destination, nat: &mut Lines) {
    nat.chains.push(destination.chain);
    nat.extend(destination.chain, vec![hairpin(port, destination), dnat(port, destination)]);
}

/// An endpoint that talks to itself through the Service must see another source address than its
/// own, or the answer would not come back this way.
fn hairpin(port: &Port, destination: &Destination) -> Rule {
    let rule = commented(port.comment).source_host(destination.endpoint.address.ip());
    rule.target(port.mark_for_masquerade())
}

fn dnat(port: &Port, destination: &Destination) -> Rule {
    let address = destination.endpoint.address;
    let mut rule = commented(port.comment);
    if port.service.affinity.is_some() {
        let recent = recent(destination.chain, RecentAction::Set);
        rule = rule.matching(Match::Recent(Box::new(recent)));
    }
    let rule = rule.load_ports(port.protocol, PortTest::default()).protocol(port.protocol);
    rule.target(Target::Dnat(Box::new(Nat::to(address.ip(), Some(address.port())))))
}

fn commented(comment: Option<Name>) -> RuleWriter {
    match comment {
        Some(comment) => Rule::write().comment(comment),
        None => Rule::write(),
    }
}

fn recent(list: Name, action: RecentAction) -> Recent {
    Recent {
        action: Negatable::is(action),
        seconds: None,
        reap: false,
        hit_count: None,
        ttl: false,
        name: list,
        mask: None,
        side: Side::Source,
    }
}

fn one_of(count: usize) -> Match {
    let probability = Probability::one_of(u32::try_from(count).unwrap_or(u32::MAX));
    Match::Statistic(Statistic::Random { negated: false, probability })
}
