//! Which of many ranges an address lies in, without asking each of them.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use ipnet::IpNet;

/// Ranges, each with what it belongs to.
#[derive(Debug)]
pub struct Prefixes<T> {
    lengths: BTreeSet<u8>,
    ranges: HashMap<IpNet, T>,
}

impl<T> FromIterator<(IpNet, T)> for Prefixes<T> {
    fn from_iter<I: IntoIterator<Item = (IpNet, T)>>(ranges: I) -> Prefixes<T> {
        let mut prefixes = Prefixes { lengths: BTreeSet::new(), ranges: HashMap::new() };
        for (range, owner) in ranges {
            prefixes.lengths.insert(range.prefix_len());
            prefixes.ranges.entry(range.trunc()).or_insert(owner);
        }
        prefixes
    }
}

impl<T> Prefixes<T> {
    /// Returns the widest range that holds an address, with what it belongs to.
    #[must_use]
    pub fn find(&self, address: IpAddr) -> Option<(IpNet, &T)> {
        self.lengths.iter().find_map(|length| {
            let range = IpNet::new(address, *length).ok()?.trunc();
            Some((range, self.ranges.get(&range)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Prefixes;

    #[test]
    fn the_widest_range_is_found_in_either_family() {
        let ranges = ["10.0.0.0/8", "10.1.0.0/16", "fd00::/8"];
        let prefixes: Prefixes<&str> =
            ranges.iter().filter_map(|text| Some((text.parse().ok()?, *text))).collect();
        let of = |text: &str| prefixes.find(text.parse().ok()?).map(|(_, owner)| *owner);
        assert_eq!(of("10.1.2.3"), Some("10.0.0.0/8"));
        assert_eq!(of("10.2.2.3"), Some("10.0.0.0/8"));
        assert_eq!(of("fd12::1"), Some("fd00::/8"));
        assert_eq!(of("192.0.2.1"), None);
    }
}
