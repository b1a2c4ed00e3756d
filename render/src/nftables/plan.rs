//! What is written in a sync, as data.

use std::collections::HashMap;

use kps_flow::Family;
use kps_model::PortKey;
use kps_ruleset::nftables::{ApplyError, Command, Data, Element, Key, Ruleset};
use kps_ruleset::{Name, NodeState};

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

/// The chains, rules, sets and elements of one `ServicePort`.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// Which one.
    pub key: PortKey,
    /// Its commands, as if it were the only one.
    pub commands: Vec<Command>,
}

impl Plan {
    /// Returns the transaction, in kube-proxy's order.
    ///
    /// An element that is there already is not added again; where two `ServicePort`s claim one key,
    /// the later one takes it over.
    #[must_use]
    pub fn into_commands(self) -> Vec<Command> {
        let mut elements = Elements::default();
        let fragments = self.fragments.into_iter().flat_map(|fragment| fragment.commands);
        let mut commands = Vec::with_capacity(self.base.len());
        for command in self.base.into_iter().chain(fragments) {
            elements.add(command, &mut commands);
        }
        commands
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

/// The elements of each set so far, with their data.
#[derive(Default)]
struct Elements {
    sets: HashMap<Name, HashMap<Key, Option<Data>>>,
}

impl Elements {
    fn add(&mut self, command: Command, commands: &mut Vec<Command>) {
        let Command::AddElement { table, set, elements } = &command else {
            commands.push(command);
            return;
        };
        let known = self.sets.entry(*set).or_default();
        let [element] = elements.as_slice() else {
            commands.push(command);
            return;
        };
        match known.insert(element.key.clone(), element.data.clone()) {
            Some(data) if data == element.data => {}
            Some(_) => {
                let elements = vec![Element::new(element.key.clone())];
                commands.push(Command::DeleteElement { table: *table, set: *set, elements });
                commands.push(command);
            }
            None => commands.push(command),
        }
    }
}
