//! What a walk of one packet tells of all others like it.
//!
//! Each question that a walk asks about an address or port is told to a [`Watch`], which narrows the
//! class to the packets that get the same answer and puts the others aside. When the walk is over,
//! everything that it did it would have done to any packet of the class.
//!
//! A value that a walk meets is one of the first packet's or a constant of the rules. The watch goes
//! by the value alone: what equals a field of the sample is taken to be that field. A constant that
//! happens to equal it splits the class where there was no need, which is no harm. Only where two equal
//! values are compared with each other could a constant pass for a field; the watch notes that, and
//! a second sample shows it ([`Watch::needs_second`]).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;

use kps_flow::{Family, Protocol};
use kps_ruleset::Name;
use smallvec::SmallVec;

use super::line::{Line, Span};
use super::region::{Asked, Field, Region, Sample};
use super::set::Set;
use super::table::Table;
use crate::walk::chains::ChainId;

/// Which of two states is walked.
pub(crate) type Side = u8;

/// Links by the sources that come in by them.
pub(crate) type OwnLinks = BTreeMap<u128, Name>;

/// What was worked out once for all classes: tables of look-ups, lines of questions, splits of sets.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    tables: RefCell<HashMap<(Side, TableKey), Rc<Table>>>,
    lines: RefCell<HashMap<(Side, LineKey), Rc<Line>>>,
    splits: RefCell<HashMap<(usize, usize), Split>>,
}

/// A set, a line, and the parts that it splits the set into. Set and line are kept so that no other
/// takes their place in memory.
#[derive(Debug)]
struct Split {
    _of: (Set, Rc<Line>),
    parts: Rc<[(u32, Set)]>,
}

/// A look-up that is asked again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TableKey {
    /// A set or map of nftables.
    Lookup(u32),
    /// An IP set.
    IpSet(Name),
    /// The virtual servers for a protocol and family.
    Services(Protocol, Family),
}

/// A question that is asked again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LineKey {
    /// Which destinations rules of an iptables chain name.
    Destinations(ChainId, Family),
    /// Which ports they name for every destination.
    Ports(ChainId, u8),
    /// What type the host gives an address.
    Origin(Family),
    /// Which sources it refuses from a link.
    Refusal(Family, Name),
    /// Which policy rules select a source.
    Selection(Family),
    /// What it makes of a destination.
    Place(Family),
    /// Which source it picks for a destination.
    Choice(Family, Option<Name>),
}

/// The class of a packet that is being walked.
#[derive(Debug)]
pub(crate) struct Watch {
    sample: Sample,
    desk: Rc<Desk>,
    region: RefCell<Region>,
    aside: RefCell<Vec<Region>>,
    side: Cell<Side>,
    /// The link that each source comes in by, if that is not the same for all.
    links: Option<Arc<OwnLinks>>,
    compared: Cell<bool>,
    lost: RefCell<Option<String>>,
}

/// Sets and lines of fewer pieces in all are split anew each time.
const MANY: usize = 64;

impl Watch {
    /// Watches a packet for a region that holds it.
    pub(crate) fn new(
        sample: Sample,
        region: Region,
        links: Option<Arc<OwnLinks>>,
        desk: Rc<Desk>,
    ) -> Watch {
        Watch {
            sample,
            desk,
            region: RefCell::new(region),
            aside: RefCell::default(),
            side: Cell::new(0),
            links,
            compared: Cell::new(false),
            lost: RefCell::new(None),
        }
    }

    /// Says which state is walked from here on.
    pub(crate) fn turn_to(&self, side: Side) {
        self.side.set(side);
    }

    /// Tells whether every source comes in by the link that leads to it.
    pub(crate) fn by_own_link(&self) -> bool {
        self.links.is_some()
    }

    /// Something was asked about the link that the packet came in by: narrows the class to sources
    /// whose links get the same label.
    pub(crate) fn ask_link<L: Hash + Eq>(&self, label: impl Fn(Name) -> L) {
        let Some(links) = &self.links else { return };
        if self.region.borrow().set(Field::Source).is_single() {
            return;
        }
        let sources = links.keys().map(|source| (*source, *source));
        let line = Line::labelled(sources, |source| links.get(&source).map(|link| label(*link)));
        let set = self.region.borrow().set(Field::Source).clone();
        self.keep(Field::Source, &line, &set.split(&line));
    }

