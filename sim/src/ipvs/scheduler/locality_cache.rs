//! What `lblc` and `lblcr` remember of destinations, and how they forget (`ip_vs_lblc.c`,
//! `ip_vs_lblcr.c`).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::ipvs::hash::{folded, hash_32};
use crate::ipvs::server::{RealServer, RealServers};

/// How often stale entries are looked for (`CHECK_EXPIRE_INTERVAL`).
const INTERVAL: Duration = Duration::from_secs(60);
/// Every so many times all entries are looked at (`COUNT_FOR_FULL_EXPIRATION`).
const FULL_CHECK: u32 = 30;
/// In a table that is too full, entries unused for so long go (`ENTRY_TIMEOUT`).
const ENTRY_TIMEOUT: Duration = Duration::from_secs(6 * 60);
/// The number of buckets is 2 to this (`CONFIG_IP_VS_LBLC_TAB_BITS`, `CONFIG_IP_VS_LBLCR_TAB_BITS`).
const BITS: u32 = 10;
/// With more entries the table is too full.
const MAX_SIZE: usize = 16 << BITS;

/// What is known of destinations, by bucket and address.
#[derive(Debug, Clone)]
pub(super) struct Cache<T> {
    entries: BTreeMap<(u32, IpAddr), Entry<T>>,
    /// How long an unused entry lasts at least.
    expiration: Duration,
    pub now: Duration,
    next_check: Duration,
    /// Counts checks up to [`FULL_CHECK`].
    counter: u32,
    /// The bucket that was checked last.
    rover: u32,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    value: T,
    last_use: Duration,
}

impl<T> Cache<T> {
    pub fn new(expiration: Duration) -> Cache<T> {
        Cache {
            entries: BTreeMap::new(),
            expiration,
            now: Duration::ZERO,
            next_check: INTERVAL,
            counter: 1,
            rover: 0,
        }
    }

    /// Returns what is known of a destination, and notes that it is in use.
    pub fn touch(&mut self, destination: IpAddr) -> Option<&mut T> {
        let entry = self.entries.get_mut(&key(destination))?;
        entry.last_use = self.now;
        Some(&mut entry.value)
    }

    pub fn insert(&mut self, destination: IpAddr, value: T) {
        self.entries.insert(key(destination), Entry { value, last_use: self.now });
    }

    /// Moves the clock and does the checks that are due until then.
    pub fn advance(&mut self, now: Duration) {
        while self.next_check <= now && !self.entries.is_empty() {
            self.check(self.next_check);
            self.next_check = self.next_check.saturating_add(INTERVAL);
        }
        self.skip_checks(now);
        self.now = now;
    }

    /// Counts checks that find nothing.
    fn skip_checks(&mut self, now: Duration) {
        let Some(ahead) = now.checked_sub(self.next_check) else { return };
        let checks = ahead.as_secs() / INTERVAL.as_secs() + 1;
        let counted = (u64::from(self.counter) - 1 + checks) % u64::from(FULL_CHECK);
        self.counter = u32::try_from(counted).map_or(1, |counted| counted + 1);
        let skipped = Duration::from_secs(checks.saturating_mul(INTERVAL.as_secs()));
        self.next_check = self.next_check.saturating_add(skipped);
    }

    /// Does what the timer does (`ip_vs_lblc_check_expire`).
    fn check(&mut self, now: Duration) {
        if self.counter.is_multiple_of(FULL_CHECK) {
            let expiration = self.expiration;
            self.entries.retain(|_, entry| now < entry.last_use.saturating_add(expiration));
            self.counter = 1;
        } else if self.entries.len() <= MAX_SIZE {
            self.counter += 1;
        } else {
            self.shrink(now);
        }
    }

    /// Drops stale entries bucket by bucket, until enough are gone.
    fn shrink(&mut self, now: Duration) {
        let surplus = self.entries.len() - MAX_SIZE;
        let goal = (surplus * 4 / 3).min(MAX_SIZE / 2);
        let mut dropped = 0;
        for _ in 0..1 << BITS {
            self.rover = (self.rover + 1) % (1 << BITS);
            dropped += self.drop_stale(self.rover, now);
            if dropped >= goal {
                break;
            }
        }
    }

    /// Drops the stale entries of a bucket and returns how many there were.
    fn drop_stale(&mut self, bucket: u32, now: Duration) -> usize {
        let lowest: IpAddr = [0, 0, 0, 0].into();
        let in_bucket = self.entries.range((bucket, lowest)..(bucket + 1, lowest));
        let stale =
            in_bucket.filter(|(_, entry)| now >= entry.last_use.saturating_add(ENTRY_TIMEOUT));
        let stale: Vec<_> = stale.map(|(key, _)| *key).collect();
        stale.iter().filter(|key| self.entries.remove(key).is_some()).count()
    }
}

fn key(destination: IpAddr) -> (u32, IpAddr) {
    (hash_32(folded(destination), BITS), destination)
}

/// Tells whether a server has more active connections than its weight while another has less than
/// half of its own. That other one need not be usable.
pub(super) fn is_overloaded(server: &RealServer, servers: &RealServers) -> bool {
    let has_plenty = |other: &RealServer| u64::from(other.active) * 2 < other.weight.into();
    server.active > server.weight && servers.iter().any(|(_, other)| has_plenty(other))
}
