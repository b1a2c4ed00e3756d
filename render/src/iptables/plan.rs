//! What is written in a sync, as data.

use kps_flow::Family;
use kps_model::PortKey;
use kps_ruleset::iptables::compare::FreeOrder;
use kps_ruleset::iptables::transaction::Transaction;
use kps_ruleset::iptables::{self, Chain, Ruleset, Table};
use kps_ruleset::{Name, NodeState};

use super::jumps::{self, Jump};
use super::lines::{Lines, Part, restore};
use super::refusal::{Refusal, refusal};
use crate::Operation;

/// A chain that nothing uses: when it vanishes, somebody has flushed the tables.
const CANARY: &str = "KUBE-PROXY-CANARY";
/// The tables with a canary, in the order in which the tool lists them.
const TABLES: [&str; 3] = ["mangle", "filter", "nat"];

/// What one proxier writes in a full sync.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The family.
    pub family: Family,
    /// The sysctls that are set at the start.
    pub sysctls: Vec<(&'static str, &'static str)>,
    /// The nfacct objects that are made first.
    pub counters: &'static [&'static str],
    /// The jumps that are made first, one by one, with the chains that they lead to. Each is put on
    /// top of its built-in chain, so later ones end up above earlier ones.
    pub jumps: &'static [Jump],
    /// The common part that is written before the `ServicePort`s.
    pub before: Part,
    /// The parts of the `ServicePort`s, in the order of the view.
    pub fragments: Vec<Fragment>,
    /// The common part that is written after them.
    pub after: Part,
}

/// The rules of one `ServicePort`.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// Which one.
    pub key: PortKey,
    /// Its rules. Those in chains that the part does not make are in the chains that all
    /// `ServicePort`s share.
    pub part: Part,
}

impl Plan {
    /// Returns the text for `iptables-restore --noflush`, as data: `filter`, then `nat`.
    #[must_use]
    pub fn into_restore(self) -> Vec<Transaction> {
        let mut filter = Vec::new();
        let mut nat = Vec::new();
        for part in self.into_parts() {
            filter.push(part.filter);
            nat.push(part.nat);
        }
        restore([("filter", filter), ("nat", nat)])
    }

    /// Returns the steps from a node that has nothing of this proxier.
    #[must_use]
    pub fn into_operations(self) -> Vec<Operation> {
        let family = ruleset_family(self.family);
        let canary = |table| Operation::Chain { family, table, chain: CANARY.into() };
        let sysctls = self.sysctls.iter().map(|(name, value)| Operation::Sysctl { name, value });
        let mut operations: Vec<Operation> = sysctls.collect();
        operations.extend(TABLES.map(canary));
        operations.extend(Jump::operations(self.jumps, family));
        operations.extend(self.counters.iter().copied().map(Operation::Counter));
        operations.push(Operation::Restore { family, transactions: self.into_restore() });
        operations
    }

    /// Adds what the proxier makes on a node that has nothing of it.
    pub fn install(self, state: &mut NodeState) {
        for (name, value) in &self.sysctls {
            state.host.sysctls.insert((*name).to_owned(), (*value).to_owned());
        }
        let family = ruleset_family(self.family);
        *state.iptables.family_mut(family) = self.into_ruleset();
    }

    /// Returns the rule set that a node without any rules has afterwards.
    #[must_use]
    pub fn into_ruleset(self) -> Ruleset {
        let mut ruleset = tables(self.family);
        jumps::install(self.jumps, &mut ruleset);
        self.reserve(&mut ruleset);
        for part in self.into_parts() {
            part.install(&mut ruleset);
        }
        ruleset
    }

    /// Returns the chains whose rules stand in no particular order, since kube-proxy keeps
    /// `ServicePort`s in a map. The jumps to node ports come last all the same.
    #[must_use]
    pub fn free_order(&self) -> Vec<FreeOrder> {
        let tail = self.after.nat.rule_count();
        let free = |table: &str, chain: &str, tail| FreeOrder {
            table: Some(table.into()),
            chain: chain.into(),
            tail,
        };
        vec![
            free("nat", "KUBE-SERVICES", tail),
            free("nat", "KUBE-NODEPORTS", 0),
            free("filter", "KUBE-SERVICES", 0),
            free("filter", "KUBE-EXTERNAL-SERVICES", 0),
            free("filter", "KUBE-NODEPORTS", 0),
            free("filter", "KUBE-PROXY-FIREWALL", 0),
        ]
    }

    /// Returns the rule at which `iptables-nft-restore` stops, if there is one.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        let filter = self.lines(|part| &part.filter);
        refusal(self.family, [("filter", filter), ("nat", self.lines(|part| &part.nat))])
    }

    fn lines(&self, of: fn(&Part) -> &Lines) -> impl Iterator<Item = &Lines> {
        let fragments = self.fragments.iter().map(|fragment| &fragment.part);
        std::iter::once(&self.before).chain(fragments).chain([&self.after]).map(of)
    }

    /// Makes room for the chains.
    fn reserve(&self, ruleset: &mut Ruleset) {
        let chains = self.fragments.iter().map(|fragment| fragment.part.nat.chains.len()).sum();
        if let Some(nat) = ruleset.tables.get_mut(&Name::new("nat")) {
            nat.chains.reserve(chains);
        }
    }

    fn into_parts(self) -> impl Iterator<Item = Part> {
        let fragments = self.fragments.into_iter().map(|fragment| fragment.part);
        std::iter::once(self.before).chain(fragments).chain(std::iter::once(self.after))
    }
}

/// Returns the tables, each with the canary.
fn tables(family: Family) -> Ruleset {
    let mut ruleset = Ruleset::new(ruleset_family(family));
    for name in TABLES {
        let mut table = Table::builtin(name);
        table.chains.insert(CANARY.into(), Chain::default());
        ruleset.tables.insert(name.into(), table);
    }
    ruleset
}

/// Returns the family in the rule set's terms.
#[must_use]
pub fn ruleset_family(family: Family) -> iptables::Family {
    match family {
        Family::V4 => iptables::Family::Ipv4,
        Family::V6 => iptables::Family::Ipv6,
    }
}