    /// Tells whether the class has several values where this one stands.
    pub(crate) fn is_open(&self, asked: Asked) -> bool {
        !self.open_fields(asked).is_empty()
    }

    fn open_fields(&self, asked: Asked) -> SmallVec<[Field; 2]> {
        let region = self.region.borrow();
        self.sample.holding(asked).filter(|field| !region.set(*field).is_single()).collect()
    }

    /// Narrows the class to values that get the same label.
    pub(crate) fn ask(&self, asked: Asked, line: &Line) {
        for field in self.open_fields(asked) {
            let set = self.region.borrow().set(field).clone();
            self.keep(field, line, &set.split(line));
        }
    }

    /// As [`Watch::ask`], for a line that many classes are asked by.
    pub(crate) fn ask_shared(&self, asked: Asked, line: &Rc<Line>) {
        for field in self.open_fields(asked) {
            let set = self.region.borrow().set(field).clone();
            self.keep(field, line, &self.desk.split(&set, line));
        }
    }

    /// Narrows the class to values that are all inside of a span, or all outside.
    pub(crate) fn ask_span(&self, asked: Asked, span: Span) {
        if self.is_open(asked) {
            self.ask(asked, &Line::inside(span));
        }
    }

    /// Two values were compared. Narrows the class to packets for which they are as unequal.
    pub(crate) fn compares(&self, one: Asked, other: Asked) {
        if one == other {
            self.compared.set(self.compared.get() || self.is_open(one));
            return;
        }
        self.ask_span(one, (other.number(), other.number()));
        self.ask_span(other, (one.number(), one.number()));
    }

    /// A constant may pass for a field from here on.
    pub(crate) fn doubt(&self) {
        self.compared.set(true);
    }

    /// Something was asked that cannot be told for a whole class.
    pub(crate) fn lose(&self, asked: Asked, why: impl FnOnce() -> String) {
        if self.is_open(asked) {
            self.lost.borrow_mut().get_or_insert_with(why);
        }
    }

    fn keep(&self, field: Field, line: &Line, parts: &[(u32, Set)]) {
        let mine = line.label(self.sample.get(field));
        let region = self.region.borrow().clone();
        for (label, part) in parts {
            let narrowed = region.with(field, part.clone());
            if *label == mine {
                *self.region.borrow_mut() = narrowed;
            } else {
                self.aside.borrow_mut().push(narrowed);
            }
        }
    }

    /// Returns the table of a look-up, made by `make` if it is new.
    pub(crate) fn table(&self, key: TableKey, make: impl FnOnce() -> Table) -> Rc<Table> {
        let key = (self.side.get(), key);
        if let Some(table) = self.desk.tables.borrow().get(&key) {
            return Rc::clone(table);
        }
        let table = Rc::new(make());
        self.desk.tables.borrow_mut().insert(key, Rc::clone(&table));
        table
    }

    /// Narrows the class by a line that is made by `make` if it is new.
    pub(crate) fn ask_by(&self, key: LineKey, asked: Asked, make: impl FnOnce() -> Line) {
        if !self.is_open(asked) {
            return;
        }
        let key = (self.side.get(), key);
        let known = self.desk.lines.borrow().get(&key).cloned();
        let line = known.unwrap_or_else(|| {
            let line = Rc::new(make());
            self.desk.lines.borrow_mut().insert(key, Rc::clone(&line));
            line
        });
        self.ask_shared(asked, &line);
    }

    /// Tells whether a second sample must show that no constant passed for a field.
    pub(crate) fn needs_second(&self) -> bool {
        self.compared.get()
    }

    /// Ends the walk: returns the class, what was put aside, and why the class cannot be decided, if
    /// it cannot.
    pub(crate) fn finish(&self) -> (Region, Vec<Region>, Option<String>) {
        (self.region.borrow().clone(), self.aside.take(), self.lost.take())
    }
}

impl Desk {
    fn split(&self, set: &Set, line: &Rc<Line>) -> Rc<[(u32, Set)]> {
        if set.spans().len() + line.len() < MANY {
            return set.split(line).into();
        }
        let key = (set.address(), Rc::as_ptr(line).addr());
        if let Some(split) = self.splits.borrow().get(&key) {
            return Rc::clone(&split.parts);
        }
        let parts: Rc<[(u32, Set)]> = set.split(line).into();
        let split = Split { _of: (set.clone(), Rc::clone(line)), parts: Rc::clone(&parts) };
        self.splits.borrow_mut().insert(key, split);
        parts
    }
}
