//! Rules that one variant of the tools refuses.
//!
//! A `clusterCIDR` of length 0 makes kube-proxy write `! -s 0.0.0.0/0`. `iptables-nft-restore` (measured
//! with 1.8.9) turns that into a comparison of no bytes, which the kernel refuses with `EINVAL`; as it
//! commits a table at a time, the tables before are installed, and that one and those after are not.
//! `--test` does not see it. `iptables-legacy-restore` takes the rule, which then never holds.

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::iptables::{Header, Negatable, Network, Rule, print_rule};
use thiserror::Error;

use super::lines::{Lines, Run};
use super::plan::ruleset_family;

/// A rule that `iptables-nft-restore` refuses, and what a node that uses it therefore lacks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`-A {chain} {rule}` is refused (Invalid argument), so nothing of {} is restored",
    named(missing)
)]
pub struct Refusal {
    /// The chain of the rule.
    pub chain: String,
    /// The rule as `iptables-save` would print it after the chain.
    pub rule: String,
    /// The tables that are not restored, the rule's own first.
    pub missing: Vec<&'static str>,
}

/// Returns the first rule that is refused, of tables in the order in which they are restored.
pub(crate) fn refusal<'a, L>(family: Family, tables: [(&'static str, L); 2]) -> Option<Refusal>
where
    L: IntoIterator<Item = &'a Lines>,
{
    let names = tables.each_ref().map(|(name, _)| *name);
    tables.into_iter().enumerate().find_map(|(at, (_, lines))| {
        let (chain, rule) = lines.into_iter().flat_map(|lines| &lines.runs).find_map(refused)?;
        Some(Refusal {
            chain: chain.to_string(),
            rule: print_rule(rule, ruleset_family(family)),
            missing: names.into_iter().skip(at).collect(),
        })
    })
}

fn refused(run: &Run) -> Option<(&Name, &Rule)> {
    let rule = run.rules.iter().find(|rule| excludes_all(&rule.header))?;
    Some((&run.chain, rule))
}

/// Tells whether a header excludes every address.
fn excludes_all(header: &Header) -> bool {
    [&header.source, &header.destination].into_iter().flatten().any(is_nowhere)
}

fn is_nowhere(test: &Negatable<Network>) -> bool {
    test.negated && matches!(test.value, Network::Prefix(prefix) if prefix.prefix_len() == 0)
}

fn named(tables: &[&str]) -> String {
    let plural = if tables.len() == 1 { "table" } else { "tables" };
    format!("{plural} {}", tables.join(" and "))
}
