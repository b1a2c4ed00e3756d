//! Commands of ipset and their effect. Each takes effect on its own.

use std::net::IpAddr;

use ipnet::IpNet;
use thiserror::Error;

use super::ast::{Element, Entry, Options, Range, Set, SetType, Sets};
use crate::Name;

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// `create`.
    Create {
        /// The set's name.
        name: Name,
        /// Its type.
        kind: SetType,
        /// Its options.
        options: Options,
        /// `-exist`: no error if there is the same set.
        exist: bool,
    },
    /// `add`.
    Add {
        /// The set.
        set: Name,
        /// The element.
        element: Element,
        /// What goes with it.
        entry: Entry,
        /// `-exist`: no error if it is there; it gets the new timeout.
        exist: bool,
    },
    /// `del`.
    Delete {
        /// The set.
        set: Name,
        /// The element.
        element: Element,
        /// `-exist`: no error if it is not there.
        exist: bool,
    },
    /// `destroy` of a set, or of all.
    Destroy(Option<Name>),
    /// `flush` of a set, or of all.
    Flush(Option<Name>),
    /// `rename`.
    Rename(Name, Name),
    /// `swap`: the sets exchange their content; rules that use the names see it at once.
    Swap(Name, Name),
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// There is no set of that name.
    #[error("no set of the name `{0}`")]
    UnknownSet(Name),
    /// There is a set of that name already, or another one.
    #[error("set `{0}` already exists")]
    SetExists(Name),
    /// A name is longer than 31 bytes, or empty.
    #[error("`{0}` is not a name of 1 to 31 bytes")]
    BadName(Name),
    /// The element is there already.
    #[error("`{element}` is already in set `{set}`")]
    ElementExists {
        /// The set.
        set: Name,
        /// The element.
        element: Element,
    },
    /// The element is not there.
    #[error("`{element}` is not in set `{set}`")]
    NoSuchElement {
        /// The set.
        set: Name,
        /// The element.
        element: Element,
    },
    /// The element is not of the set's type, out of its range, or a network of length zero.
    #[error("`{element}` cannot be in set `{set}`")]
    BadElement {
        /// The set.
        set: Name,
        /// The element.
        element: Element,
    },
    /// The set is full.
    #[error("set `{0}` is full")]
    Full(Name),
    /// A list uses the set.
    #[error("set `{0}` is in use")]
    InUse(Name),
    /// Sets of different types cannot be swapped.
    #[error("sets `{0}` and `{1}` are of different types")]
    DifferentTypes(Name, Name),
}

/// The most elements of a hash if nothing is said (`maxelem`).
pub const DEFAULT_MAX_ELEMENTS: u32 = 65536;

/// Applies a command. Uses of sets by rules are not known here, so they do not keep a set from being
/// destroyed.
///
/// # Errors
///
/// What the tool or the kernel would refuse; the sets are as before.
pub fn apply(sets: &mut Sets, command: &Command) -> Result<(), ApplyError> {
    match command {
        Command::Create { name, kind, options, exist } => {
            create(sets, *name, *kind, options, *exist)
        }
        Command::Add { set, element, entry, exist } => add(sets, *set, *element, *entry, *exist),
        Command::Delete { set, element, exist } => delete(sets, *set, *element, *exist),
        Command::Destroy(Some(name)) => destroy(sets, *name),
        Command::Destroy(None) => {
            sets.sets.clear();
            Ok(())
        }
        Command::Flush(Some(name)) => {
            known(sets, *name)?.entries.clear();
            Ok(())
        }
        Command::Flush(None) => {
            sets.sets.values_mut().for_each(|set| set.entries.clear());
            Ok(())
        }
        Command::Rename(from, to) => rename(sets, *from, *to),
        Command::Swap(a, b) => swap(sets, *a, *b),
    }
}

fn known(sets: &mut Sets, name: Name) -> Result<&mut Set, ApplyError> {
    sets.sets.get_mut(&name).ok_or(ApplyError::UnknownSet(name))
}

fn create(
    sets: &mut Sets,
    name: Name,
    kind: SetType,
    options: &Options,
    exist: bool,
) -> Result<(), ApplyError> {
    check_name(name)?;
    match sets.sets.get(&name) {
        Some(old) if exist && old.kind == kind && same_options(&old.options, options) => Ok(()),
        Some(_) => Err(ApplyError::SetExists(name)),
        None => {
            sets.sets.insert(name, Set::new(kind, options.clone()));
            Ok(())
        }
    }
}

fn check_name(name: Name) -> Result<(), ApplyError> {
    if (1..=31).contains(&name.len()) { Ok(()) } else { Err(ApplyError::BadName(name)) }
}

