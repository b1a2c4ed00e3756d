//! The layout of `nft list ruleset`: tables, counters, sets, chains.

use super::Writer;
use super::value::duration;
use crate::Name;
use crate::nftables::ast::{
    BaseChain, Chain, ChainKind, Counter, DataType, Hook, Policy, Ruleset, Set, SetFlags, Table,
    TableFamily,
};
use crate::nftables::datatype::{Kind, kind_of_type};

impl Writer<'_> {
    pub(super) fn ruleset(&mut self, ruleset: &Ruleset) {
        ruleset.tables.iter().for_each(|table| self.table(table));
    }

    fn table(&mut self, table: &Table) {
        self.text("table ");
        self.text(table.family.as_str());
        self.out.push(' ');
        self.text(&table.name);
        self.text(" {\n");
        self.table_head(table);
        self.table_objects(table);
        self.text("}\n");
    }

    fn table_head(&mut self, table: &Table) {
        if !table.flags.is_empty() {
            self.text("\tflags ");
            self.joined(&table.flags);
            self.out.push('\n');
        }
        if let Some(comment) = table.comment {
            self.text("\tcomment ");
            self.quoted(&comment);
            self.out.push('\n');
        }
    }

    /// The objects have an empty line between them; after flags there is one before them, too.
    fn table_objects(&mut self, table: &Table) {
        let mut gap = !table.flags.is_empty();
        for (name, counter) in &table.counters {
            self.gap(&mut gap);
            self.named_counter(*name, counter);
        }
        for other in &table.other {
            self.gap(&mut gap);
            self.out.push('\t');
            self.text(&other.text);
            self.out.push('\n');
        }
        for (name, set) in &table.sets {
            self.gap(&mut gap);
            self.set(*name, set);
        }
        for (name, chain) in &table.chains {
            self.gap(&mut gap);
            self.chain(*name, chain, table.family);
        }
    }

    fn gap(&mut self, gap: &mut bool) {
        if *gap {
            self.out.push('\n');
        }
        *gap = true;
    }

    fn named_counter(&mut self, name: Name, counter: &Counter) {
        self.text("\tcounter ");
        self.text(&name);
        self.text(" {\n");
        self.comment_line(counter.comment);
        self.text("\t\tpackets ");
        self.number(counter.packets);
        self.text(" bytes ");
        self.number(counter.bytes);
        self.text("\n\t}\n");
    }

    fn comment_line(&mut self, comment: Option<Name>) {
        if let Some(comment) = comment {
            self.text("\t\tcomment ");
            self.quoted(&comment);
            self.out.push('\n');
        }
    }

    fn set(&mut self, name: Name, set: &Set) {
        self.text(if set.is_map() { "\tmap " } else { "\tset " });
        self.text(&name);
        self.text(" {\n\t\t");
        self.set_type(set);
        self.out.push('\n');
        self.set_properties(set);
        if !set.elements.is_empty() {
            self.set_elements(set);
        }
        self.text("\t}\n");
    }

    pub(super) fn set_type(&mut self, set: &Set) {
        if let Some(text) = set.type_of {
            self.text("typeof ");
            self.text(&text);
            return;
        }
        self.text("type ");
        self.types(&set.key);
        if let Some(data) = &set.data {
            self.text(" : ");
            self.types(data);
        }
    }

    fn types(&mut self, types: &[DataType]) {
        for (i, data_type) in types.iter().enumerate() {
            if i > 0 {
                self.text(" . ");
            }
            self.text(data_type.as_str());
        }
    }

    fn set_properties(&mut self, set: &Set) {
        if let Some(size) = set.size {
            self.text("\t\tsize ");
            self.number(size);
            self.out.push('\n');
        }
        if set.flags != SetFlags::default() {
            self.text("\t\tflags ");
            self.set_flags(set.flags);
            self.out.push('\n');
        }
        self.time_line("\t\ttimeout ", set.timeout);
        self.time_line("\t\tgc-interval ", set.gc_interval);
        if set.counter {
            self.text("\t\tcounter\n");
        }
        for other in &set.other {
            self.text("\t\t");
            self.text(&other.text);
            self.out.push('\n');
        }
        if set.auto_merge {
            self.text("\t\tauto-merge\n");
        }
        self.comment_line(set.comment);
    }

    fn time_line(&mut self, label: &str, time: Option<u64>) {
        if let Some(time) = time {
            self.text(label);
            duration(self.out, time);
            self.out.push('\n');
        }
    }

    pub(super) fn set_flags(&mut self, flags: SetFlags) {
        for (i, word) in flags.words().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            self.text(word);
        }
    }

    fn set_elements(&mut self, set: &Set) {
        let a_line = elements_a_line(&set.key);
        self.text("\t\telements = { ");
        for (i, element) in set.elements.values().enumerate() {
            match i {
                0 => {}
                i if i % a_line == 0 => self.text(",\n\t\t\t     "),
                _ => self.text(", "),
            }
            self.element_of(element, set);
        }
        self.text(" }\n");
    }

    fn chain(&mut self, name: Name, chain: &Chain, family: TableFamily) {
        self.text("\tchain ");
        self.text(&name);
        self.text(" {\n");
        self.comment_line(chain.comment);
        if let Some(base) = &chain.base {
            self.base_chain(base, family);
        }
        for rule in &chain.rules {
            self.text("\t\t");
            self.rule(rule);
            self.out.push('\n');
        }
        self.text("\t}\n");
    }

    pub(super) fn base_chain(&mut self, base: &BaseChain, family: TableFamily) {
        self.text("\t\ttype ");
        self.text(base.kind.as_str());
        self.text(" hook ");
        self.text(base.hook.as_str());
        self.devices(&base.devices);
        self.text(" priority ");
        self.text(&priority_text(base, family));
        self.text("; policy ");
        self.text(base.policy.as_str());
        self.text(";\n");
    }

    pub(super) fn devices(&mut self, devices: &[Name]) {
        match devices {
            [] => {}
            [device] => {
                self.text(" device ");
                self.quoted(device);
            }
            _ => {
                self.text(" devices = { ");
                for (i, device) in devices.iter().enumerate() {
                    self.text(if i > 0 { ", " } else { "" });
                    self.quoted(device);
                }
                self.text(" }");
            }
        }
    }

    fn joined(&mut self, names: &[Name]) {
        for (i, name) in names.iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            self.text(name);
        }
    }
}

