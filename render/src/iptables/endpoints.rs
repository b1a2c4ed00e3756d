//! The chains that choose an endpoint, `KUBE-SVC-X` and `KUBE-SVL-X`, and those of the endpoints,
//! `KUBE-SEP-Y`.

use kps_model::Endpoint;
use kps_ruleset::Name;
use kps_ruleset::iptables::{
    Match, Nat, Negatable, PortTest, Probability, Recent, RecentAction, Rule, RuleWriter, Side,
    Statistic, Target,
};

use super::chains::endpoint_chain;
use super::plan::Lines;
use super::port::Port;

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
    let chosen = |indices: &[usize]| -> Vec<&Destination> {
        indices.iter().filter_map(|index| destinations.get(*index)?.as_ref()).collect()
    };
    choose(port, port.chains.cluster, &chosen(&port.port.cluster), nat);
    choose(port, port.chains.local, &chosen(&port.port.local), nat);
    for destination in destinations.iter().flatten() {
        deliver(port, destination, nat);
    }
}

/// Returns the chains of the endpoints that can be reached, at the endpoints' own indices.
fn destinations<'a>(port: &Port<'a>) -> Vec<Option<Destination<'a>>> {
    let endpoints = &port.port.endpoints;
    let mut destinations: Vec<_> = endpoints.iter().map(|_| None).collect();
    for index in &port.port.reachable {
        destinations[*index] = Some(Destination::of(&endpoints[*index], port));
    }
    destinations
}

impl<'a> Destination<'a> {
    fn of(endpoint: &'a Endpoint, port: &Port) -> Destination<'a> {
        let text = endpoint.address.to_string();
        let protocol = port.port.port.key.protocol.lower();
        let comment = port.comment.map(|_| Name::from(format!("{} -> {text}", port.label)));
        Destination { endpoint, chain: endpoint_chain(&port.label, protocol, &text), comment }
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
    if let Some(seconds) = port.port.port.affinity {
        for destination in destinations {
            nat.push(chain, destination.returning(seconds));
        }
    }
    for (index, destination) in destinations.iter().enumerate() {
        nat.push(chain, destination.share(destinations.len() - index));
    }
}

/// Writes the chain of an endpoint.
fn deliver(port: &Port, destination: &Destination, nat: &mut Lines) {
    let chain = destination.chain;
    let address = destination.endpoint.address;
    let start = || commented(port.comment);
    nat.chains.push(chain);
    // An endpoint that talks to itself through the Service must see another source address than
    // its own, or the answer would not come back this way.
    let hairpin = start().source_host(address.ip());
    nat.push(chain, hairpin.target(Target::Jump("KUBE-MARK-MASQ".into())));
    let mut rule = start();
    if port.port.port.affinity.is_some() {
        rule = rule.matching(Match::Recent(Box::new(recent(chain, RecentAction::Set))));
    }
    let rule = rule.load_ports(port.protocol, PortTest::default()).protocol(port.protocol);
    let target = Nat::to(address.ip(), Some(address.port()));
    nat.push(chain, rule.target(Target::Dnat(Box::new(target))));
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
