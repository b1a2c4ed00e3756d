//! The packet mark, bit by bit: a rule may set some bits to values that the model does not know.

use std::fmt;

/// A 32-bit mark of which some bits may be unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark {
    /// The known bits; unknown ones are 0 here.
    value: u32,
    /// Which bits are known.
    known: u32,
}

impl Mark {
    /// The mark of a fresh packet: no bit set.
    pub const ZERO: Mark = Mark::new(0);
    /// A mark of which nothing is known.
    pub const UNKNOWN: Mark = Mark { value: 0, known: 0 };

    /// Returns a mark with all bits known.
    #[must_use]
    pub const fn new(value: u32) -> Mark {
        Mark { value, known: u32::MAX }
    }

    /// Returns the value if every bit is known.
    #[must_use]
    pub fn exact(self) -> Option<u32> {
        (self.known == u32::MAX).then_some(self.value)
    }

    /// Tells whether the mark equals `value`; `None` if that rests on unknown bits.
    #[must_use]
    pub fn equals(self, value: u32) -> Option<bool> {
        if (self.value ^ value) & self.known != 0 {
            return Some(false);
        }
        self.exact().map(|_| true)
    }

    /// Tells whether the bits under `mask` equal `value`, as `-m mark --mark value/mask` asks.
    #[must_use]
    pub fn matches(self, value: u32, mask: u32) -> Option<bool> {
        self.and(Mark::new(mask)).equals(value)
    }

    /// Returns the bitwise and. A known 0 on either side decides the bit.
    #[must_use]
    pub fn and(self, other: Mark) -> Mark {
        let zero = (self.known & !self.value) | (other.known & !other.value);
        let known = (self.known & other.known) | zero;
        Mark { value: self.value & other.value & known, known }
    }

    /// Returns the bitwise or. A known 1 on either side decides the bit.
    #[must_use]
    pub fn or(self, other: Mark) -> Mark {
        let one = self.value | other.value;
        Mark { value: one, known: (self.known & other.known) | one }
    }

    /// Returns the bitwise exclusive or.
    #[must_use]
    pub fn xor(self, other: Mark) -> Mark {
        let known = self.known & other.known;
        Mark { value: (self.value ^ other.value) & known, known }
    }
}

impl fmt::Display for Mark {
    /// Writes eight hexadecimal digits; a digit with an unknown bit is `?`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        for shift in (0..32).step_by(4).rev() {
            let (value, known) = ((self.value >> shift) & 0xf, (self.known >> shift) & 0xf);
            if known == 0xf { write!(f, "{value:x}")? } else { f.write_str("?")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A mark, and one of the values that it may stand for.
    fn mark_and_value() -> impl Strategy<Value = (Mark, u32)> {
        (any::<u32>(), any::<u32>())
            .prop_map(|(value, known)| (Mark { value: value & known, known }, value))
    }

    proptest! {
        #[test]
        fn operations_agree_with_every_value_a_mark_stands_for(
            (a, x) in mark_and_value(),
            (b, y) in mark_and_value(),
        ) {
            for (mark, value) in [(a.and(b), x & y), (a.or(b), x | y), (a.xor(b), x ^ y)] {
                prop_assert_ne!(mark.equals(value), Some(false));
            }
        }
    }

    #[test]
    fn unknown_bits_decide_only_what_they_touch() {
        let half = Mark::UNKNOWN.or(Mark::new(0x4000));
        assert_eq!(half.matches(0x4000, 0x4000), Some(true));
        assert_eq!(half.matches(0, 0x4000), Some(false));
        assert_eq!(half.matches(0, 1), None);
        assert_eq!(half.to_string(), "0x????????");
        assert_eq!(Mark::new(0x4000).to_string(), "0x00004000");
    }
}
