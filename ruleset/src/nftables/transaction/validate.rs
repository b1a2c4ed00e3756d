//! The check of call depth that the kernel makes when a transaction is committed.
//!
//! It begins at base chains (`nft_table_validate`): chains that no base chain reaches may well call
//! each other in a circle. A goto counts like a jump.

use std::collections::HashMap;

use super::ApplyErrorKind;
use super::references::{element_target, for_each_set, for_each_target};
use crate::Name;
use crate::nftables::ast::{Chain, Table};

/// How many chains may be on the way from a base chain, itself included
/// (`NFT_JUMP_STACK_SIZE`).
const MOST_CHAINS: usize = 16;

/// Checks that no base chain leads into a circle or too deep.
pub(super) fn call_depth(table: &Table) -> Result<(), ApplyErrorKind> {
    let mut heights = Heights { table, known: HashMap::new() };
    let bases = table.chains.iter().filter(|(_, chain)| chain.base.is_some());
    for (name, _) in bases {
        if heights.of(*name)? > MOST_CHAINS {
            return Err(ApplyErrorKind::TooManyLinks);
        }
    }
    Ok(())
}

/// How many chains the longest way from a chain has.
struct Heights<'a> {
    table: &'a Table,
    /// `None` while the chain is on the way.
    known: HashMap<Name, Option<usize>>,
}

/// A chain on the way: its callees and how far they are done.
struct Visit {
    chain: Name,
    callees: Vec<Name>,
    next: usize,
    height: usize,
}

impl Heights<'_> {
    fn of(&mut self, start: Name) -> Result<usize, ApplyErrorKind> {
        if let Some(Some(height)) = self.known.get(&start) {
            return Ok(*height);
        }
        let mut way = vec![self.visit(start)];
        let mut done = 0;
        while let Some(top) = way.last_mut() {
            top.height = top.height.max(done + 1);
            let Some(callee) = top.callees.get(top.next).copied() else {
                done = top.height;
                self.known.insert(top.chain, Some(done));
                way.pop();
                continue;
            };
            top.next += 1;
            done = match self.known.get(&callee) {
                None => {
                    let visit = self.visit(callee);
                    way.push(visit);
                    0
                }
                Some(Some(height)) => *height,
                Some(None) => return Err(ApplyErrorKind::TooManyLinks),
            };
        }
        Ok(done)
    }

    fn visit(&mut self, chain: Name) -> Visit {
        self.known.insert(chain, None);
        let callees = self.table.chains.get(&chain).map(|c| self.callees(c)).unwrap_or_default();
        Visit { chain, callees, next: 0, height: 0 }
    }

    fn callees(&self, chain: &Chain) -> Vec<Name> {
        let mut callees = Vec::new();
        for rule in &chain.rules {
            for_each_target(rule, |target| callees.push(target));
            for_each_set(rule, |name| {
                let elements = self.table.sets.get(&name).filter(|set| set.is_map());
                let elements = elements.into_iter().flat_map(|set| set.elements.values());
                callees.extend(elements.filter_map(element_target));
            });
        }
        callees
    }
}
