//! What is stored, and everything that happened to it.
//!
//! One counter gives every change its resource version, as etcd's revision does. Nothing is ever
//! compacted: a watch may begin at any version that was.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use crate::event::Planned;
use crate::object::{Key, Object, text};
use crate::resource::Resource;
use crate::selector::Selector;

/// The objects, their history, what is to happen yet, and how far each open watch has come.
#[derive(Debug)]
pub struct Store {
    state: watch::Sender<State>,
    positions: watch::Sender<BTreeMap<u64, u64>>,
    watches: AtomicU64,
    handed_out: Mutex<BTreeMap<Resource, u64>>,
    planned: Mutex<VecDeque<Planned>>,
}

/// The objects at a version, and the events that led there.
#[derive(Debug, Default)]
pub struct State {
    /// The version of the last change.
    pub version: u64,
    objects: BTreeMap<(Resource, Key), Value>,
    history: Vec<Event>,
}

/// A change of one object.
#[derive(Debug, Clone)]
pub struct Event {
    /// The version that it made.
    pub version: u64,
    /// The kind of the object.
    pub resource: Resource,
    /// The object before, if it was there.
    before: Option<Value>,
    /// The object after. Of one that was deleted, its last state, with the version of the deletion.
    object: Value,
    deleted: bool,
}

/// What a watch is told of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The object came into sight.
    Added,
    /// The object is in sight, and another than before.
    Modified,
    /// The object went out of sight.
    Deleted,
}

impl Change {
    /// Returns the word for it in a watch event.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self {
            state: watch::Sender::new(State::default()),
            positions: watch::Sender::new(BTreeMap::new()),
            watches: AtomicU64::new(0),
            handed_out: Mutex::default(),
            planned: Mutex::default(),
        }
    }
}

impl Store {
    /// Adds or replaces objects, in order, and returns the version of the last.
    pub fn apply(&self, objects: Vec<Object>) -> u64 {
        self.state.send_modify(|state| objects.into_iter().for_each(|object| state.put(object)));
        self.state.borrow().version
    }

    /// Deletes an object and returns the version of its deletion; `None` if it was not there.
    pub fn delete(&self, resource: Resource, key: &Key) -> Option<u64> {
        let mut deleted = None;
        self.state.send_modify(|state| deleted = state.delete(resource, key));
        deleted
    }

    /// Puts changes off until [`Store::next`] asks for them.
    pub fn plan(&self, events: Vec<Planned>) {
        held(&self.planned).extend(events);
    }

    /// Makes the next change that was planned. Returns it with the version that it led to, which is the
    /// old one if there was nothing to delete; `None` when all are made.
    pub fn next(&self) -> Option<(Planned, u64)> {
        let event = held(&self.planned).pop_front()?;
        let made = match &event {
            Planned::Apply(objects) => Some(self.apply(objects.clone())),
            Planned::Delete(resource, key) => self.delete(*resource, key),
        };
        Some((event, made.unwrap_or_else(|| self.state.borrow().version)))
    }

    /// Counts an event that a watch is given.
    pub fn hand_out(&self, resource: Resource) {
        *held(&self.handed_out).entry(resource).or_default() += 1;
    }

    /// Returns how many events of a kind watches were given so far, all together.
    pub fn handed_out(&self, resource: Resource) -> u64 {
        held(&self.handed_out).get(&resource).copied().unwrap_or_default()
    }

    /// Returns a view on the state that tells when it changes.
    pub fn subscribe(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Notes a new watch that has seen everything up to a version, and returns its number.
    pub fn open_watch(&self, version: u64) -> u64 {
        let number = self.watches.fetch_add(1, Ordering::Relaxed);
        self.delivered(number, version);
        number
    }

    /// Notes that a watch has been given everything up to a version.
    pub fn delivered(&self, watch: u64, version: u64) {
        self.positions.send_modify(|positions| {
            positions.insert(watch, version);
        });
    }

    /// Forgets a watch.
    pub fn close_watch(&self, watch: u64) {
        self.positions.send_modify(|positions| {
            positions.remove(&watch);
        });
    }

    /// Waits until as many watches are open, or more, and each has been given what is stored now. Returns
    /// the version, and the number of watches.
    pub async fn until_delivered(&self, expected: usize) -> (u64, usize) {
        let version = self.state.borrow().version;
        let mut positions = self.positions.subscribe();
        let all = |positions: &BTreeMap<u64, u64>| {
            positions.len() >= expected && positions.values().all(|at| *at >= version)
        };
        let watches = positions.wait_for(all).await.map_or(0, |positions| positions.len());
        (version, watches)
    }
}

impl State {
    fn put(&mut self, object: Object) {
        self.version += 1;
        let Object { resource, key, mut value } = object;
        let place = (resource, key);
        let before = self.objects.get(&place).cloned();
        let uid = match &before {
            Some(before) => text(before, "/metadata/uid").to_owned(),
            None => format!("{resource}-{}", self.version),
        };
        set_metadata(&mut value, "uid", &uid);
        set_metadata(&mut value, "resourceVersion", &self.version.to_string());
        self.objects.insert(place, value.clone());
        self.record(resource, before, value, false);
    }

    fn delete(&mut self, resource: Resource, key: &Key) -> Option<u64> {
        let before = self.objects.remove(&(resource, key.clone()))?;
        self.version += 1;
        let mut object = before.clone();
        set_metadata(&mut object, "resourceVersion", &self.version.to_string());
        self.record(resource, Some(before), object, true);
        Some(self.version)
    }

    fn record(&mut self, resource: Resource, before: Option<Value>, object: Value, deleted: bool) {
        self.history.push(Event { version: self.version, resource, before, object, deleted });
    }

    /// Returns one object.
    #[must_use]
    pub fn get(&self, resource: Resource, key: &Key) -> Option<&Value> {
        self.objects.get(&(resource, key.clone()))
    }

    /// Returns the objects of a kind that are selected, by namespace and name.
    #[must_use]
    pub fn list(&self, resource: Resource, selector: &Selector) -> Vec<&Value> {
        let of_kind = self.objects.iter().filter(|((kind, _), _)| *kind == resource);
        of_kind.map(|(_, value)| value).filter(|value| selector.selects(value)).collect()
    }

    /// Returns the first event after a version that a watch is told, with what it is told.
    #[must_use]
    pub fn next_after(
        &self,
        version: u64,
        resource: Resource,
        selector: &Selector,
    ) -> Option<(u64, Change, &Value)> {
        let start = self.history.partition_point(|event| event.version <= version);
        let events = self.history.iter().skip(start).filter(|event| event.resource == resource);
        let mut told = events.filter_map(|event| {
            Some((event.version, event.seen_through(selector)?, &event.object))
        });
        told.next()
    }
}

impl Event {
    /// An object that changes out of a selector is deleted for who watches through it, and one that
    /// changes into it is added, as in the `watchCache` of the API server.
    fn seen_through(&self, selector: &Selector) -> Option<Change> {
        let was = self.before.as_ref().is_some_and(|before| selector.selects(before));
        let is = !self.deleted && selector.selects(&self.object);
        match (was, is) {
            (false, true) => Some(Change::Added),
            (true, true) => Some(Change::Modified),
            (true, false) => Some(Change::Deleted),
            (false, false) => None,
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn set_metadata(object: &mut Value, field: &str, text: &str) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert(field.to_owned(), text.into());
    }
}
