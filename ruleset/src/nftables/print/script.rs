//! Commands, one a line.

use super::Writer;
use super::value::duration;
use crate::Name;
use crate::nftables::ast::{BaseChain, Chain, Counter, Element, Policy, Rule, Set, SetFlags};
use crate::nftables::transaction::{Command, TableId};

impl Writer<'_> {
    pub(super) fn command(&mut self, command: &Command) {
        match command {
            Command::Create(inner) => self.command_with("create", inner),
            Command::Destroy(inner) => self.command_with("destroy", inner),
            other => self.command_with("", other),
        }
        self.out.push('\n');
    }

    /// Writes a command whose verb may be replaced.
    fn command_with(&mut self, verb: &str, command: &Command) {
        let or = |usual: &'static str| if verb.is_empty() { usual } else { verb };
        match command {
            Command::AddTable { table, comment } => self.add_table(or("add"), *table, *comment),
            Command::DeleteTable(table) => self.on_table(or("delete"), *table),
            Command::FlushTable(table) => self.on_table("flush", *table),
            Command::FlushRuleset => self.text("flush ruleset"),
            Command::AddChain { table, name, chain } => {
                self.head(or("add"), "chain", *table, *name);
                self.chain_body(chain);
            }
            Command::FlushChain { table, name } => self.head("flush", "chain", *table, *name),
            Command::DeleteChain { table, name } => {
                self.head(or("delete"), "chain", *table, *name);
            }
            Command::AddRule { table, chain, rule } => self.rule_of("add", *table, *chain, rule),
            Command::InsertRule { table, chain, rule } => {
                self.rule_of("insert", *table, *chain, rule);
            }
            Command::DeleteRule { table, chain, handle } => {
                self.head(or("delete"), "rule", *table, *chain);
                self.text(" handle ");
                self.number(*handle);
            }
            Command::Unsupported(unsupported) => self.text(&unsupported.text),
            Command::Create(_) | Command::Destroy(_) => {}
            of_set => self.set_command(verb, of_set),
        }
    }

    fn set_command(&mut self, verb: &str, command: &Command) {
        let or = |usual: &'static str| if verb.is_empty() { usual } else { verb };
        match command {
            Command::AddSet { table, name, set } => {
                self.head(or("add"), set_word(set.is_map()), *table, *name);
                self.set_body(set);
            }
            Command::FlushSet { table, name, map } => {
                self.head("flush", set_word(*map), *table, *name);
            }
            Command::DeleteSet { table, name, map } => {
                self.head(or("delete"), set_word(*map), *table, *name);
            }
            Command::AddElement { table, set, elements } => {
                self.head(or("add"), "element", *table, *set);
                self.elements(elements, true);
            }
            Command::DeleteElement { table, set, elements } => {
                self.head(or("delete"), "element", *table, *set);
                self.elements(elements, false);
            }
            Command::AddCounter { table, name, counter } => {
                self.head(or("add"), "counter", *table, *name);
                self.counter_body(counter);
            }
            Command::DeleteCounter { table, name } => {
                self.head(or("delete"), "counter", *table, *name);
            }
            _ => {}
        }
    }

    fn head(&mut self, verb: &str, object: &str, table: TableId, name: Name) {
        self.text(verb);
        self.out.push(' ');
        self.text(object);
        self.out.push(' ');
        self.text(table.family.as_str());
        self.out.push(' ');
        self.text(&table.name);
        self.out.push(' ');
        self.text(&name);
    }

    fn on_table(&mut self, verb: &str, table: TableId) {
        self.text(verb);
        self.text(" table ");
        self.text(table.family.as_str());
        self.out.push(' ');
        self.text(&table.name);
    }

    fn add_table(&mut self, verb: &str, table: TableId, comment: Option<Name>) {
        self.on_table(verb, table);
        if comment.is_some() {
            self.text(" {");
            self.comment_clause(comment);
            self.text(" }");
        }
    }

    fn comment_clause(&mut self, comment: Option<Name>) {
        if let Some(comment) = comment {
            self.text(" comment ");
            self.quoted(&comment);
            self.text(" ;");
        }
    }

    fn chain_body(&mut self, chain: &Chain) {
        if chain.base.is_none() && chain.comment.is_none() {
            return;
        }
        self.text(" {");
        if let Some(base) = &chain.base {
            self.base_clause(base);
        }
        self.comment_clause(chain.comment);
        self.text(" }");
    }

    /// Priorities are numbers here; an accepting policy is the default and is left out.
    fn base_clause(&mut self, base: &BaseChain) {
        self.text(" type ");
        self.text(base.kind.as_str());
        self.text(" hook ");
        self.text(base.hook.as_str());
        self.devices(&base.devices);
        self.text(" priority ");
        self.number(base.priority);
        self.text(" ;");
        if base.policy == Policy::Drop {
            self.text(" policy drop ;");
        }
    }

    fn rule_of(&mut self, verb: &str, table: TableId, chain: Name, rule: &Rule) {
        self.head(verb, "rule", table, chain);
        self.out.push(' ');
        self.rule(rule);
    }

    pub(super) fn set_body(&mut self, set: &Set) {
        self.text(" { ");
        self.set_type(set);
        self.text(" ;");
        if set.flags != SetFlags::default() {
            self.text(" flags ");
            self.set_flags(set.flags);
            self.text(" ;");
        }
        self.time_clause(" timeout ", set.timeout);
        self.time_clause(" gc-interval ", set.gc_interval);
        self.size_clause(set.size);
        self.text(if set.auto_merge { " auto-merge ;" } else { "" });
        self.text(if set.counter { " counter ;" } else { "" });
        self.comment_clause(set.comment);
        for other in &set.other {
            self.out.push(' ');
            self.text(&other.text);
            self.text(" ;");
        }
        self.elements_clause(set);
        self.text(" }");
    }

    fn size_clause(&mut self, size: Option<u32>) {
        if let Some(size) = size {
            self.text(" size ");
            self.number(size);
            self.text(" ;");
        }
    }

    /// Whole seconds are written as such, as knftables does.
    fn time_clause(&mut self, label: &str, milliseconds: Option<u64>) {
        let Some(time) = milliseconds else { return };
        self.text(label);
        if time.is_multiple_of(1000) {
            self.number(time / 1000);
            self.out.push('s');
        } else {
            duration(self.out, time);
        }
        self.text(" ;");
    }

    fn elements_clause(&mut self, set: &Set) {
        if set.elements.is_empty() {
            return;
        }
        self.text(" elements = { ");
        for (i, element) in set.elements.values().enumerate() {
            self.text(if i > 0 { " , " } else { "" });
            self.element_of(element, set);
        }
        self.text(" } ;");
    }

    fn elements(&mut self, elements: &[Element], whole: bool) {
        let kinds = crate::nftables::datatype::KeyKinds::Types(&[]);
        self.text(" { ");
        for (i, element) in elements.iter().enumerate() {
            self.text(if i > 0 { " , " } else { "" });
            if whole {
                self.element(element, kinds, kinds);
            } else {
                self.key(&element.key, kinds);
            }
        }
        self.text(" }");
    }

    fn counter_body(&mut self, counter: &Counter) {
        let has_counts = counter.packets != 0 || counter.bytes != 0;
        if !has_counts && counter.comment.is_none() {
            return;
        }
        self.text(" {");
        if has_counts {
            self.text(" packets ");
            self.number(counter.packets);
            self.text(" bytes ");
            self.number(counter.bytes);
            self.text(" ;");
        }
        self.comment_clause(counter.comment);
        self.text(" }");
    }
}

fn set_word(map: bool) -> &'static str {
    if map { "map" } else { "set" }
}
