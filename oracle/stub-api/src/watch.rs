//! One watch: the stream of its events.
//!
//! A line of JSON an event. A watch counts as having been given an event when its connection asks for
//! the next one.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{Stream, unfold};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, timeout_at};

use crate::resource::Resource;
use crate::selector::Selector;
use crate::store::{Change, State, Store};

/// What a watch is asked for.
#[derive(Debug)]
pub struct Request {
    /// The kind that is watched.
    pub resource: Resource,
    /// Which of its objects.
    pub selector: Selector,
    /// Events after this version; `None`: first all objects as they are now.
    pub after: Option<u64>,
    /// A bookmark that says so follows the objects as they are now.
    pub mark_initial_end: bool,
    /// A bookmark is sent before the stream ends.
    pub bookmarks: bool,
    /// The stream ends after this time; `None`: never.
    pub timeout: Option<Duration>,
}

/// The type of an event that only says how far the watch has come.
const BOOKMARK: &str = "BOOKMARK";

struct Watch {
    store: Arc<Store>,
    state: Receiver<State>,
    request: Request,
    number: u64,
    /// Objects as they were when the watch began, and what follows them.
    initial: VecDeque<Value>,
    /// All events up to this version have been handed out, or were not for this watch.
    version: u64,
    end: Option<Instant>,
    ended: bool,
}

/// Opens a watch and returns its events, each with its line end.
pub fn stream(
    store: Arc<Store>,
    request: Request,
) -> impl Stream<Item = Result<String, Infallible>> {
    unfold(Watch::open(store, request), |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok(format!("{event}\n")), watch))
    })
}

impl Watch {
    fn open(store: Arc<Store>, request: Request) -> Self {
        let state = store.subscribe();
        let (initial, version) = match request.after {
            Some(version) => (VecDeque::new(), version),
            None => initial(&state.borrow(), &request),
        };
        // Before the first poll nothing has been handed out, not even the initial objects.
        let number = store.open_watch(0);
        let end = request.timeout.map(|timeout| Instant::now() + timeout);
        Self { store, state, request, number, initial, version, end, ended: false }
    }

    async fn next(&mut self) -> Option<Value> {
        if self.ended {
            return None;
        }
        if let Some(event) = self.initial.pop_front() {
            if event["type"] != BOOKMARK {
                self.store.hand_out(self.request.resource);
            }
            return Some(event);
        }
        self.store.delivered(self.number, self.version);
        loop {
            if let Some(event) = self.pending() {
                self.store.hand_out(self.request.resource);
                return Some(event);
            }
            self.store.delivered(self.number, self.version);
            if !self.changed().await {
                self.ended = true;
                return self.request.bookmarks.then(|| self.bookmark(json!({})));
            }
        }
    }

    /// Returns the next event that is there already.
    fn pending(&mut self) -> Option<Value> {
        let state = self.state.borrow_and_update();
        let Request { resource, selector, .. } = &self.request;
        let Some((version, change, object)) = state.next_after(self.version, *resource, selector)
        else {
            self.version = self.version.max(state.version);
            return None;
        };
        self.version = version;
        Some(event(change.as_str(), object))
    }

    /// Waits for a change; `false` when time is up.
    async fn changed(&mut self) -> bool {
        match self.end {
            None => self.state.changed().await.is_ok(),
            Some(end) => matches!(timeout_at(end, self.state.changed()).await, Ok(Ok(()))),
        }
    }

    fn bookmark(&self, annotations: Value) -> Value {
        bookmark(self.request.resource, self.version, annotations)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.store.close_watch(self.number);
    }
}

fn initial(state: &State, request: &Request) -> (VecDeque<Value>, u64) {
    let objects = state.list(request.resource, &request.selector);
    let mut events: VecDeque<Value> =
        objects.into_iter().map(|object| event(Change::Added.as_str(), object)).collect();
    if request.mark_initial_end {
        let mark = json!({"k8s.io/initial-events-end": "true"});
        events.push_back(bookmark(request.resource, state.version, mark));
    }
    (events, state.version)
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

fn bookmark(resource: Resource, version: u64, annotations: Value) -> Value {
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if annotations.as_object().is_some_and(|annotations| !annotations.is_empty()) {
        metadata["annotations"] = annotations;
    }
    let object = json!({
        "kind": resource.kind(),
        "apiVersion": resource.api_version(),
        "metadata": metadata,
    });
    event(BOOKMARK, &object)
}
