//! Commands applied to a rule set as the kernel does it: all or nothing.

use indexmap::IndexMap;

use super::error::{ApplyError, ApplyErrorKind};
use super::references::{ChainUses, element_target, for_each_set, for_each_target, set_is_used};
use super::undo::Undo;
use super::{Command, TableId, validate};
use crate::Name;
use crate::nftables::ast::{Chain, Counter, Element, Rule, Ruleset, Set, Table};
use crate::nftables::normalise::{normalise_element, normalise_rule};

use ApplyErrorKind::{
    Busy, CommentTooLong, Exists, Invalid, NameTooLong, NotFound, NotSupported, SetFull,
};

type Result<T = ()> = std::result::Result<T, ApplyErrorKind>;

/// The size that a set without one gets when a rule updates it.
const DYNAMIC_SET_SIZE: u32 = 65535;

const LONGEST_NAME: usize = 255;
const LONGEST_COMMENT: usize = 128;

impl Ruleset {
    /// Applies a transaction.
    ///
    /// # Errors
    ///
    /// If a command fails or the result is not valid. Then the rule set is as it was, but for the
    /// order of elements.
    pub fn apply(&mut self, commands: &[Command]) -> std::result::Result<(), ApplyError> {
        let mut transaction = Transaction::new(self);
        let outcome = transaction.run(commands);
        if outcome.is_err() {
            transaction.roll_back();
        }
        outcome
    }

    /// Returns a table to change it.
    pub fn table_mut(&mut self, id: TableId) -> Option<&mut Table> {
        self.tables.iter_mut().find(|table| table.id() == id)
    }
}

/// A transaction under way.
struct Transaction<'a> {
    ruleset: &'a mut Ruleset,
    undo: Vec<Undo>,
    /// Whether things that exist are an error (`create`).
    exclusive: bool,
    /// The tables that got a new call, whose depth is to be checked.
    called: Vec<TableId>,
    /// Calls of the chains of a table, until one changes.
    uses: Option<(TableId, ChainUses)>,
}

