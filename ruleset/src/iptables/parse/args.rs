//! Reads the values of options.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

use super::super::ast::{Family, MaskedMark, Negatable, Network, PortRange, Side};
use crate::Name;
use crate::protocol::Protocol;
use crate::words::Words;

/// An option's value makes no sense.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bad;

pub(super) type Read<T> = Result<T, Bad>;

/// What became of an option; `None` if the extension does not have it.
pub(super) type Taken = Read<Option<Progress>>;

/// Whether an extension has what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The option was read, but another one is required.
    More,
    /// The option was read, and no other one is required.
    Done,
}

/// Shorthand for an option that was read and makes its extension complete.
pub(super) const DONE: Taken = Ok(Some(Progress::Done));
/// Shorthand for an option that was read and is not enough.
pub(super) const MORE: Taken = Ok(Some(Progress::More));
/// Shorthand for an option that the extension does not have.
pub(super) const NOT_MINE: Taken = Ok(None);

/// The words after an option.
pub(super) struct Args<'w, 'a> {
    pub(super) words: &'w mut Words<'a>,
    pub(super) family: Family,
    /// Whether there is a `!` before the option that has not been asked for.
    pub(super) negated: bool,
}

impl<'a> Args<'_, 'a> {
    /// Returns the next word.
    pub(super) fn word(&mut self) -> Read<Cow<'a, str>> {
        self.words.next().map(|w| w.text).ok_or(Bad)
    }

    /// Returns the next word if it is a value and no option.
    pub(super) fn optional_word(&mut self) -> Option<Cow<'a, str>> {
        let word = self.words.peek()?;
        if word.ends_values() {
            return None;
        }
        self.words.next().map(|w| w.text)
    }

    pub(super) fn name(&mut self) -> Read<Name> {
        Ok(Name::new(&self.word()?))
    }

    /// Returns whether the option is negated, and notes that it was asked for.
    pub(super) fn negation(&mut self) -> bool {
        std::mem::take(&mut self.negated)
    }

    /// Returns a value with the option's `!`, as tests are stored.
    #[expect(clippy::unnecessary_wraps, reason = "every caller stores an optional test")]
    pub(super) fn test<T>(&mut self, value: T) -> Option<Negatable<T>> {
        Some(Negatable { negated: self.negation(), value })
    }

    /// Returns the value of a switch: true, or false after `!`.
    #[expect(clippy::unnecessary_wraps, reason = "every caller stores an optional switch")]
    pub(super) fn switch(&mut self) -> Option<bool> {
        Some(!self.negation())
    }

    pub(super) fn number<T: TryFrom<u64>>(&mut self) -> Read<T> {
        number(&self.word()?)
    }

    pub(super) fn network(&mut self) -> Read<Network> {
        network(&self.word()?, self.family)
    }

    pub(super) fn address(&mut self) -> Read<IpAddr> {
        address(&self.word()?, self.family)
    }

    pub(super) fn protocol(&mut self) -> Read<Protocol> {
        Protocol::parse(&self.word()?).ok_or(Bad)
    }

    pub(super) fn ports(&mut self) -> Read<PortRange> {
        port_range(&self.word()?, ':')
    }

    /// Reads `VALUE[/MASK]`; without a mask every bit counts.
    pub(super) fn mark(&mut self) -> Read<MaskedMark> {
        let (value, mask) = masked(&self.word()?, u32::MAX)?;
        Ok(MaskedMark { value, mask })
    }

    /// Reads `src,dst,…`.
    pub(super) fn sides(&mut self) -> Read<Box<[Side]>> {
        let word = self.word()?;
        word.split(',').map(side).collect()
    }
}

fn side(word: &str) -> Read<Side> {
    match word {
        "src" => Ok(Side::Source),
        "dst" => Ok(Side::Destination),
        _ => Err(Bad),
    }
}

/// Reads a number as `strtoul` does: decimal, `0x` hexadecimal, `0` octal.
pub(super) fn number<T: TryFrom<u64>>(word: &str) -> Read<T> {
    let value = match word.as_bytes() {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&word[2..], 16),
        [b'0', _, ..] => u64::from_str_radix(&word[1..], 8),
        _ => word.parse(),
    };
    T::try_from(value.map_err(|_| Bad)?).map_err(|_| Bad)
}

/// Reads `VALUE[/MASK]`.
pub(super) fn masked<T: TryFrom<u64>>(word: &str, mask: T) -> Read<(T, T)> {
    match word.split_once('/') {
        Some((value, mask)) => Ok((number(value)?, number(mask)?)),
        None => Ok((number(word)?, mask)),
    }
}

/// Reads `FIRST[-LAST]` with any separator.
pub(super) fn number_range<T: TryFrom<u64> + Copy>(word: &str, separator: char) -> Read<(T, T)> {
    match word.split_once(separator) {
        Some((first, last)) => Ok((number(first)?, number(last)?)),
        None => number(word).map(|n| (n, n)),
    }
}

/// Reads `FIRST[:LAST]`; a missing end is the lowest or highest port.
pub(super) fn port_range(word: &str, separator: char) -> Read<PortRange> {
    let end = |text: &str, default| if text.is_empty() { Ok(default) } else { number(text) };
    match word.split_once(separator) {
        Some((first, last)) => Ok(PortRange { first: end(first, 0)?, last: end(last, u16::MAX)? }),
        None => number(word).map(PortRange::single),
    }
}

pub(super) fn address(word: &str, family: Family) -> Read<IpAddr> {
    match family {
        Family::Ipv4 => Ipv4Addr::from_str(word).map(IpAddr::V4).map_err(|_| Bad),
        Family::Ipv6 => Ipv6Addr::from_str(word).map(IpAddr::V6).map_err(|_| Bad),
    }
}

/// Reads `ADDRESS[/LENGTH]` or `ADDRESS/MASK`.
pub(super) fn network(word: &str, family: Family) -> Read<Network> {
    let Some((base, mask)) = word.split_once('/') else {
        return address(word, family).map(Network::host);
    };
    let base = address(base, family)?;
    match mask.parse() {
        Ok(length) => Ok(IpNet::new(base, length).map_err(|_| Bad)?.into()),
        Err(_) => Network::new(base, address(mask, family)?).ok_or(Bad),
    }
}

/// Reads `FIRST[-LAST]`.
pub(super) fn address_range(word: &str, family: Family) -> Read<(IpAddr, IpAddr)> {
    match word.split_once('-') {
        Some((first, last)) => Ok((address(first, family)?, address(last, family)?)),
        None => address(word, family).map(|a| (a, a)),
    }
}

/// Reads `A,B,…` into flags by their names.
pub(super) fn flags<F: bitflags::Flags>(word: &str) -> Read<F> {
    let flag = |word: &str| {
        let known = F::FLAGS.iter().find(|f| f.name().eq_ignore_ascii_case(word));
        known.map(|f| F::from_bits_retain(f.value().bits())).ok_or(Bad)
    };
    word.split(',').try_fold(F::empty(), |all, word| Ok(all.union(flag(word)?)))
}
