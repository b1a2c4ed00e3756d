//! Sets, maps and their elements.

use indexmap::IndexMap;

use super::{Key, Unsupported, Verdict};
use crate::Name;

/// An element of a set or map.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    /// Its key.
    pub key: Key,
    /// Its data, in a map.
    pub data: Option<Data>,
    /// Its comment.
    pub comment: Option<Name>,
    /// What changes while it lives, if it has any of it.
    pub state: Option<Box<ElementState>>,
}

/// The times and counts of an element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ElementState {
    /// Its own timeout in milliseconds.
    pub timeout: Option<u64>,
    /// The time left in milliseconds.
    pub expires: Option<u64>,
    /// Packets and bytes, if it counts.
    pub counter: Option<(u64, u64)>,
}

/// The data of a map element.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// A verdict.
    Verdict(Verdict),
    /// A value, or a concatenation of values.
    Values(Key),
}

/// A named set or map.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Set {
    /// The types of the key's parts.
    pub key: Vec<DataType>,
    /// The types of the data's parts; `None` for a set. A verdict map has `[DataType::Verdict]`.
    pub data: Option<Vec<DataType>>,
    /// What stands after `typeof`, if the types were given by expressions.
    pub type_of: Option<Name>,
    /// Its flags.
    pub flags: SetFlags,
    /// The timeout of its elements in milliseconds.
    pub timeout: Option<u64>,
    /// The interval of the garbage collector in milliseconds.
    pub gc_interval: Option<u64>,
    /// The most elements that it may hold.
    pub size: Option<u32>,
    /// Whether overlapping elements are merged.
    pub auto_merge: bool,
    /// Whether each element counts (`counter` in the definition).
    pub counter: bool,
    /// Its comment.
    pub comment: Option<Name>,
    /// Its elements by key.
    pub elements: IndexMap<Key, Element>,
    /// Its handle.
    pub handle: Option<u64>,
    /// Properties that the tree does not model, as text.
    pub other: Vec<Unsupported>,
}

/// The flags of a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags of the language")]
pub struct SetFlags {
    /// `constant`.
    pub constant: bool,
    /// `interval`.
    pub interval: bool,
    /// `timeout`.
    pub timeout: bool,
    /// `dynamic`.
    pub dynamic: bool,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataType {
    /// `ipv4_addr`.
    Ipv4Addr,
    /// `ipv6_addr`.
    Ipv6Addr,
    /// `inet_proto`.
    InetProto,
    /// `inet_service`.
    InetService,
    /// `mark`.
    Mark,
    /// `ifname`.
    Ifname,
    /// `verdict`.
    Verdict,
    /// Any other type.
    Other(Name),
}

impl Element {
    /// Returns an element that has a key and nothing else.
    #[must_use]
    pub fn new(key: impl Into<Key>) -> Element {
        Element { key: key.into(), data: None, comment: None, state: None }
    }
}
