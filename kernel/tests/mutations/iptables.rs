//! Changes to iptables rules.

use kps_ruleset::iptables::{
    Chain, Family, Match, PortRange, Probability, Rule, Statistic, Table, Target, XMark,
    builtin_chains, print_rule,
};
use kps_ruleset::nftables::TableFamily;
use kps_ruleset::{Name, NodeState};

use crate::mutant::{Kind, Mutant, Site};

/// Returns every change that there is to the iptables rules of a node.
pub fn mutants(state: &NodeState) -> Vec<Mutant> {
    let mut all = Vec::new();
    for family in [Family::Ipv4, Family::Ipv6] {
        for (name, table) in &state.iptables.family(family).tables {
            all.extend(of_table(family, *name, table));
        }
    }
    all
}

/// Where a chain is.
#[derive(Clone, Copy)]
struct Place {
    family: Family,
    table: Name,
    chain: Name,
}

impl Place {
    fn chain_of(self, state: &mut NodeState) -> &mut Chain {
        &mut state.iptables.family_mut(self.family).tables[&self.table].chains[&self.chain]
    }

    fn site(self, rule: Option<usize>) -> Site {
        let v6 = self.family == Family::Ipv6;
        let family = if v6 { TableFamily::Ip6 } else { TableFamily::Ip };
        Site { family, table: self.table, chain: self.chain, rule }
    }

    fn text(self) -> String {
        let tool = if self.family == Family::Ipv4 { "iptables" } else { "ip6tables" };
        format!("{tool} {} {}", self.table, self.chain)
    }
}

fn of_table(family: Family, table: Name, rules: &Table) -> Vec<Mutant> {
    let mut all = Vec::new();
    let place = |chain| Place { family, table, chain };
    for (name, chain) in &rules.chains {
        for (at, rule) in chain.rules.iter().enumerate() {
            all.extend(of_rule(place(*name), at, rule));
            all.extend(moved(place(*name), at, rule));
        }
        all.extend((1..chain.rules.len()).map(|at| swapped(place(*name), at)));
    }
    let regular: Vec<Name> = rules
        .chains
        .iter()
        .filter(|(_, chain)| chain.policy.is_none() && !chain.rules.is_empty())
        .map(|(name, _)| *name)
        .collect();
    for pair in regular.windows(2) {
        let (one, other) = (place(pair[0]), place(pair[1]));
        all.push(Mutant {
            kind: Kind::SwapChains,
            place: format!("{} and {}", one.text(), other.chain),
            sites: vec![one.site(None), other.site(None)],
            apply: Box::new(move |state| {
                let rules = std::mem::take(&mut one.chain_of(state).rules);
                let rules = std::mem::replace(&mut other.chain_of(state).rules, rules);
                one.chain_of(state).rules = rules;
            }),
        });
    }
    all
}

fn swapped(place: Place, at: usize) -> Mutant {
    Mutant {
        kind: Kind::SwapRules,
        place: format!("{} rules {at} and {}", place.text(), at + 1),
        sites: vec![place.site(Some(at - 1)), place.site(Some(at))],
        apply: Box::new(move |state| place.chain_of(state).rules.swap(at - 1, at)),
    }
}

/// A rule of a built-in chain that goes to the chain of a later hook.
fn moved(place: Place, at: usize, rule: &Rule) -> Option<Mutant> {
    let builtin = builtin_chains(place.table.as_str());
    let own = builtin.iter().position(|name| *name == place.chain.as_str())?;
    let later = Place { chain: Name::new(builtin.get(own + 1)?), ..place };
    Some(Mutant {
        kind: Kind::HookLater,
        sites: vec![place.site(Some(at)), later.site(None)],
        place: format!("{} rule {}: {}", later.text(), at + 1, print_rule(rule, place.family)),
        apply: Box::new(move |state| {
            let rule = place.chain_of(state).rules.remove(at);
            later.chain_of(state).rules.push(rule);
        }),
    })
}