impl<'a> Transaction<'a> {
    fn new(ruleset: &'a mut Ruleset) -> Transaction<'a> {
        Transaction { ruleset, undo: Vec::new(), exclusive: false, called: Vec::new(), uses: None }
    }

    fn run(&mut self, commands: &[Command]) -> std::result::Result<(), ApplyError> {
        for (index, command) in commands.iter().enumerate() {
            let failed = |kind| ApplyError::new(index, Some(command), kind);
            self.command(command).map_err(failed)?;
        }
        let last = commands.len().saturating_sub(1);
        let failed = |kind| ApplyError::new(last, commands.last(), kind);
        self.commit().map_err(failed)
    }

    fn commit(&self) -> Result {
        let tables = self.ruleset.tables.iter().filter(|table| self.called.contains(&table.id()));
        tables.into_iter().try_for_each(validate::call_depth)
    }

    fn roll_back(self) {
        for step in self.undo.into_iter().rev() {
            step.run(self.ruleset);
        }
    }

    fn command(&mut self, command: &Command) -> Result {
        match command {
            Command::Create(inner) => {
                self.exclusive = true;
                let outcome = self.command(inner);
                self.exclusive = false;
                outcome
            }
            Command::Destroy(inner) => match self.command(inner) {
                Err(NotFound) => Ok(()),
                outcome => outcome,
            },
            Command::AddTable { table, comment } => self.add_table(*table, *comment),
            Command::DeleteTable(table) => self.delete_table(*table),
            Command::FlushTable(table) => self.flush_table(*table),
            Command::FlushRuleset => {
                self.undo.push(Undo::Ruleset(std::mem::take(self.ruleset)));
                Ok(())
            }
            Command::AddChain { table, name, chain } => self.add_chain(*table, *name, chain),
            Command::FlushChain { table, name } => self.flush_chain(*table, *name),
            Command::DeleteChain { table, name } => self.delete_chain(*table, *name),
            Command::AddRule { table, chain, rule } => self.add_rule(*table, *chain, rule, false),
            Command::InsertRule { table, chain, rule } => self.add_rule(*table, *chain, rule, true),
            Command::DeleteRule { table, chain, handle } => {
                self.delete_rule(*table, *chain, *handle)
            }
            Command::AddSet { table, name, set } => self.add_set(*table, *name, set),
            Command::FlushSet { table, name, .. } => self.flush_set(*table, *name),
            Command::DeleteSet { table, name, .. } => self.delete_set(*table, *name),
            Command::AddElement { table, set, elements } => {
                elements.iter().try_for_each(|element| self.add_element(*table, *set, element))
            }
            Command::DeleteElement { table, set, elements } => {
                elements.iter().try_for_each(|element| self.delete_element(*table, *set, element))
            }
            Command::AddCounter { table, name, counter } => {
                self.add_counter(*table, *name, counter)
            }
            Command::DeleteCounter { table, name } => self.delete_counter(*table, *name),
            Command::Unsupported(_) => Err(ApplyErrorKind::Unsupported),
        }
    }

    fn table(&mut self, id: TableId) -> Result<&mut Table> {
        self.ruleset.table_mut(id).ok_or(NotFound)
    }

    fn add_table(&mut self, id: TableId, comment: Option<Name>) -> Result {
        check_name(id.name)?;
        check_comment(comment)?;
        if self.ruleset.table_mut(id).is_some() {
            return if self.exclusive { Err(Exists) } else { Ok(()) };
        }
        self.ruleset.tables.push(Table { comment, ..Table::new(id) });
        self.undo.push(Undo::Table(id, None));
        Ok(())
    }

    fn delete_table(&mut self, id: TableId) -> Result {
        let at = self.ruleset.tables.iter().position(|table| table.id() == id).ok_or(NotFound)?;
        let table = self.ruleset.tables.remove(at);
        self.undo.push(Undo::Table(id, Some((at, Box::new(table)))));
        self.uses = None;
        Ok(())
    }

    fn flush_table(&mut self, id: TableId) -> Result {
        let chains: Vec<Name> = self.table(id)?.chains.keys().copied().collect();
        chains.into_iter().try_for_each(|chain| self.flush_chain(id, chain))
    }

    fn add_chain(&mut self, id: TableId, name: Name, chain: &Chain) -> Result {
        check_name(name)?;
        check_comment(chain.comment)?;
        let exclusive = self.exclusive;
        let table = self.table(id)?;
        let Some((at, _, known)) = table.chains.get_full_mut(&name) else {
            table.chains.insert(name, Chain { rules: Vec::new(), ..chain.clone() });
            self.undo.push(Undo::Chain(id, name, None));
            return Ok(());
        };
        if exclusive {
            return Err(Exists);
        }
        let before = known.clone();
        if change_base(known, chain)? {
            self.undo.push(Undo::Chain(id, name, Some((at, Box::new(before)))));
        }
        Ok(())
    }

    fn flush_chain(&mut self, id: TableId, name: Name) -> Result {
        let (at, _, chain) = self.table(id)?.chains.get_full_mut(&name).ok_or(NotFound)?;
        if chain.rules.is_empty() {
            return Ok(());
        }
        let rules = std::mem::take(&mut chain.rules);
        let before = Chain { rules, ..chain.clone() };
        self.undo.push(Undo::Chain(id, name, Some((at, Box::new(before)))));
        self.uses = None;
        Ok(())
    }

    /// Deletes a chain with its rules, unless another chain or a map calls it.
    fn delete_chain(&mut self, id: TableId, name: Name) -> Result {
        let mut uses = match self.uses.take() {
            Some((of, uses)) if of == id => uses,
            _ => ChainUses::of(self.table(id)?),
        };
        let (at, _, chain) = self.table(id)?.chains.get_full(&name).ok_or(NotFound)?;
        uses.forget(&chain.rules);
        if uses.count(name) > 0 {
            return Err(Busy);
        }
        self.uses = Some((id, uses));
        if let Some(chain) = self.table(id)?.chains.shift_remove(&name) {
            self.undo.push(Undo::Chain(id, name, Some((at, Box::new(chain)))));
        }
        Ok(())
    }

    fn add_rule(&mut self, id: TableId, chain: Name, rule: &Rule, first: bool) -> Result {
        check_comment(rule.comment)?;
        let mut rule = rule.clone();
        normalise_rule(&mut rule);
        let calls = check_references(self.table(id)?, &rule)?;
        self.size_updated_sets(id, &rule);
        let known = self.table(id)?.chains.get_mut(&chain).ok_or(NotFound)?;
        let at = if first { 0 } else { known.rules.len() };
        known.rules.insert(at, rule);
        self.undo.push(Undo::Rule(id, chain, at));
        if calls {
            self.note_call(id);
        }
        Ok(())
    }

    fn delete_rule(&mut self, id: TableId, name: Name, handle: u64) -> Result {
        let (at, _, chain) = self.table(id)?.chains.get_full_mut(&name).ok_or(NotFound)?;
        let rule = chain.rules.iter().position(|r| r.handle == Some(handle)).ok_or(NotFound)?;
        let before = chain.clone();
        chain.rules.remove(rule);
        self.undo.push(Undo::Chain(id, name, Some((at, Box::new(before)))));
        self.uses = None;
        Ok(())
    }

    fn note_call(&mut self, id: TableId) {
        self.uses = None;
        if !self.called.contains(&id) {
            self.called.push(id);
        }
    }

    /// A set that a rule updates has a size (`nft_dynset_init`).
    fn size_updated_sets(&mut self, id: TableId, rule: &Rule) {
        for statement in &rule.statements {
            let crate::nftables::Statement::SetUpdate(update) = statement else { continue };
            let set = self.ruleset.table_mut(id).and_then(|t| t.sets.get_mut(&update.set));
            if let Some(set) = set.filter(|set| set.size.is_none()) {
                set.size = Some(DYNAMIC_SET_SIZE);
                self.undo.push(Undo::SetSize(id, update.set));
            }
        }
    }

    fn add_set(&mut self, id: TableId, name: Name, set: &Set) -> Result {
        check_name(name)?;
        check_comment(set.comment)?;
        let exclusive = self.exclusive;
        let table = self.table(id)?;
        match table.sets.get_full_mut(&name) {
            Some((_, _, known)) if exclusive || !same_definition(known, set) => return Err(Exists),
            Some((at, _, known)) if known.timeout != set.timeout => {
                let before = known.clone();
                known.timeout = set.timeout;
                self.undo.push(Undo::Set(id, name, Some((at, Box::new(before)))));
            }
            Some(_) => {}
            None => {
                let empty = Set { elements: IndexMap::default(), ..set.clone() };
                table.sets.insert(name, empty);
                self.undo.push(Undo::Set(id, name, None));
            }
        }
        set.elements.values().try_for_each(|element| self.add_element(id, name, element))
    }

    fn flush_set(&mut self, id: TableId, name: Name) -> Result {
        let (at, _, set) = self.table(id)?.sets.get_full_mut(&name).ok_or(NotFound)?;
        let elements = std::mem::take(&mut set.elements);
        let before = Set { elements, ..set.clone() };
        self.undo.push(Undo::Set(id, name, Some((at, Box::new(before)))));
        self.uses = None;
        Ok(())
    }

    fn delete_set(&mut self, id: TableId, name: Name) -> Result {
        let table = self.table(id)?;
        let at = table.sets.get_index_of(&name).ok_or(NotFound)?;
        if set_is_used(table, name) {
            return Err(Busy);
        }
        if let Some(set) = table.sets.shift_remove(&name) {
            self.undo.push(Undo::Set(id, name, Some((at, Box::new(set)))));
        }
        self.uses = None;
        Ok(())
    }

    /// Adds an element. One that exists is left as it is if its data is the same.
    fn add_element(&mut self, id: TableId, name: Name, element: &Element) -> Result {
        check_comment(element.comment)?;
        let exclusive = self.exclusive;
        let table = self.table(id)?;
        let calls = element_target(element);
        check_target(table, calls)?;
        let set = table.sets.get_mut(&name).ok_or(NotFound)?;
        let mut element = element.clone();
        normalise_element(&mut element, set);
        check_element(set, &element)?;
        let full = set.size.is_some_and(|size| set.elements.len() >= size as usize);
        match set.elements.entry(element.key.clone()) {
            indexmap::map::Entry::Occupied(known) => {
                let same = known.get().data == element.data;
                return if exclusive || !same { Err(Exists) } else { Ok(()) };
            }
            indexmap::map::Entry::Vacant(_) if full => return Err(SetFull),
            indexmap::map::Entry::Vacant(place) => {
                let key = element.key.clone();
                place.insert(element);
                self.undo.push(Undo::Element(id, name, key, None));
            }
        }
        if calls.is_some() {
            self.note_call(id);
        }
        Ok(())
    }

    fn delete_element(&mut self, id: TableId, name: Name, element: &Element) -> Result {
        let set = self.table(id)?.sets.get_mut(&name).ok_or(NotFound)?;
        let mut element = element.clone();
        normalise_element(&mut element, set);
        let gone = set.elements.swap_remove(&element.key).ok_or(NotFound)?;
        self.undo.push(Undo::Element(id, name, element.key, Some(Box::new(gone))));
        self.uses = None;
        Ok(())
    }

    fn add_counter(&mut self, id: TableId, name: Name, counter: &Counter) -> Result {
        check_name(name)?;
        check_comment(counter.comment)?;
        let exclusive = self.exclusive;
        let table = self.table(id)?;
        if table.counters.contains_key(&name) {
            return if exclusive { Err(Exists) } else { Ok(()) };
        }
        table.counters.insert(name, counter.clone());
        self.undo.push(Undo::Counter(id, name, None));
        Ok(())
    }

    fn delete_counter(&mut self, id: TableId, name: Name) -> Result {
        let table = self.table(id)?;
        let at = table.counters.get_index_of(&name).ok_or(NotFound)?;
        if counter_is_used(table, name) {
            return Err(Busy);
        }
        if let Some(counter) = table.counters.shift_remove(&name) {
            self.undo.push(Undo::Counter(id, name, Some((at, Box::new(counter)))));
        }
        Ok(())
    }
}

fn check_name(name: Name) -> Result {
    if name.len() > LONGEST_NAME { Err(NameTooLong) } else { Ok(()) }
}

fn check_comment(comment: Option<Name>) -> Result {
    match comment {
        Some(comment) if comment.len() > LONGEST_COMMENT => Err(CommentTooLong),
        _ => Ok(()),
    }
}

/// A chain that is called must be there and must not be a base chain.
fn check_target(table: &Table, target: Option<Name>) -> Result {
    let Some(target) = target else { return Ok(()) };
    match table.chains.get(&target) {
        None => Err(NotFound),
        Some(chain) if chain.base.is_some() => Err(NotSupported),
        Some(_) => Ok(()),
    }
}

/// Checks what a rule names, and returns whether it can call a chain.
fn check_references(table: &Table, rule: &Rule) -> Result<bool> {
    let mut outcome = Ok(());
    let mut calls = false;
    for_each_target(rule, |target| {
        calls = true;
        outcome = outcome.and_then(|()| check_target(table, Some(target)));
    });
    for_each_set(rule, |name| {
        let set = table.sets.get(&name);
        calls |= set.is_some_and(Set::is_map);
        outcome = outcome.and_then(|()| set.map(|_| ()).ok_or(NotFound));
    });
    for statement in &rule.statements {
        if let crate::nftables::Statement::NamedCounter(name) = statement {
            outcome = outcome.and(table.counters.get(name).map(|_| ()).ok_or(NotFound));
        }
    }
    outcome.map(|()| calls)
}

fn check_element(set: &Set, element: &Element) -> Result {
    let fits =
        element.key.len() == set.key.len() || *element.key == [crate::nftables::Value::Wildcard];
    if fits && element.data.is_some() == set.is_map() { Ok(()) } else { Err(Invalid) }
}

/// Whether a second `add` of a set is the same set (`nft_set_is_same`).
fn same_definition(known: &Set, set: &Set) -> bool {
    let sized = known.size.is_none() || set.size.is_none() || known.size == set.size;
    known.key == set.key
        && known.data == set.data
        && known.flags == set.flags
        && known.timeout.is_some() == set.timeout.is_some()
        && sized
}

/// Gives a known chain what a second `add` says; only the policy may change. Returns whether it did.
fn change_base(known: &mut Chain, chain: &Chain) -> Result<bool> {
    match (&mut known.base, &chain.base) {
        (_, None) => Ok(false),
        (None, Some(_)) => Err(Exists),
        (Some(known), Some(base)) => {
            if (known.kind, known.hook, known.priority) != (base.kind, base.hook, base.priority) {
                return Err(NotSupported);
            }
            let changed = known.policy != base.policy;
            known.policy = base.policy;
            Ok(changed)
        }
    }
}

fn counter_is_used(table: &Table, name: Name) -> bool {
    let mut statements =
        table.chains.values().flat_map(|chain| &chain.rules).flat_map(|rule| &rule.statements);
    statements.any(|s| *s == crate::nftables::Statement::NamedCounter(name))
}
