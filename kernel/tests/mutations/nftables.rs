//! Changes to nftables rules.

use kps_ruleset::nftables::{
    BaseChain, Chain, Data, Element, Expr, Hook, Mangle, MapLookup, MapSource, Match, Nat, NatKind,
    Relation, Rule, Set, Statement, Table, Value, Verdict, VerdictMap,
};
use kps_ruleset::{Name, NodeState};

use crate::mutant::{Kind, Mutant, Site};

/// Returns every change that there is to the nftables rules of a node.
pub fn mutants(state: &NodeState) -> Vec<Mutant> {
    let tables = state.nftables.tables.iter().enumerate();
    tables.flat_map(|(number, table)| of_table(number, table)).collect()
}

/// Where a chain is.
#[derive(Clone, Copy)]
struct At {
    table: usize,
    site: Site,
}

impl At {
    fn rules(self, state: &mut NodeState) -> &mut Vec<Rule> {
        &mut state.nftables.tables[self.table].chains[&self.site.chain].rules
    }

    fn rule(self, rule: usize) -> Site {
        Site { rule: Some(rule), ..self.site }
    }

    fn text(self) -> String {
        format!("{} chain {}", self.site.family.as_str(), self.site.chain)
    }
}

fn of_table(number: usize, table: &Table) -> Vec<Mutant> {
    let mut all = Vec::new();
    let at = |chain| {
        let site = Site { family: table.family, table: table.name, chain, rule: None };
        At { table: number, site }
    };
    for (name, chain) in &table.chains {
        all.extend(of_chain(at(*name), chain));
        for (rule, text) in chain.rules.iter().enumerate() {
            all.extend(of_rule(at(*name), rule, text));
        }
    }
    let regular: Vec<At> = regular(table).map(at).collect();
    for pair in regular.windows(2) {
        let (one, other) = (pair[0], pair[1]);
        all.push(Mutant {
            kind: Kind::SwapChains,
            place: format!("{} and {}", one.text(), other.site.chain),
            sites: vec![one.site, other.site],
            apply: Box::new(move |state| {
                let rules = std::mem::take(one.rules(state));
                *one.rules(state) = std::mem::replace(other.rules(state), rules);
            }),
        });
    }
    for (name, set) in &table.sets {
        let place = format!("{} set {name}", table.family.as_str());
        all.extend(of_set(number, *name, set, &place));
    }
    all
}

fn regular(table: &Table) -> impl Iterator<Item = Name> {
    table.chains.iter().filter(|(_, chain)| chain.base.is_none()).map(|(name, _)| *name)
}

fn of_chain(at: At, chain: &Chain) -> Vec<Mutant> {
    let mut all = Vec::new();
    if let Some(base) = &chain.base {
        let hooked = |text: &str, edit: fn(&mut BaseChain)| Mutant {
            kind: Kind::HookLater,
            place: format!("{}: {text}", at.text()),
            sites: vec![at.site],
            apply: Box::new(move |state| {
                let chains = &mut state.nftables.tables[at.table].chains;
                chains[&at.site.chain].base.as_deref_mut().into_iter().for_each(edit);
            }),
        };
        all.push(hooked("100 behind its priority", |base| base.priority += 100));
        let next: Option<fn(&mut BaseChain)> = match base.hook {
            Hook::Prerouting => Some(|base| base.hook = Hook::Input),
            Hook::Input => Some(|base| base.hook = Hook::Forward),
            Hook::Forward | Hook::Output => Some(|base| base.hook = Hook::Postrouting),
            _ => None,
        };
        all.extend(next.map(|next| hooked("at the next hook", next)));
    }
    for rule in 1..chain.rules.len() {
        all.push(Mutant {
            kind: Kind::SwapRules,
            place: format!("{} rules {rule} and {}", at.text(), rule + 1),
            sites: vec![at.rule(rule - 1), at.rule(rule)],
            apply: Box::new(move |state| at.rules(state).swap(rule - 1, rule)),
        });
    }
    all
}

fn of_rule(at: At, number: usize, rule: &Rule) -> Vec<Mutant> {
    let place = format!("{} rule {}", at.text(), number + 1);
    let mut all = vec![Mutant {
        kind: Kind::DropRule,
        place: format!("{place}: {rule}"),
        sites: vec![at.rule(number)],
        apply: Box::new(move |state| {
            at.rules(state).remove(number);
        }),
    }];
    for (index, statement) in rule.statements.iter().enumerate() {
        for (kind, replacement) in replacements(statement) {
            let mut statements = rule.statements.to_vec();
            statements.splice(index..=index, replacement);
            let changed = Rule { statements: statements.into(), ..rule.clone() };
            all.push(Mutant {
                kind,
                place: format!("{place}: {changed}"),
                sites: vec![at.rule(number)],
                apply: Box::new(move |state| at.rules(state)[number] = changed.clone()),
            });
        }
    }
    all
}

