//! Interned names.

use std::fmt;
use std::ops::Deref;

use ustr::Ustr;

/// A name or a piece of text in a rule set: of a table, chain, set, interface, or a comment.
///
/// Names are interned for the whole process: a copy is one word, equality is a comparison of
/// addresses, and each text is hashed once. Interned text is never freed, which suits a tool that
/// holds the rule sets of a few nodes. Order is that of the text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name(Ustr);

impl Name {
    /// Interns a text.
    #[must_use]
    pub fn new(text: &str) -> Name {
        Name(Ustr::from(text))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        self.0.as_str()
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name::new(&text)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
