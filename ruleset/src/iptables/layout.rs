//! The order in which the parts of a rule were written.

/// A part of a rule's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// `-s NETWORK`.
    Source,
    /// `-s ADDRESS`, without the length of a full prefix.
    SourceHost,
    /// `-d NETWORK`.
    Destination,
    /// `-d ADDRESS`, without the length of a full prefix.
    DestinationHost,
    /// `-i`.
    Input,
    /// `-o`.
    Output,
    /// `-p`.
    Protocol,
    /// `-f`.
    Fragment,
    /// The next match: `-m NAME` and its options.
    Match,
    /// `-m NAME` of the next match; its options come later.
    Load,
    /// The options of the match that was loaded last.
    Options,
}

/// The order in which the parts of a rule were written, if it is not the tools' own.
///
/// iptables takes options in any order, and kube-proxy writes `-m tcp -p tcp -d A --dport P` where
/// `iptables-save` prints `-d A -p tcp -m tcp --dport P`. The rule is the same, so two layouts are
/// always equal. The target comes last. At most sixteen parts are kept; longer rules print in the
/// tools' order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout(u64);

const BITS: u32 = 4;
const PARTS: [Part; 11] = [
    Part::Source,
    Part::SourceHost,
    Part::Destination,
    Part::DestinationHost,
    Part::Input,
    Part::Output,
    Part::Protocol,
    Part::Fragment,
    Part::Match,
    Part::Load,
    Part::Options,
];

impl Layout {
    /// Returns the layout of parts in the order given; the empty one if that is the tools' order or
    /// if they are too many.
    #[must_use]
    pub fn new(parts: &[Part]) -> Layout {
        let all = parts.iter().try_fold(Layout::default(), |layout, part| layout.then(*part));
        all.unwrap_or_default().unless_in_order()
    }

    /// Returns the layout with one more part at the end; `None` if that is one too many.
    #[must_use]
    pub fn then(self, part: Part) -> Option<Layout> {
        let used = (u64::BITS - self.0.leading_zeros()).next_multiple_of(BITS);
        (used < u64::BITS).then(|| Layout(self.0 | code(part) << used))
    }

    /// Returns the layout, or the empty one if the tools would write the parts in this order.
    #[must_use]
    pub fn unless_in_order(self) -> Layout {
        let plain =
            |part| !matches!(part, Part::SourceHost | Part::DestinationHost | Part::Options);
        let sorted = || self.parts().is_sorted_by_key(|part| part.min(Part::Match));
        if self.parts().all(plain) && sorted() { Layout::default() } else { self }
    }

    /// Returns whether the rule is in the tools' order.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the parts in order.
    pub fn parts(self) -> impl Iterator<Item = Part> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let code = (rest & ((1 << BITS) - 1)) as usize;
            rest >>= BITS;
            PARTS.get(code.checked_sub(1)?).copied()
        })
    }
}

fn code(part: Part) -> u64 {
    part as u64 + 1
}

impl PartialEq for Layout {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Layout {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_in_order() {
        let layout = Layout::new(&PARTS);
        assert_eq!(layout.parts().collect::<Vec<_>>(), PARTS);
        assert!(Layout::new(&[Part::Options; 17]).is_empty());
    }

    #[test]
    fn the_order_of_the_tools_is_empty() {
        assert!(Layout::new(&[Part::Source, Part::Protocol, Part::Match, Part::Match]).is_empty());
        assert!(!Layout::new(&[Part::Match, Part::Protocol]).is_empty());
    }
}
