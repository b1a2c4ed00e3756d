//! Who refers to a chain or a set.

use std::collections::HashMap;

use crate::Name;
use crate::nftables::ast::{
    Data, Element, Expr, MapSource, Rule, Statement, Table, Value, Verdict,
};

/// Returns the chain that a verdict calls.
pub(super) fn target(verdict: Verdict) -> Option<Name> {
    match verdict {
        Verdict::Jump(chain) | Verdict::Goto(chain) => Some(chain),
        _ => None,
    }
}

/// Returns the chain that an element calls.
pub(super) fn element_target(element: &Element) -> Option<Name> {
    match &element.data {
        Some(Data::Verdict(verdict)) => target(*verdict),
        Some(Data::Values(values)) => values.iter().find_map(|value| match value {
            Value::Verdict(verdict) => target(*verdict),
            _ => None,
        }),
        None => None,
    }
}

/// Calls `visit` with each chain that a rule itself calls.
pub(super) fn for_each_target(rule: &Rule, mut visit: impl FnMut(Name)) {
    for statement in &rule.statements {
        match statement {
            Statement::Verdict(verdict) => target(*verdict).into_iter().for_each(&mut visit),
            Statement::VerdictMap(map) => {
                if let MapSource::Anonymous(elements) = &map.map {
                    elements.iter().filter_map(element_target).for_each(&mut visit);
                }
            }
            _ => {}
        }
    }
}

/// Calls `visit` with each named set or map of a rule.
pub(super) fn for_each_set(rule: &Rule, mut visit: impl FnMut(Name)) {
    for statement in &rule.statements {
        match statement {
            Statement::Match(m) => {
                sets_of_expr(&m.left, &mut visit);
                sets_of_expr(&m.right, &mut visit);
            }
            Statement::VerdictMap(map) => sets_of_source(&map.map, &mut visit),
            Statement::Mangle(mangle) => sets_of_expr(&mangle.value, &mut visit),
            Statement::Nat(nat) => {
                nat.address.iter().chain(&nat.port).for_each(|e| sets_of_expr(e, &mut visit));
            }
            Statement::SetUpdate(update) => visit(update.set),
            _ => {}
        }
    }
}

fn sets_of_expr(expr: &Expr, visit: &mut impl FnMut(Name)) {
    match expr {
        Expr::SetRef(name) => visit(*name),
        Expr::Map(lookup) => sets_of_source(&lookup.map, visit),
        _ => {}
    }
}

fn sets_of_source(source: &MapSource, visit: &mut impl FnMut(Name)) {
    if let MapSource::Named(name) = source {
        visit(*name);
    }
}

/// How often each chain of a table is called, by rules and by elements of maps.
#[derive(Default)]
pub(super) struct ChainUses(HashMap<Name, usize>);

impl ChainUses {
    pub(super) fn of(table: &Table) -> ChainUses {
        let mut uses = ChainUses::default();
        for rule in table.chains.values().flat_map(|chain| &chain.rules) {
            for_each_target(rule, |chain| uses.change(chain, 1));
        }
        let elements =
            table.sets.values().filter(|set| set.is_map()).flat_map(|s| s.elements.values());
        elements.filter_map(element_target).for_each(|chain| uses.change(chain, 1));
        uses
    }

    pub(super) fn count(&self, chain: Name) -> usize {
        self.0.get(&chain).copied().unwrap_or(0)
    }

    /// Takes out the calls of a chain's own rules.
    pub(super) fn forget(&mut self, rules: &[Rule]) {
        for rule in rules {
            for_each_target(rule, |chain| self.change(chain, -1));
        }
    }

    fn change(&mut self, chain: Name, by: isize) {
        let count = self.0.entry(chain).or_default();
        *count = count.saturating_add_signed(by);
    }
}

/// Whether a rule of the table names a set.
pub(super) fn set_is_used(table: &Table, name: Name) -> bool {
    let mut rules = table.chains.values().flat_map(|chain| &chain.rules);
    rules.any(|rule| {
        let mut found = false;
        for_each_set(rule, |set| found |= set == name);
        found
    })
}
