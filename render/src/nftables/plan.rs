//! What is written in a sync, as data.

use std::collections::HashMap;

use kps_flow::Family;
use kps_model::PortKey;
use kps_ruleset::nftables::{
    ApplyError, Chain, Command, Data, Element, Key, Rule, Ruleset, Set, TableId,
};
use kps_ruleset::{Name, NodeState};

use super::containers::Container;
use super::writer::table;

/// What one proxier writes in a full sync.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The family.
    pub family: Family,
    /// The common part, which comes first.
    pub base: Vec<Command>,
    /// The parts of the `ServicePort`s, in the order of the view.
    pub fragments: Vec<Fragment>,
}

/// The part of one `ServicePort`. It depends on nothing but the `ServicePort` and its endpoints, and
/// on what the view says of the node.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// Which one.
    pub key: PortKey,
    /// What every sync looks at, in this order.
    pub claims: Vec<Claim>,
    /// What is written only by a full sync, and if the `ServicePort` or its endpoints changed.
    pub contents: Vec<Content>,
}

/// Something that must be there.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// A chain of the `ServicePort`'s own; it is emptied before its contents are written.
    Chain(Name),
    /// An element of a set or map that all `ServicePort`s share. Others may claim it, too.
    Element(Container, Element),
}

/// What fills a `ServicePort`'s chains.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A set of clients that have affinity to an endpoint. It is never emptied.
    AffinitySet(Name, Box<Set>),
    /// A rule of a chain.
    Rule(Name, Rule),
}

impl Plan {
    /// Returns the transaction, in kube-proxy's order.
    ///
    /// An element that is there already is not added again; where two `ServicePort`s claim one key,
    /// the later one takes it over.
    #[must_use]
    pub fn into_commands(self) -> Vec<Command> {
        let mut transaction = Transaction::new(self.family, self.base);
        transaction.reserve(&self.fragments);
        for fragment in self.fragments {
            transaction.add(fragment);
        }
        transaction.commands
    }

    /// Adds what the proxier makes on a node that has nothing of it.
    ///
    /// # Errors
    /// Fails where the kernel refuses the transaction: nothing is installed then.
    pub fn install(self, state: &mut NodeState) -> Result<(), ApplyError> {
        state.nftables.apply(&self.into_commands())
    }

    /// Returns the rule set that a node without any rules has afterwards.
    ///
    /// # Errors
    /// Fails where the kernel refuses the transaction: nothing is installed then.
    pub fn into_ruleset(self) -> Result<Ruleset, ApplyError> {
        let mut ruleset = Ruleset::default();
        ruleset.apply(&self.into_commands())?;
        Ok(ruleset)
    }
}

/// The commands of a sync under way.
struct Transaction {
    table: TableId,
    containers: [Name; Container::ALL.len()],
    /// The elements so far, with their data.
    elements: HashMap<(Container, Key), Option<Data>>,
    commands: Vec<Command>,
}

impl Transaction {
    fn new(family: Family, commands: Vec<Command>) -> Transaction {
        Transaction {
            table: table(family),
            containers: Container::ALL.map(Container::name),
            elements: HashMap::new(),
            commands,
        }
    }

    /// Makes room at once: a chain takes two commands, almost everything else one.
    fn reserve(&mut self, fragments: &[Fragment]) {
        let claims: usize = fragments.iter().map(|fragment| fragment.claims.len()).sum();
        let contents: usize = fragments.iter().map(|fragment| fragment.contents.len()).sum();
        self.elements.reserve(claims);
        self.commands.reserve(claims * 2 + contents);
    }

    fn add(&mut self, fragment: Fragment) {
        for claim in fragment.claims {
            match claim {
                Claim::Chain(name) => self.ensure_chain(name),
                Claim::Element(container, element) => self.ensure_element(container, element),
            }
        }
        let table = self.table;
        self.commands.extend(fragment.contents.into_iter().map(|content| match content {
            Content::AffinitySet(name, set) => Command::AddSet { table, name, set },
            Content::Rule(chain, rule) => Command::AddRule { table, chain, rule },
        }));
    }

    fn ensure_chain(&mut self, name: Name) {
        let table = self.table;
        self.commands.push(Command::AddChain { table, name, chain: Chain::default() });
        self.commands.push(Command::FlushChain { table, name });
    }

    /// The kernel refuses to add an element with another value than it has, so that one is deleted
    /// first. Comments do not count.
    fn ensure_element(&mut self, container: Container, element: Element) {
        let (table, set) = (self.table, self.containers[container as usize]);
        match self.elements.insert((container, element.key.clone()), element.data.clone()) {
            Some(known) if known == element.data => return,
            Some(_) => {
                let elements = vec![Element::new(element.key.clone())];
                self.commands.push(Command::DeleteElement { table, set, elements });
            }
            None => {}
        }
        self.commands.push(Command::AddElement { table, set, elements: vec![element] });
    }
}
