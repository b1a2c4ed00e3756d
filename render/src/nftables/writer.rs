//! Commands of the common part, gathered in order.

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::nftables::{
    BaseChain, Chain, ChainKind, Command, Counter, Element, Hook, Policy, Rule, Set, Statement,
    TableFamily, TableId,
};

use super::containers::Container;

/// Gathers commands for the proxier's table.
pub(super) struct Writer {
    /// The family of the proxier.
    pub family: Family,
    table: TableId,
    commands: Vec<Command>,
}

/// Returns the table of a family's proxier.
pub(super) fn table(family: Family) -> TableId {
    let family = match family {
        Family::V4 => TableFamily::Ip,
        Family::V6 => TableFamily::Ip6,
    };
    TableId { family, name: "kube-proxy".into() }
}

impl Writer {
    /// Starts without commands.
    pub fn new(family: Family) -> Writer {
        Writer { family, table: table(family), commands: Vec::new() }
    }

    /// Ends with what was gathered.
    pub fn finish(self) -> Vec<Command> {
        self.commands
    }

    /// Adds the table.
    pub fn add_table(&mut self, comment: &str) {
        let comment = Some(comment.into());
        self.commands.push(Command::AddTable { table: self.table, comment });
    }

    /// Adds a chain without properties.
    pub fn add_chain(&mut self, name: Name) {
        self.push_chain(name, Chain::default());
    }

    /// Adds a chain with a comment.
    pub fn add_commented_chain(&mut self, name: Name, comment: &str) {
        self.push_chain(name, Chain { comment: Some(comment.into()), ..Chain::default() });
    }

    /// Adds a base chain.
    pub fn add_base_chain(&mut self, name: Name, kind: ChainKind, hook: Hook, priority: i32) {
        let policy = Policy::Accept;
        let base = BaseChain { kind, hook, priority, policy, devices: Vec::new() };
        self.push_chain(name, Chain { base: Some(Box::new(base)), ..Chain::default() });
    }

    /// Empties a chain.
    pub fn flush_chain(&mut self, name: Name) {
        self.commands.push(Command::FlushChain { table: self.table, name });
    }

    /// Deletes a chain.
    pub fn delete_chain(&mut self, name: Name) {
        self.commands.push(Command::DeleteChain { table: self.table, name });
    }

    /// Makes sure that a chain is there and empty.
    pub fn ensure_chain(&mut self, name: Name) {
        self.add_chain(name);
        self.flush_chain(name);
    }

    /// Appends a rule.
    pub fn rule<const N: usize>(&mut self, chain: impl Into<Name>, statements: [Statement; N]) {
        self.push_rule(chain.into(), statements.into(), None);
    }

    /// Appends a rule with a comment.
    pub fn commented_rule<const N: usize>(
        &mut self,
        chain: impl Into<Name>,
        statements: [Statement; N],
        comment: &str,
    ) {
        self.push_rule(chain.into(), statements.into(), Some(comment.into()));
    }

    /// Adds a set or map that `ServicePort`s fill.
    pub fn add_container(&mut self, container: Container) {
        self.add_set(container.name(), container.set(self.family));
    }

    /// Adds a set.
    pub fn add_set(&mut self, name: Name, set: Set) {
        self.commands.push(Command::AddSet { table: self.table, name, set: Box::new(set) });
    }

    /// Empties a set.
    pub fn flush_set(&mut self, name: Name) {
        self.commands.push(Command::FlushSet { table: self.table, name, map: false });
    }

    /// Deletes a set or map.
    pub fn delete_set(&mut self, name: Name, map: bool) {
        self.commands.push(Command::DeleteSet { table: self.table, name, map });
    }

    /// Adds an element.
    pub fn add_element(&mut self, set: Name, element: Element) {
        let elements = vec![element];
        self.commands.push(Command::AddElement { table: self.table, set, elements });
    }

    /// Adds a counter.
    pub fn add_counter(&mut self, name: Name) {
        let counter = Counter::default();
        self.commands.push(Command::AddCounter { table: self.table, name, counter });
    }

    /// Deletes a counter.
    pub fn delete_counter(&mut self, name: Name) {
        self.commands.push(Command::DeleteCounter { table: self.table, name });
    }

    fn push_chain(&mut self, name: Name, chain: Chain) {
        self.commands.push(Command::AddChain { table: self.table, name, chain });
    }

    fn push_rule(&mut self, chain: Name, statements: Box<[Statement]>, comment: Option<Name>) {
        let rule = Rule { statements, comment, handle: None };
        self.commands.push(Command::AddRule { table: self.table, chain, rule });
    }
}