/// How many elements nft puts on one line: short keys share one.
fn elements_a_line(key: &[DataType]) -> usize {
    let [key] = key else { return 1 };
    match kind_of_type(*key) {
        Kind::Ipv4 | Kind::CtState | Kind::CtStatus => 2,
        Kind::Protocol | Kind::Service | Kind::Mark | Kind::Integer => 5,
        _ => 1,
    }
}

/// Returns a priority with the name that nft has for its neighbourhood at this hook, as far as it
/// names it: within 10 of a named one.
pub(in crate::nftables) fn priority_text(base: &BaseChain, family: TableFamily) -> String {
    for (name, value) in named_priorities(family, base.hook) {
        match base.priority.saturating_sub(*value) {
            0 => return (*name).to_owned(),
            distance @ 1..=10 => return format!("{name} + {distance}"),
            distance @ -10..=-1 => return format!("{name} - {}", -distance),
            _ => {}
        }
    }
    base.priority.to_string()
}

/// Returns the named priorities of a family at a hook (nft(8), "Standard priority names").
pub(in crate::nftables) fn named_priorities(
    family: TableFamily,
    hook: Hook,
) -> &'static [(&'static str, i32)] {
    const INET: [(&str, i32); 4] =
        [("raw", -300), ("mangle", -150), ("filter", 0), ("security", 50)];
    const INET_PREROUTING: [(&str, i32); 5] =
        [("raw", -300), ("mangle", -150), ("dstnat", -100), ("filter", 0), ("security", 50)];
    const INET_POSTROUTING: [(&str, i32); 5] =
        [("raw", -300), ("mangle", -150), ("filter", 0), ("security", 50), ("srcnat", 100)];
    match (family, hook) {
        (TableFamily::Bridge, Hook::Prerouting) => &[("dstnat", -300), ("filter", -200)],
        (TableFamily::Bridge, Hook::Output) => &[("filter", -200), ("out", 100)],
        (TableFamily::Bridge, Hook::Postrouting) => &[("filter", -200), ("srcnat", 300)],
        (TableFamily::Bridge, _) => &[("filter", -200)],
        (TableFamily::Netdev | TableFamily::Arp, _) | (_, Hook::Ingress | Hook::Egress) => {
            &[("filter", 0)]
        }
        (_, Hook::Prerouting) => &INET_PREROUTING,
        (_, Hook::Postrouting) => &INET_POSTROUTING,
        _ => &INET,
    }
}

impl SetFlags {
    /// Returns the words of the flags in the order of nft.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        [
            (self.constant, "constant"),
            (self.dynamic, "dynamic"),
            (self.interval, "interval"),
            (self.timeout, "timeout"),
        ]
        .into_iter()
        .filter_map(|(on, word)| on.then_some(word))
    }
}

impl ChainKind {
    /// Returns the keyword.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ChainKind::Filter => "filter",
            ChainKind::Nat => "nat",
            ChainKind::Route => "route",
        }
    }
}

impl Hook {
    /// Returns the keyword.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Hook::Ingress => "ingress",
            Hook::Prerouting => "prerouting",
            Hook::Input => "input",
            Hook::Forward => "forward",
            Hook::Output => "output",
            Hook::Postrouting => "postrouting",
            Hook::Egress => "egress",
        }
    }
}

impl Policy {
    /// Returns the keyword.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Policy::Accept => "accept",
            Policy::Drop => "drop",
        }
    }
}
