//! Small changes to the rules of a node.

use std::fmt;

use kps_ruleset::nftables::TableFamily;
use kps_ruleset::{Name, NodeState};
use kps_sim::trace::Place;

/// A change to rules.
pub struct Mutant {
    /// What kind of change it is.
    pub kind: Kind,
    /// Where, and to what.
    pub place: String,
    /// The rules that it is about; none for elements of sets.
    pub sites: Vec<Site>,
    /// Makes it.
    pub apply: Box<dyn Fn(&mut NodeState)>,
}

/// A rule, or all rules of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    pub family: TableFamily,
    pub table: Name,
    pub chain: Name,
    pub rule: Option<usize>,
}

impl Mutant {
    /// Tells whether a packet that is here meets the change.
    pub fn is_at(&self, place: &Place) -> bool {
        let Place::Rule(at) = place else { return false };
        self.sites.iter().any(|site| {
            let rule = at.rule.and_then(|rule| usize::try_from(rule).ok());
            (site.family, site.table, site.chain) == (at.family, at.table, at.chain)
                && (site.rule.is_none() || site.rule == rule)
        })
    }
}

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    DropRule,
    SwapRules,
    SwapChains,
    ChangeMark,
    HookLater,
    ChangeVerdict,
    NegateMatch,
    DropElement,
    SwapElements,
    ChangeShare,
    ChangeEndpoint,
    DropMasquerade,
    DropAffinity,
    ChangeTimeout,
}

impl Kind {
    /// All of them, each of which has its turn.
    pub const ALL: [Kind; 14] = [
        Kind::DropRule,
        Kind::SwapRules,
        Kind::SwapChains,
        Kind::ChangeMark,
        Kind::HookLater,
        Kind::ChangeVerdict,
        Kind::NegateMatch,
        Kind::DropElement,
        Kind::SwapElements,
        Kind::ChangeShare,
        Kind::ChangeEndpoint,
        Kind::DropMasquerade,
        Kind::DropAffinity,
        Kind::ChangeTimeout,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::DropRule => "drop a rule",
            Kind::SwapRules => "swap two rules",
            Kind::SwapChains => "swap two chains",
            Kind::ChangeMark => "change a mark",
            Kind::HookLater => "hook one later",
            Kind::ChangeVerdict => "change a verdict",
            Kind::NegateMatch => "negate a match",
            Kind::DropElement => "drop an element",
            Kind::SwapElements => "swap two elements",
            Kind::ChangeShare => "change a probability",
            Kind::ChangeEndpoint => "change an endpoint",
            Kind::DropMasquerade => "drop masquerade",
            Kind::DropAffinity => "drop affinity",
            Kind::ChangeTimeout => "change a timeout",
        })
    }
}