/// Returns what may stand instead of a statement.
fn replacements(statement: &Statement) -> Vec<(Kind, Option<Statement>)> {
    match statement {
        Statement::Match(test) => tests(test),
        Statement::Verdict(verdict) => {
            vec![(Kind::ChangeVerdict, Some(Statement::Verdict(other_verdict(*verdict))))]
        }
        Statement::Reject(_) => {
            vec![(Kind::ChangeVerdict, Some(Statement::Verdict(Verdict::Drop)))]
        }
        Statement::Mangle(mangle) => {
            let set = |value| Statement::Mangle(Mangle { value, ..mangle.clone() });
            marked(&mangle.value)
                .map(|value| (Kind::ChangeMark, Some(set(value))))
                .into_iter()
                .collect()
        }
        Statement::Nat(nat) if nat.kind == NatKind::Masquerade => {
            vec![(Kind::DropMasquerade, None)]
        }
        Statement::Nat(nat) => {
            let to = |address| Statement::Nat(Nat { address: Some(address), ..nat.clone() });
            let changed = nat.address.iter().flat_map(chosen);
            changed.map(|(kind, address)| (kind, Some(to(address)))).collect()
        }
        Statement::VerdictMap(VerdictMap { key, map }) => {
            let lookup = MapLookup { key: key.clone(), map: map.clone() };
            let to = |it: MapLookup| Statement::VerdictMap(VerdictMap { key: it.key, map: it.map });
            shared(&lookup).into_iter().map(|(kind, it)| (kind, Some(to(it)))).collect()
        }
        Statement::SetUpdate(_) => vec![(Kind::DropAffinity, None)],
        _ => Vec::new(),
    }
}

fn tests(test: &Match) -> Vec<(Kind, Option<Statement>)> {
    let op = match test.op {
        Relation::Equal => Some(Relation::NotEqual),
        Relation::NotEqual => Some(Relation::Equal),
        _ => None,
    };
    let negated = op.map(|op| (Kind::NegateMatch, Match { op, ..test.clone() }));
    let left = marked(&test.left).map(|left| (Kind::ChangeMark, Match { left, ..test.clone() }));
    let all = negated.into_iter().chain(left);
    all.map(|(kind, test)| (kind, Some(Statement::Match(test)))).collect()
}

fn other_verdict(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Accept | Verdict::Jump(_) | Verdict::Goto(_) => Verdict::Drop,
        Verdict::Drop | Verdict::Return => Verdict::Accept,
        other => other,
    }
}

/// Returns an expression with another bit of a mark.
fn marked(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Binary(binary) => {
            let mut binary = binary.clone();
            binary.right = marked(&binary.right)?;
            Some(Expr::Binary(binary))
        }
        Expr::Value(Value::Mark(mark)) if *mark > 0 => Some(Expr::Value(Value::Mark(mark << 1))),
        Expr::Value(Value::Number(mark)) if *mark > 0 => {
            Some(Expr::Value(Value::Number(mark << 1)))
        }
        _ => None,
    }
}

/// Returns changes to what is chosen at random, or to a constant endpoint.
fn chosen(expr: &Expr) -> Vec<(Kind, Expr)> {
    match expr {
        Expr::Map(lookup) => shared(lookup)
            .into_iter()
            .map(|(kind, lookup)| (kind, Expr::Map(Box::new(lookup))))
            .collect(),
        Expr::Concat(parts) => {
            let mut parts = parts.to_vec();
            let Some(Expr::Value(Value::Port(port))) = parts.last_mut() else { return Vec::new() };
            *port ^= 1;
            vec![(Kind::ChangeEndpoint, Expr::Concat(parts.into()))]
        }
        _ => Vec::new(),
    }
}

/// Returns changes to the shares of a map's elements: the last is never chosen, the first is what
/// the second is, the first is gone.
fn shared(lookup: &MapLookup) -> Vec<(Kind, MapLookup)> {
    let with = |elements: Vec<Element>| MapLookup {
        map: MapSource::Anonymous(elements.into()),
        ..lookup.clone()
    };
    let MapSource::Anonymous(elements) = &lookup.map else { return Vec::new() };
    let [_, second, ..] = &elements[..] else { return Vec::new() };
    let mut twice = elements.to_vec();
    twice[0].data.clone_from(&second.data);
    let mut all =
        vec![(Kind::ChangeShare, with(twice)), (Kind::DropElement, with(elements[1..].to_vec()))];
    if let Expr::Numgen { mode, modulus, offset } = lookup.key {
        let key = Expr::Numgen { mode, modulus: modulus - 1, offset };
        all.push((Kind::ChangeShare, MapLookup { key, ..lookup.clone() }));
    }
    all
}

fn of_set(table: usize, name: Name, set: &Set, place: &str) -> Vec<Mutant> {
    let mut all = Vec::new();
    for at in 0..set.elements.len() {
        let key = &set.elements[at].key;
        let parts: Vec<String> = key.iter().map(|value| format!("{value:?}")).collect();
        all.push(Mutant {
            kind: Kind::DropElement,
            place: format!("{place}: {}", parts.join(" . ")),
            sites: Vec::new(),
            apply: Box::new(move |state| {
                state.nftables.tables[table].sets[&name].elements.shift_remove_index(at);
            }),
        });
        let differs = |data: &Option<Data>| data.is_some() && *data != set.elements[0].data;
        if at > 0 && differs(&set.elements[at].data) {
            all.push(Mutant {
                kind: Kind::SwapElements,
                place: format!("{place}: 1 and {}", at + 1),
                sites: Vec::new(),
                apply: Box::new(move |state| {
                    let elements = &mut state.nftables.tables[table].sets[&name].elements;
                    let first = elements[0].data.take();
                    let other = std::mem::replace(&mut elements[at].data, first);
                    elements[0].data = other;
                }),
            });
        }
    }
    if set.timeout.is_some() {
        all.push(Mutant {
            kind: Kind::ChangeTimeout,
            place: format!("{place}: half its timeout"),
            sites: Vec::new(),
            apply: Box::new(move |state| {
                let set = &mut state.nftables.tables[table].sets[&name];
                set.timeout = set.timeout.map(|timeout| timeout / 2);
            }),
        });
    }
    all
}
