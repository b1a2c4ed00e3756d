//! What rules compare: the values of fields, and the constants that they are compared with.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use kps_ruleset::Name;

use crate::mark::Mark;

/// The name of no interface. Interning is too slow to be done for each packet.
static NO_LINK: LazyLock<Name> = LazyLock::new(|| Name::new(""));

/// The value of a field. Numbers and addresses are one kind: rules never mix types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Datum {
    /// A number, or an address as one.
    Number(u128),
    /// A mark with unknown bits.
    Mark(Mark),
    /// An interface; empty if there is none.
    Link(Name),
    /// Not modelled; the text says what.
    Unknown(Name),
}

/// A constant that values are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// An inclusive range; one value if both ends are equal.
    Range(u128, u128),
    /// An interface by its name.
    Link(Name),
    /// Interfaces whose names begin like this.
    LinkPrefix(Name),
    /// Everything.
    Any,
    /// Not modelled; the text says what.
    Unknown(Name),
}

impl Datum {
    /// Returns a port or another number that may be unknown.
    pub(crate) fn port(port: Option<u16>) -> Datum {
        port.map_or_else(|| Datum::Unknown(Name::new("a random port")), |p| Datum::Number(p.into()))
    }

    /// Returns an interface that may be absent.
    pub(crate) fn link(link: Option<Name>) -> Datum {
        Datum::Link(link.unwrap_or(*NO_LINK))
    }

    /// Reads the value as a mark; what is not known leaves all bits unknown.
    pub(crate) fn as_mark(self) -> Mark {
        match self {
            Datum::Number(n) => u32::try_from(n).map_or(Mark::UNKNOWN, Mark::new),
            Datum::Mark(mark) => mark,
            Datum::Link(_) | Datum::Unknown(_) => Mark::UNKNOWN,
        }
    }

    /// Reads the value as an address of the family of `like`.
    pub(crate) fn as_address(self, like: IpAddr) -> Option<IpAddr> {
        let Datum::Number(n) = self else { return None };
        Some(match like {
            IpAddr::V4(_) => Ipv4Addr::from(u32::try_from(n).ok()?).into(),
            IpAddr::V6(_) => Ipv6Addr::from(n).into(),
        })
    }

    /// Reads the value as a port.
    pub(crate) fn as_port(self) -> Option<u16> {
        match self {
            Datum::Number(n) => u16::try_from(n).ok(),
            _ => None,
        }
    }

    /// Tells whether the value is wholly known.
    pub(crate) fn is_known(self) -> bool {
        matches!(self, Datum::Number(_) | Datum::Link(_))
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Number(n) => write!(f, "{n}"),
            Datum::Mark(mark) => write!(f, "mark {mark}"),
            Datum::Link(name) | Datum::Unknown(name) => write!(f, "{name}"),
        }
    }
}

impl From<IpAddr> for Datum {
    fn from(address: IpAddr) -> Datum {
        Datum::Number(match address {
            IpAddr::V4(v4) => u32::from(v4).into(),
            IpAddr::V6(v6) => v6.into(),
        })
    }
}

impl From<Mark> for Datum {
    fn from(mark: Mark) -> Datum {
        mark.exact().map_or(Datum::Mark(mark), |value| Datum::Number(value.into()))
    }
}

impl From<&Datum> for Pattern {
    /// The pattern that just this value fits.
    fn from(datum: &Datum) -> Pattern {
        match *datum {
            Datum::Number(n) => Pattern::exactly(n),
            Datum::Link(name) => Pattern::Link(name),
            Datum::Mark(mark) => Pattern::Unknown(Name::from(format!("mark {mark}"))),
            Datum::Unknown(text) => Pattern::Unknown(text),
        }
    }
}

impl Pattern {
    /// The pattern that one value fits.
    pub(crate) fn exactly(value: impl Into<u128>) -> Pattern {
        let value = value.into();
        Pattern::Range(value, value)
    }

    /// Returns the one value that fits, if there is only one.
    pub(crate) fn single(self) -> Option<Datum> {
        match self {
            Pattern::Range(low, high) if low == high => Some(Datum::Number(low)),
            Pattern::Link(name) => Some(Datum::Link(name)),
            _ => None,
        }
    }

    /// Tells whether a value fits; `None` if the model cannot tell.
    pub(crate) fn fits(self, datum: Datum) -> Option<bool> {
        match (self, datum) {
            (Pattern::Any, _) => Some(true),
            (Pattern::Range(low, high), Datum::Number(n)) => Some(low <= n && n <= high),
            (Pattern::Range(low, high), Datum::Mark(mark)) => {
                let value = u32::try_from(low).ok().filter(|_| low == high)?;
                mark.equals(value)
            }
            (Pattern::Link(name), Datum::Link(link)) => Some(name == link),
            (Pattern::LinkPrefix(prefix), Datum::Link(link)) => {
                Some(link.as_str().starts_with(prefix.as_str()))
            }
            // Index 0 is "no interface"; other indices cannot be told apart by name.
            (Pattern::Range(0, 0), Datum::Link(link)) => Some(link.as_str().is_empty()),
            (Pattern::Range(..), Datum::Link(link)) if link.as_str().is_empty() => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_answer_three_ways() {
        let eth = Datum::Link(Name::new("eth0"));
        assert_eq!(Pattern::LinkPrefix(Name::new("eth")).fits(eth), Some(true));
        assert_eq!(Pattern::Link(Name::new("eth")).fits(eth), Some(false));
        assert_eq!(Pattern::Range(0, 0).fits(Datum::link(None)), Some(true));
        assert_eq!(Pattern::Range(80, 90).fits(Datum::port(None)), None);
        let half = Mark::UNKNOWN.or(Mark::new(1));
        assert_eq!(Pattern::exactly(0_u32).fits(half.into()), Some(false));
        assert_eq!(Pattern::exactly(1_u32).fits(half.into()), None);
    }
}