fn of_rule(place: Place, at: usize, rule: &Rule) -> Vec<Mutant> {
    let text = |rule: &Rule| {
        format!("{} rule {}: {}", place.text(), at + 1, print_rule(rule, place.family))
    };
    let mut all = vec![Mutant {
        kind: kind_of_drop(rule),
        place: text(rule),
        sites: vec![place.site(Some(at))],
        apply: Box::new(move |state| {
            place.chain_of(state).rules.remove(at);
        }),
    }];
    let targets = rule.target.iter().filter_map(other_target);
    let mut changed: Vec<(Kind, Rule)> = targets
        .map(|(kind, target)| (kind, Rule { target: Some(target), ..rule.clone() }))
        .collect();
    for (index, test) in rule.matches.iter().enumerate() {
        if let Some((kind, test)) = other_match(test) {
            let mut rule = rule.clone();
            rule.matches[index] = test;
            changed.push((kind, rule));
        }
    }
    for negate in [negate_source, negate_destination] {
        let mut rule = rule.clone();
        if negate(&mut rule) {
            changed.push((Kind::NegateMatch, rule));
        }
    }
    all.extend(changed.into_iter().map(|(kind, rule)| Mutant {
        kind,
        place: text(&rule),
        sites: vec![place.site(Some(at))],
        apply: Box::new(move |state| place.chain_of(state).rules[at] = rule.clone()),
    }));
    all
}

fn kind_of_drop(rule: &Rule) -> Kind {
    let is_recent = |test: &Match| matches!(test, Match::Recent(_));
    match rule.target {
        Some(Target::Masquerade(_)) => Kind::DropMasquerade,
        _ if rule.matches.iter().any(is_recent) => Kind::DropAffinity,
        _ => Kind::DropRule,
    }
}

fn negate_source(rule: &mut Rule) -> bool {
    rule.header.source.as_mut().map(|source| source.negated = !source.negated).is_some()
}

fn negate_destination(rule: &mut Rule) -> bool {
    rule.header.destination.as_mut().map(|to| to.negated = !to.negated).is_some()
}

fn other_target(target: &Target) -> Option<(Kind, Target)> {
    Some(match target {
        Target::Accept | Target::Jump(_) | Target::Goto(_) | Target::Reject(_) => {
            (Kind::ChangeVerdict, Target::Drop)
        }
        Target::Drop | Target::Return => (Kind::ChangeVerdict, Target::Accept),
        Target::Mark(mark) => {
            let other = XMark { value: mark.value << 1, mask: mark.mask << 1 };
            (Kind::ChangeMark, Target::Mark(other))
        }
        Target::Dnat(nat) => {
            let mut nat = nat.clone();
            let range = &mut nat.ports.as_mut()?.range;
            *range = PortRange { first: range.first ^ 1, last: range.first ^ 1 };
            (Kind::ChangeEndpoint, Target::Dnat(nat))
        }
        _ => return None,
    })
}

fn other_match(test: &Match) -> Option<(Kind, Match)> {
    Some(match test {
        Match::Mark(mark) => {
            let mut mark = *mark;
            mark.value.value <<= 1;
            mark.value.mask <<= 1;
            (Kind::ChangeMark, Match::Mark(mark))
        }
        Match::Statistic(Statistic::Random { negated, probability }) => {
            let probability = Probability::new(probability.chances() / 2);
            let statistic = Statistic::Random { negated: *negated, probability };
            (Kind::ChangeShare, Match::Statistic(statistic))
        }
        Match::Recent(recent) => {
            let mut recent = recent.clone();
            recent.seconds = Some(recent.seconds? / 2);
            (Kind::ChangeTimeout, Match::Recent(recent))
        }
        Match::Conntrack(conntrack) => {
            let mut conntrack = conntrack.clone();
            let states = conntrack.states.as_mut()?;
            states.negated = !states.negated;
            (Kind::NegateMatch, Match::Conntrack(conntrack))
        }
        Match::AddrType(kind) => {
            let mut kind = *kind;
            for side in [&mut kind.source, &mut kind.destination].into_iter().flatten() {
                side.negated = !side.negated;
            }
            (Kind::NegateMatch, Match::AddrType(kind))
        }
        _ => return None,
    })
}
