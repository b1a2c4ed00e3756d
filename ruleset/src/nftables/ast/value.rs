//! Constants, and the keys made of them.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Deref;
use std::sync::Arc;

use super::Verdict;
use crate::Name;

/// A constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
    /// An IPv4 prefix, masked.
    Ipv4Prefix(Ipv4Addr, u8),
    /// An IPv6 prefix, masked.
    Ipv6Prefix(Ipv6Addr, u8),
    /// An inclusive range of IPv4 addresses.
    Ipv4Range(Ipv4Addr, Ipv4Addr),
    /// An inclusive range of IPv6 addresses.
    Ipv6Range(Ipv6Addr, Ipv6Addr),
    /// An IP protocol number (`inet_proto`).
    Protocol(u8),
    /// A port (`inet_service`).
    Port(u16),
    /// An inclusive range of ports.
    PortRange(u16, u16),
    /// A mark, or the mask of one; printed as eight hexadecimal digits.
    Mark(u32),
    /// Any other number. Also what nft shows as a word for it, where the type is known from the
    /// other side: `tcp flags syn` 2, `icmp type echo-request` 8, `meta nfproto ipv4` 2,
    /// `meta protocol ip` 0x800, `meta pkttype host` 0, `ct direction original` 0.
    Number(u64),
    /// An inclusive range of numbers.
    NumberRange(u64, u64),
    /// An interface name. A trailing `*` is a wildcard.
    Interface(Name),
    /// An address type, as `fib … type` gives it.
    AddressType(AddressType),
    /// Bits of `ct state`: `invalid` 1, `established` 2, `related` 4, `new` 8, `untracked` 64.
    CtState(u32),
    /// Bits of `ct status`: `expected` 1, `seen-reply` 2, `assured` 4, `confirmed` 8, `snat` 16,
    /// `dnat` 32, `dying` 512.
    CtStatus(u32),
    /// A verdict, as data of a map.
    Verdict(Verdict),
    /// Any other word or quoted text, as it was read.
    Word(Name),
    /// `*`: the element that catches all.
    Wildcard,
}

/// The type of an address (`RTN_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressType {
    /// No route.
    Unspec,
    /// Sent on.
    Unicast,
    /// An address of this host.
    Local,
    /// A broadcast address.
    Broadcast,
    /// An anycast address.
    Anycast,
    /// A multicast address.
    Multicast,
    /// Blackholed.
    Blackhole,
    /// Unreachable.
    Unreachable,
    /// Prohibited.
    Prohibit,
}

/// The key of an element, or its data: one value, or one for each part of a concatenation.
///
/// A single value needs no allocation and a copy never does. It reads as a slice, and a map by keys
/// can be asked with a plain `&[Value]`.
#[derive(Clone)]
pub enum Key {
    /// One value.
    One(Value),
    /// A concatenation.
    Many(Arc<[Value]>),
}

impl Value {
    /// Returns the constant for an address.
    #[must_use]
    pub fn address(address: IpAddr) -> Value {
        match address {
            IpAddr::V4(a) => Value::Ipv4(a),
            IpAddr::V6(a) => Value::Ipv6(a),
        }
    }
}

impl Key {
    /// Returns the parts.
    #[must_use]
    pub fn as_slice(&self) -> &[Value] {
        match self {
            Key::One(value) => std::slice::from_ref(value),
            Key::Many(values) => values,
        }
    }
}

impl Deref for Key {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.as_slice()
    }
}

impl Borrow<[Value]> for Key {
    fn borrow(&self) -> &[Value] {
        self.as_slice()
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl From<Value> for Key {
    fn from(value: Value) -> Key {
        Key::One(value)
    }
}

impl From<&[Value]> for Key {
    fn from(values: &[Value]) -> Key {
        match values {
            [value] => Key::One(*value),
            _ => Key::Many(values.into()),
        }
    }
}

impl From<Vec<Value>> for Key {
    fn from(values: Vec<Value>) -> Key {
        Key::from(values.as_slice())
    }
}

impl From<Box<[Value]>> for Key {
    fn from(values: Box<[Value]>) -> Key {
        Key::from(&*values)
    }
}

impl<const N: usize> From<[Value; N]> for Key {
    fn from(values: [Value; N]) -> Key {
        Key::from(values.as_slice())
    }
}
