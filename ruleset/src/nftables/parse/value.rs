//! Words into constants.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::nftables::ast::{AddressType, Value};
use crate::nftables::datatype::{Kind, service_port};

/// Returns the constant that a word stands for where a value of a kind is expected.
pub(in crate::nftables) fn value(word: &str, kind: Kind) -> Option<Value> {
    match kind {
        Kind::Ipv4 => ipv4_value(word),
        Kind::Ipv6 => ipv6_value(word),
        Kind::Protocol => protocol(word).map(Value::Protocol),
        Kind::Service => port_value(word),
        Kind::Mark => mark_value(word),
        Kind::Ifname => Some(Value::Interface(word.into())),
        Kind::Ifindex => {
            Some(number(word).map_or_else(|| Value::Interface(word.into()), Value::Number))
        }
        Kind::AddressType => address_type(word).map(Value::AddressType),
        Kind::CtState => flags(word, kind).map(Value::CtState),
        Kind::CtStatus => flags(word, kind).map(Value::CtStatus),
        Kind::Other => Some(any_value(word)),
        Kind::Verdict => None,
        _ => Some(number_value(word, kind).unwrap_or_else(|| Value::Word(word.into()))),
    }
}

/// Returns what a word is by its look alone.
pub(in crate::nftables) fn any_value(word: &str) -> Value {
    let looks = word.bytes().next().is_some_and(|b| b.is_ascii_hexdigit() || b == b':');
    let value = if looks {
        number_value(word, Kind::Other).or_else(|| ipv4_value(word)).or_else(|| ipv6_value(word))
    } else {
        None
    };
    value.unwrap_or_else(|| Value::Word(word.into()))
}

/// Returns a number: decimal, `0x…`, or octal with a leading 0.
pub(in crate::nftables) fn number(word: &str) -> Option<u64> {
    let bytes = word.as_bytes();
    match bytes {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(word.get(2..)?, 16).ok(),
        [b'0', b'0'..=b'7', ..] => u64::from_str_radix(word, 8).ok(),
        [b'0'..=b'9', ..] => decimal(bytes),
        _ => None,
    }
}

/// Returns a time in milliseconds: `1d2h3m4s5ms`, or a number of seconds.
pub(in crate::nftables) fn duration(word: &str) -> Option<u64> {
    let mut total = 0_u64;
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let amount: u64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = unit_of_time(rest.get(..letters)?)?;
        rest = rest.get(letters..)?;
        total = total.checked_add(amount.checked_mul(unit)?)?;
    }
    (!word.is_empty()).then_some(total)
}

fn unit_of_time(unit: &str) -> Option<u64> {
    Some(match unit {
        "w" => 604_800_000,
        "d" => 86_400_000,
        "h" => 3_600_000,
        "m" => 60_000,
        "s" | "" => 1000,
        "ms" => 1,
        _ => return None,
    })
}

fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|d| *d < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

fn protocol(word: &str) -> Option<u8> {
    let number = Kind::Protocol.number(word).or_else(|| number(word))?;
    u8::try_from(number).ok()
}

fn port_value(word: &str) -> Option<Value> {
    if let Some(number) = number(word) {
        return u16::try_from(number).ok().map(Value::Port);
    }
    if let Some(port) = service_port(word) {
        return Some(Value::Port(port));
    }
    let (from, to) = word.split_once('-')?;
    Some(Value::PortRange(port(from)?, port(to)?))
}

fn port(word: &str) -> Option<u16> {
    number(word).and_then(|n| u16::try_from(n).ok()).or_else(|| service_port(word))
}

fn mark_value(word: &str) -> Option<Value> {
    if let Some(number) = number(word) {
        return u32::try_from(number).ok().map(Value::Mark);
    }
    let (from, to) = word.split_once('-')?;
    Some(Value::NumberRange(number(from)?, number(to)?))
}

fn number_value(word: &str, kind: Kind) -> Option<Value> {
    let one = |word: &str| number(word).or_else(|| kind.number(word));
    if let Some(number) = one(word) {
        return Some(Value::Number(number));
    }
    let (from, to) = word.split_once('-')?;
    Some(Value::NumberRange(one(from)?, one(to)?))
}

fn address_type(word: &str) -> Option<AddressType> {
    AddressType::named(word).or_else(|| AddressType::numbered(number(word)?))
}

/// Returns the bits of words joined with `|`, which the lexer left in one word, or of one word.
fn flags(word: &str, kind: Kind) -> Option<u32> {
    let bits = number(word).or_else(|| kind.number(word))?;
    u32::try_from(bits).ok()
}

pub(super) fn ipv4_value(word: &str) -> Option<Value> {
    if let Some(address) = ipv4(word.as_bytes()) {
        return Some(Value::Ipv4(address));
    }
    if let Some((address, len)) = word.split_once('/') {
        return ipv4_prefix(ipv4(address.as_bytes())?, len);
    }
    let (from, to) = word.split_once('-')?;
    Some(Value::Ipv4Range(ipv4(from.as_bytes())?, ipv4(to.as_bytes())?))
}

fn ipv4_prefix(address: Ipv4Addr, len: &str) -> Option<Value> {
    let len: u8 = len.parse().ok()?;
    let net = ipnet::Ipv4Net::new(address, len).ok()?;
    Some(Value::Ipv4Prefix(net.network(), len))
}

pub(super) fn ipv6_value(word: &str) -> Option<Value> {
    if let Ok(address) = word.parse::<Ipv6Addr>() {
        return Some(Value::Ipv6(address));
    }
    if let Some((address, len)) = word.split_once('/') {
        return ipv6_prefix(address.parse().ok()?, len);
    }
    let (from, to) = word.split_once('-')?;
    Some(Value::Ipv6Range(from.parse().ok()?, to.parse().ok()?))
}

fn ipv6_prefix(address: Ipv6Addr, len: &str) -> Option<Value> {
    let len: u8 = len.parse().ok()?;
    let net = ipnet::Ipv6Net::new(address, len).ok()?;
    Some(Value::Ipv6Prefix(net.network(), len))
}

/// Reads four decimal octets; leading zeros do not make them octal.
fn ipv4(bytes: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut place = 0;
    let mut digits = 0;
    for byte in bytes {
        match byte {
            b'0'..=b'9' => {
                let octet = octets.get_mut(place)?;
                *octet = octet.checked_mul(10)?.checked_add(byte - b'0')?;
                digits += 1;
            }
            b'.' if digits > 0 => {
                place += 1;
                digits = 0;
            }
            _ => return None,
        }
    }
    (place == 3 && digits > 0).then(|| Ipv4Addr::from(octets))
}
