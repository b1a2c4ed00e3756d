//! The nftables walker: runs one base chain over a packet, statement by statement, as
//! `nft_do_chain` does (`net/netfilter/nf_tables_core.c`).
//!
//! [`compile`] prepares the rule set once. [`execute`] runs statements, [`evaluate`] their
//! expressions, [`field`] reads packets, [`lookup`] holds sets. Which base chains a packet meets,
//! and when, is not decided here but in [`super::hooks`] and [`super::stack`].

mod ask;
mod compare;
pub(crate) mod compile;
mod evaluate;
mod execute;
mod field;
pub(crate) mod lookup;
pub(crate) mod program;
mod translate;

use kps_ruleset::nftables::Hook;

use crate::host::Network;
use crate::trace::{Language, Place, RulePlace};
use crate::walk::branch::Branch;
use crate::walk::chains::ChainId;
use field::View;
use lookup::Lookup;
use program::{LookupId, Program};

pub(crate) use execute::sees;
pub(crate) use field::address_type;

/// A program at work at one hook.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub program: &'a Program,
    pub network: &'a Network,
    pub hook: Hook,
    /// Whether sets that rules add to are taken to be empty.
    pub fresh: bool,
}

impl Run<'_> {
    /// Tells whether a change of the packet by this base chain makes the kernel route it again.
    pub(crate) fn reroutes(&self, chain: ChainId) -> bool {
        self.program.chains[chain as usize].reroutes
    }

    fn view<'b>(&'b self, branch: &'b Branch) -> View<'b> {
        View { branch, network: self.network, hook: self.hook }
    }

    fn lookup(&self, id: LookupId) -> &Lookup {
        &self.program.lookups[id as usize]
    }

    fn place_in(&self, chain: ChainId, rule: Option<u32>) -> Place {
        let chain = &self.program.chains[chain as usize];
        Place::Rule(RulePlace {
            language: Language::Nftables,
            family: chain.family,
            table: chain.table,
            chain: chain.name,
            rule,
        })
    }
}
