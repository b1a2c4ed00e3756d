//! What is written in a sync, as data.

use kps_flow::Family;
use kps_model::PortKey;
use kps_ruleset::Name;
use kps_ruleset::iptables::compare::FreeOrder;
use kps_ruleset::iptables::transaction::{Command, Transaction};
use kps_ruleset::iptables::{self, Chain, Counters, Rule, Ruleset, Table};

use super::jumps::{self, Jump};

/// What one proxier writes in a full sync.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The family.
    pub family: Family,
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

/// A part of what is restored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Of table `filter`.
    pub filter: Lines,
    /// Of table `nat`.
    pub nat: Lines,
}

/// The lines of one table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    /// The chains that are made or emptied.
    pub chains: Vec<Name>,
    /// The rules that are appended, each with its chain.
    pub rules: Vec<(Name, Rule)>,
}

impl Lines {
    /// Appends a rule to a chain.
    pub(crate) fn push(&mut self, chain: impl Into<Name>, rule: Rule) {
        self.rules.push((chain.into(), rule));
    }
}

impl Plan {
    /// Returns the text for `iptables-restore --noflush`, as data: `filter`, then `nat`.
    #[must_use]
    pub fn into_restore(self) -> [Transaction; 2] {
        let mut filter = Vec::new();
        let mut nat = Vec::new();
        for part in self.into_parts() {
            filter.push(part.filter);
            nat.push(part.nat);
        }
        [transaction("filter", filter), transaction("nat", nat)]
    }

    /// Returns the rule set that a node without any rules has afterwards.
    #[must_use]
    pub fn into_ruleset(self) -> Ruleset {
        let mut ruleset = tables(self.family);
        jumps::install(self.jumps, &mut ruleset);
        for part in self.into_parts() {
            part.install(&mut ruleset);
        }
        ruleset
    }

    /// Returns the chains whose rules stand in no particular order, since kube-proxy keeps
    /// `ServicePort`s in a map. The jumps to node ports come last all the same.
    #[must_use]
    pub fn free_order(&self) -> Vec<FreeOrder> {
        let tail = self.after.nat.rules.len();
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

    fn into_parts(self) -> impl Iterator<Item = Part> {
        let fragments = self.fragments.into_iter().map(|fragment| fragment.part);
        std::iter::once(self.before).chain(fragments).chain(std::iter::once(self.after))
    }
}

/// Returns the tables that the tool lists, in its order, each with kube-proxy's canary: a chain that
/// nothing uses, so that somebody who flushes the tables is noticed.
fn tables(family: Family) -> Ruleset {
    let mut ruleset = Ruleset::new(ruleset_family(family));
    for name in ["mangle", "filter", "nat"] {
        let mut table = Table::builtin(name);
        table.chains.insert("KUBE-PROXY-CANARY".into(), Chain::default());
        ruleset.tables.insert(name.into(), table);
    }
    ruleset
}

/// Returns the family in the rule set's terms.
pub(crate) fn ruleset_family(family: Family) -> iptables::Family {
    match family {
        Family::V4 => iptables::Family::Ipv4,
        Family::V6 => iptables::Family::Ipv6,
    }
}

/// Returns one transaction of lines: all chains before all rules, since a rule may name any chain.
pub(crate) fn transaction(table: &str, lines: Vec<Lines>) -> Transaction {
    let chains = lines.iter().flat_map(|lines| &lines.chains);
    let mut commands: Vec<Command> = chains.map(|chain| declare(*chain)).collect();
    let rules = lines.into_iter().flat_map(|lines| lines.rules);
    commands.extend(rules.map(|(chain, rule)| Command::Append { chain, rule }));
    Transaction { table: table.into(), commands }
}

fn declare(chain: Name) -> Command {
    Command::Declare { chain, policy: None, counters: Some(Counters::default()) }
}

impl Part {
    /// Puts the lines into the tables, as `iptables-restore` does.
    pub(crate) fn install(self, ruleset: &mut Ruleset) {
        for (name, lines) in [("filter", self.filter), ("nat", self.nat)] {
            if let Some(table) = ruleset.tables.get_mut(&Name::new(name)) {
                lines.install(table);
            }
        }
    }
}

impl Lines {
    fn install(self, table: &mut Table) {
        for chain in self.chains {
            table.chains.insert(chain, Chain::default());
        }
        for (chain, rule) in self.rules {
            table.chains.entry(chain).or_default().rules.push(rule);
        }
    }
}
