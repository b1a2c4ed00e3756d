//! The connections of a virtual service, the templates of persistent clients, and their timers
//! (`ip_vs_conn.c`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::connection::Connection;
use super::server::ServerId;
use super::state::State;

/// A connection that the kernel remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where its packets go.
    pub server: ServerId,
    /// Its state.
    pub state: State,
    /// Whether replies are not seen here.
    pub(super) one_way: bool,
    /// The template that made it.
    pub(super) template: Option<EntryId>,
    /// If this is a template: the number of connections made from it.
    pub(super) controls: u32,
    key: Key,
    timeout: Duration,
    timer: Timer,
}

/// When an entry is forgotten. Of timers that end together, the last started ends first: the
/// kernel's timer wheel keeps them so in a bucket (`kernel/time/timer.c`; it also lets long ones end
/// late, by up to an eighth, which is not modelled).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    due: Duration,
    started: Reverse<u64>,
}

/// An entry, as long as it lasts; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EntryId(u64);

/// What finds an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Connection(Connection),
    /// The template of a client, or of a group of them.
    Template(IpAddr),
}

impl Entry {
    /// Tells whether it is no connection but a client's memory of its server.
    pub(super) fn is_template(&self) -> bool {
        matches!(self.key, Key::Template(_))
    }
}

/// All entries of a virtual service.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    entries: HashMap<EntryId, Entry>,
    ids: HashMap<Key, EntryId>,
    timers: BTreeMap<Timer, EntryId>,
    /// Numbers entries and starts of timers.
    next: u64,
}

impl Table {
    /// Returns the entry with this key.
    pub fn find(&self, key: Key) -> Option<EntryId> {
        self.ids.get(&key).copied()
    }

    pub fn entry(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    pub fn entry_mut(&mut self, id: EntryId) -> Option<&mut Entry> {
        self.entries.get_mut(&id)
    }

    /// Returns the number of templates that can be found.
    pub fn templates(&self) -> usize {
        self.ids.keys().filter(|key| matches!(key, Key::Template(_))).count()
    }

    /// Returns the entries that fit.
    pub fn select(&self, fits: impl Fn(&Entry) -> bool) -> Vec<EntryId> {
        self.timers.values().copied().filter(|id| self.entry(*id).is_some_and(&fits)).collect()
    }

    /// Adds an entry, in front of an older one with the same key.
    pub fn insert(&mut self, key: Key, server: ServerId, one_way: bool) -> EntryId {
        let id = EntryId(self.count());
        let entry = Entry {
            server,
            state: State::None,
            one_way,
            template: None,
            controls: 0,
            key,
            timeout: Duration::ZERO,
            timer: Timer::default(),
        };
        self.entries.insert(id, entry);
        self.ids.insert(key, id);
        id
    }

    /// Makes an entry one that is not found; it lasts until its timer ends.
    pub fn hide(&mut self, id: EntryId) {
        let Some(key) = self.entry(id).map(|entry| entry.key) else { return };
        if self.find(key) == Some(id) {
            self.ids.remove(&key);
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, id: EntryId) -> Option<Entry> {
        self.hide(id);
        let entry = self.entries.remove(&id)?;
        self.timers.remove(&entry.timer);
        Some(entry)
    }

    /// Sets how long an entry lasts when nothing happens; counts from the next [`Table::restart`].
    pub fn set_timeout(&mut self, id: EntryId, timeout: Duration) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.timeout = timeout;
        }
    }

    /// Starts an entry's timer again (`ip_vs_conn_put`).
    pub fn restart(&mut self, id: EntryId, now: Duration) {
        let started = Reverse(self.count());
        let Some(entry) = self.entries.get_mut(&id) else { return };
        self.timers.remove(&entry.timer);
        entry.timer = Timer { due: now.saturating_add(entry.timeout), started };
        self.timers.insert(entry.timer, id);
    }

    /// Returns the entry whose timer ends next, if not after `until`, and when.
    pub fn due(&self, until: Duration) -> Option<(Duration, EntryId)> {
        let (timer, id) = self.timers.first_key_value()?;
        (timer.due <= until).then_some((timer.due, *id))
    }

    fn count(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
