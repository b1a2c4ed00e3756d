//! The tree as text: what `nft list ruleset` shows, and the script that `nft -f` reads.
//!
//! The list form is that of nft 1.0.6, byte for byte. The script form is spelled as knftables, the
//! library of kube-proxy, writes it: one command a line, blanks round punctuation, the older words
//! of marks (`mark set mark or 0x00004000`). Both come from one `Writer`, because most of the
//! language is the same in both. JSON is written elsewhere.

mod expr;
mod list;
mod script;
mod statement;
mod value;

use std::fmt;
use std::io;

use super::ast::{
    BaseChain, Element, ElementState, Expr, Rule, Ruleset, Set, Statement, TableFamily, Value,
    Verdict,
};
use super::datatype::{KeyKinds, Kind};
use super::transaction::Command;

pub(super) use list::named_priorities;

/// Returns a rule set in the form of `nft list ruleset`.
#[must_use]
pub fn print_ruleset(ruleset: &Ruleset) -> String {
    let mut out = String::new();
    Writer { out: &mut out, form: Form::List }.ruleset(ruleset);
    out
}

/// Returns commands as a script for `nft -f`, one a line.
#[must_use]
pub fn print_script(commands: &[Command]) -> String {
    let mut out = String::new();
    let mut writer = Writer { out: &mut out, form: Form::Script };
    for command in commands {
        writer.command(command);
    }
    out
}

/// Writes commands as a script for `nft -f`, without holding it in memory.
///
/// # Errors
///
/// Those of the writer.
pub fn write_script(commands: &[Command], to: &mut impl io::Write) -> io::Result<()> {
    commands.chunks(1024).try_for_each(|part| to.write_all(print_script(part).as_bytes()))
}

/// Which of the two spellings is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    List,
    Script,
}

/// Writes the language into a text.
pub(super) struct Writer<'a> {
    pub(super) out: &'a mut String,
    pub(super) form: Form,
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn number(&mut self, number: impl itoa::Integer) {
        self.out.push_str(itoa::Buffer::new().format(number));
    }

    fn is_script(&self) -> bool {
        self.form == Form::Script
    }
}

fn display(f: &mut fmt::Formatter<'_>, write: impl FnOnce(&mut Writer<'_>)) -> fmt::Result {
    let mut out = String::new();
    write(&mut Writer { out: &mut out, form: Form::List });
    f.pad(&out)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |w| w.rule(self))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |w| w.statement(self))
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |w| w.expr(self))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |w| w.value(self, Kind::Other))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |w| w.verdict(*self))
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |w| w.element(self, KeyKinds::Types(&[]), KeyKinds::Types(&[])))
    }
}

impl Set {
    /// Returns an element of this set as nft prints it there.
    #[must_use]
    pub fn display_element(&self, element: &Element) -> String {
        let mut out = String::new();
        Writer { out: &mut out, form: Form::List }.element_of(element, self);
        out
    }

    /// Returns an element without its counts and the time it has left.
    pub(super) fn static_text(&self, element: &Element) -> String {
        let timeout = element.state.as_ref().and_then(|state| state.timeout);
        let state = ElementState { timeout, ..ElementState::default() };
        let state = timeout.map(|_| Box::new(state));
        self.display_element(&Element { state, ..element.clone() })
    }

    /// Returns its type and properties as one line.
    pub(super) fn definition(&self) -> String {
        let mut out = String::new();
        let bare = Set { elements: indexmap::IndexMap::default(), ..self.clone() };
        Writer { out: &mut out, form: Form::Script }.set_body(&bare);
        out.trim().to_owned()
    }
}

impl BaseChain {
    /// Returns its type, hook, priority and policy.
    pub(super) fn text(&self, family: TableFamily) -> String {
        let mut out = String::new();
        Writer { out: &mut out, form: Form::List }.base_chain(self, family);
        out.trim().to_owned()
    }
}