/// Returns whether `-exist` takes two sets for the same; the sizes of tables do not matter.
fn same_options(a: &Options, b: &Options) -> bool {
    let key = |options: &Options| Options {
        hash_size: None,
        bucket_size: None,
        initial_value: None,
        max_elements: None,
        ..options.clone()
    };
    key(a) == key(b)
}

fn add(
    sets: &mut Sets,
    name: Name,
    element: Element,
    entry: Entry,
    exist: bool,
) -> Result<(), ApplyError> {
    let missing_member = match element {
        Element::Set(member) => !sets.sets.contains_key(&member) || member == name,
        _ => false,
    };
    let set = known(sets, name)?;
    let element = set.masked(element);
    if missing_member || !set.admits(&element) {
        return Err(ApplyError::BadElement { set: name, element });
    }
    let is_new = !set.entries.contains_key(&element);
    if !is_new && !exist {
        return Err(ApplyError::ElementExists { set: name, element });
    }
    if is_new && set.is_full() {
        return Err(ApplyError::Full(name));
    }
    let timeout = entry.timeout.or(set.options.timeout);
    let counters = entry.counters.or(set.options.counters.then_some((0, 0)));
    set.entries.insert(element, Entry { timeout, counters, ..entry });
    Ok(())
}

fn delete(sets: &mut Sets, name: Name, element: Element, exist: bool) -> Result<(), ApplyError> {
    let set = known(sets, name)?;
    let element = set.masked(element);
    match set.entries.swap_remove(&element) {
        None if !exist => Err(ApplyError::NoSuchElement { set: name, element }),
        _ => Ok(()),
    }
}

fn destroy(sets: &mut Sets, name: Name) -> Result<(), ApplyError> {
    known(sets, name)?;
    let lists = sets.sets.values().any(|set| set.entries.contains_key(&Element::Set(name)));
    if lists {
        return Err(ApplyError::InUse(name));
    }
    sets.sets.shift_remove(&name);
    Ok(())
}

fn rename(sets: &mut Sets, from: Name, to: Name) -> Result<(), ApplyError> {
    check_name(to)?;
    let index = sets.sets.get_index_of(&from).ok_or(ApplyError::UnknownSet(from))?;
    if sets.sets.contains_key(&to) {
        return Err(ApplyError::SetExists(to));
    }
    // INVARIANT: the index was just found and the new name is free.
    let _ = sets.sets.replace_index(index, to);
    for list in sets.sets.values_mut() {
        if let Some(entry) = list.entries.swap_remove(&Element::Set(from)) {
            list.entries.insert(Element::Set(to), entry);
        }
    }
    Ok(())
}

fn swap(sets: &mut Sets, a: Name, b: Name) -> Result<(), ApplyError> {
    let first = sets.sets.get_index_of(&a).ok_or(ApplyError::UnknownSet(a))?;
    let second = sets.sets.get_index_of(&b).ok_or(ApplyError::UnknownSet(b))?;
    let kind = |index| sets.sets.get_index(index).map(|(_, set)| (set.kind, set.options.family));
    if kind(first) != kind(second) {
        return Err(ApplyError::DifferentTypes(a, b));
    }
    let [x, y] = [first, second];
    if let Ok([(_, x), (_, y)]) = sets.sets.get_disjoint_indices_mut([x, y]) {
        std::mem::swap(x, y);
    }
    Ok(())
}

impl Set {
    /// Returns the element that is stored: with the set's `netmask`, if it has one.
    fn masked(&self, element: Element) -> Element {
        match (element, self.options.netmask) {
            (Element::Ip(address), Some(length)) => IpNet::new(address, length)
                .map_or(element, |network| Element::Ip(network.network())),
            _ => element,
        }
    }

    /// Returns whether the set may hold an element.
    fn admits(&self, element: &Element) -> bool {
        match (element, self.options.range) {
            (Element::Port(port), Some(Range::Ports(first, last))) => (first..=last).contains(port),
            (Element::Ip(ip) | Element::IpMac(ip, _), Some(Range::Addresses(first, last))) => {
                (self.masked_address(first)..=last).contains(ip)
            }
            // A zero-length prefix would match everything; only these types take one.
            (Element::Net(net) | Element::NetPort(net, _) | Element::IpPortNet(_, _, net), _) => {
                net.prefix_len() > 0
            }
            _ => true,
        }
    }

    fn masked_address(&self, address: IpAddr) -> IpAddr {
        match self.masked(Element::Ip(address)) {
            Element::Ip(address) => address,
            _ => address,
        }
    }

    fn is_full(&self) -> bool {
        let most = match self.kind {
            SetType::ListSet => self.options.size.unwrap_or(8),
            _ => self.options.max_elements.unwrap_or(DEFAULT_MAX_ELEMENTS),
        };
        let is_bitmap = self.options.range.is_some();
        let full = self.entries.len() >= usize::try_from(most).unwrap_or(usize::MAX);
        full && !is_bitmap && !self.options.force_add
    }
}
