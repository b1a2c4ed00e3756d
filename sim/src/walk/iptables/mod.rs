//! The iptables walker: runs one built-in chain over a packet, rule by rule, as `ipt_do_table` does
//! (`net/ipv4/netfilter/ip_tables.c`). The `nf_tables` variant of the tools gives the same answers.
//!
//! [`compile`] prepares the tables once. [`execute`] runs rules and their targets, [`evaluate`] their
//! matches, [`field`] reads packets, `lookup` IP sets, [`index`] finds the rules of a chain that can
//! apply at all. Which built-in chains a packet meets, and when, is decided in [`super::hooks`] and
//! [`super::stack`].

mod ask;
mod assumed;
mod compile;
mod connection;
mod evaluate;
mod execute;
mod field;
mod index;
mod lookup;
mod members;
mod program;
mod recent;
mod translate;

use kps_ruleset::nftables::{Hook, TableFamily};

use crate::host::Network;
use crate::trace::{Language, Place, RulePlace};
use crate::walk::branch::Branch;
use crate::walk::chains::ChainId;
use field::View;

pub(crate) use assumed::assumed;
pub(crate) use compile::{base_chains, compile, shown_twice};
pub(crate) use lookup::SetChange;
pub(crate) use program::Program;
pub(crate) use recent::Sighting;

/// A program at work at one hook.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub program: &'a Program<'a>,
    pub network: &'a Network,
    pub hook: Hook,
}

impl Run<'_> {
    /// Tells whether a change of the packet by this built-in chain makes the kernel route it again.
    pub(crate) fn reroutes(&self, chain: ChainId) -> bool {
        self.program.chains[chain as usize].reroutes
    }

    fn view<'b>(&'b self, branch: &'b Branch) -> View<'b> {
        View { branch, network: self.network }
    }

    fn place_in(&self, chain: ChainId, rule: Option<u32>) -> Place {
        let chain = &self.program.chains[chain as usize];
        Place::Rule(RulePlace {
            language: Language::Iptables,
            family: chain.family,
            table: chain.table,
            chain: chain.name,
            rule,
        })
    }
}

/// Returns the family of the nftables tables that the tables of an iptables family would be.
fn table_family(family: kps_flow::Family) -> TableFamily {
    match family {
        kps_flow::Family::V4 => TableFamily::Ip,
        kps_flow::Family::V6 => TableFamily::Ip6,
    }
}
