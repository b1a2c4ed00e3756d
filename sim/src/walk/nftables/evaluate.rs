//! What expressions evaluate to, and whether matches hold.

use kps_flow::Outcome;
use kps_ruleset::Name;
use kps_ruleset::nftables::{BinaryOp, NumgenMode, Relation};
use smallvec::smallvec;

use super::Run;
use super::compare::{bitwise, compare, draw_share, patterns_of};
use super::lookup::{EntryData, Hit, Lookup, Parts};
use super::program::{Expr, LookupId, Right, Test};
use crate::trace::Deed;
use crate::walk::branch::{Branch, Interrupt};
use crate::walk::chains::Chains;
use crate::walk::datum::Datum;

impl Run<'_> {
    /// Evaluates an expression; `None` if the packet lacks a field, which ends the rule.
    pub(super) fn evaluate(
        &self,
        expr: &Expr,
        branch: &mut Branch,
    ) -> Result<Option<Parts>, Interrupt> {
        let one = |datum: Option<Datum>| datum.map(|datum| smallvec![datum]);
        Ok(match expr {
            Expr::Payload(field) => one(self.view(branch).payload(*field)),
            Expr::Meta(meta) => one(self.view(branch).meta(*meta)),
            Expr::Ct(key, direction) => one(self.view(branch).ct(*key, *direction)),
            Expr::Fib(result, flags) => {
                self.asks_host(*result, *flags, branch);
                one(Some(self.view(branch).fib(*result, *flags)))
            }
            Expr::Numgen(mode, modulus, offset) => {
                one(Some(self.number(*mode, *modulus, *offset, branch)?))
            }
            Expr::Constant(datum) => one(Some(*datum)),
            Expr::Concat(parts) => return self.concat(parts, branch),
            Expr::Binary(binary) => self.binary(binary, branch)?,
            Expr::Map(key, map) => return self.mapped(key, *map, branch),
            Expr::Unknown(text) => one(Some(Datum::Unknown(*text))),
        })
    }

    fn concat(&self, parts: &[Expr], branch: &mut Branch) -> Result<Option<Parts>, Interrupt> {
        let mut all = Parts::new();
        for part in parts {
            match self.evaluate(part, branch)? {
                Some(values) => all.extend(values),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// A fresh `inc` counter gives 0 first (`net/netfilter/nft_numgen.c`: it starts at modulus - 1).
    fn number(
        &self,
        mode: NumgenMode,
        modulus: u32,
        offset: u32,
        branch: &mut Branch,
    ) -> Result<Datum, Interrupt> {
        let index = match mode {
            NumgenMode::Increment => 0,
            NumgenMode::Random if modulus > MOST_ALTERNATIVES => {
                return Ok(Datum::Unknown(Name::from(format!("numgen random mod {modulus}"))));
            }
            NumgenMode::Random => branch.draw(modulus)?,
        };
        self.note(branch, || Deed::Drew { index, of: modulus });
        Ok(Datum::Number(u128::from(index) + u128::from(offset)))
    }

    fn binary(
        &self,
        (left, op, right): &(Expr, BinaryOp, Expr),
        branch: &mut Branch,
    ) -> Result<Option<Parts>, Interrupt> {
        let (Some(left), Some(right)) =
            (self.evaluate(left, branch)?, self.evaluate(right, branch)?)
        else {
            return Ok(None);
        };
        let (&[left], &[right]) = (left.as_slice(), right.as_slice()) else { return Ok(None) };
        Ok(Some(smallvec![bitwise(left, *op, right)]))
    }

    fn mapped(
        &self,
        key: &Expr,
        map: LookupId,
        branch: &mut Branch,
    ) -> Result<Option<Parts>, Interrupt> {
        let data = self.data(key, map, branch)?;
        Ok(data.and_then(|data| match data {
            EntryData::Values(values) => Some(values.clone()),
            EntryData::Verdict(_) => None,
        }))
    }

    /// Returns the data that a map has for a key.
    pub(super) fn data(
        &self,
        key: &Expr,
        map: LookupId,
        branch: &mut Branch,
    ) -> Result<Option<&EntryData>, Interrupt> {
        let Some(parts) = self.evaluate(key, branch)? else { return Ok(None) };
        let lookup = self.lookup(map);
        match self.find(map, key, &parts, branch) {
            Hit::Nothing => Ok(None),
            Hit::Unknown => Err(Interrupt::End(Outcome::Unknown(unknown_key(&parts, lookup)))),
            Hit::Element(element) => {
                self.note_found(lookup, element, branch);
                Ok(lookup.entry(element).and_then(|entry| entry.data.as_ref()))
            }
        }
    }

    /// Tells whether a match holds; `None` if the packet lacks a field, which ends the rule.
    pub(super) fn holds(
        &self,
        left: &Expr,
        test: &Test,
        branch: &mut Branch,
    ) -> Result<Option<bool>, Interrupt> {
        if let Some(share) = draw_share(left, test) {
            let hit = branch.chance(share)?;
            self.note(branch, || Deed::Tossed { share, hit });
            return Ok(Some(hit));
        }
        let Some(values) = self.evaluate(left, branch)? else { return Ok(None) };
        let answer = match &test.right {
            Right::Constant(patterns) => {
                branch.asks_comparison(left, &values, test.relation, patterns);
                compare(&values, test.relation, patterns)
            }
            Right::Set(set) => {
                let is = self.member(*set, left, &values, branch);
                is.map(|is| is == (test.relation == Relation::Equal))
            }
            Right::Computed(right) => match self.evaluate(right, branch)? {
                Some(others) => {
                    branch.asks_computed(left, &values);
                    branch.asks_computed(right, &others);
                    compare(&values, test.relation, &patterns_of(&others))
                }
                None => return Ok(None),
            },
        };
        if answer.is_some() {
            return Ok(answer);
        }
        let what = what_is_unknown(&values, test);
        let place = self.place(branch.frame());
        self.suppose(Name::from(format!("a match on {what} ({place})")), branch).map(Some)
    }

    fn member(&self, set: LookupId, expr: &Expr, key: &Parts, branch: &mut Branch) -> Option<bool> {
        match self.find(set, expr, key, branch) {
            Hit::Element(element) => {
                self.note_found(self.lookup(set), element, branch);
                Some(true)
            }
            Hit::Nothing => Some(false),
            Hit::Unknown => None,
        }
    }

    /// Tells whether a set surely has a key.
    pub(super) fn has(&self, set: LookupId, expr: &Expr, key: &Parts, branch: &Branch) -> bool {
        matches!(self.find(set, expr, key, branch), Hit::Element(_))
    }

    /// Looks up a key, with what rules of this walk did to the set.
    fn find(&self, id: LookupId, expr: &Expr, key: &Parts, branch: &Branch) -> Hit {
        let lookup = self.lookup(id);
        if lookup.dynamic {
            let change = branch.remembered.iter().rev().find(|(set, k, _)| *set == id && k == key);
            match change {
                Some((_, _, true)) => return Hit::Element(lookup.len()),
                Some((_, _, false)) => return Hit::Nothing,
                None if self.fresh => return Hit::Nothing,
                None => {}
            }
        }
        self.asks_lookup(id, expr, key, branch);
        lookup.find(key)
    }

    fn note_found(&self, lookup: &Lookup, element: usize, branch: &mut Branch) {
        self.note(branch, || Deed::Found { set: lookup.name, element });
    }
}

/// A draw among more than this many is not written out.
const MOST_ALTERNATIVES: u32 = 1 << 16;

/// Says what keeps a match from being decided.
fn what_is_unknown(left: &[Datum], test: &Test) -> String {
    let unknown = left.iter().find(|part| !part.is_known());
    unknown.map_or_else(|| format!("{:?}", test.right), ToString::to_string)
}

fn unknown_key(parts: &[Datum], lookup: &Lookup) -> String {
    let map = lookup.name.map_or("an anonymous map", |name| name.as_str());
    let part = parts.iter().find(|part| !part.is_known()).map(ToString::to_string);
    format!("the key of {map} is not known: {}", part.unwrap_or_default())
}
