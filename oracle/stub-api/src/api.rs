//! The part of the Kubernetes API that kube-proxy uses: get, list and watch, and a sink for Events.
//!
//! Answers are JSON. A client that prefers protobuf says that it takes anything else, too, and goes by
//! the content type of the answer; one that takes protobuf alone is told 406.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::object::Key;
use crate::resource::Resource;
use crate::selector::Selector;
use crate::store::Store;
use crate::watch::{self, Request};

/// The query of a list or watch, as far as it matters here. `limit` does not: a list is one page, as
/// those that the watch cache of a real server answers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Parameters {
    label_selector: String,
    field_selector: String,
    resource_version: String,
    timeout_seconds: Option<u64>,
    watch: bool,
    allow_watch_bookmarks: bool,
    send_initial_events: bool,
}

/// Returns the routes of the API.
pub fn routes(store: Arc<Store>) -> Router {
    let node = get(|State(store): State<Arc<Store>>, Path(name): Path<String>| async move {
        read(&store, Resource::Node, &Key { namespace: String::new(), name })
    });
    let routes = Router::new()
        .route("/api/v1/nodes/{name}", node)
        .route("/api/v1/namespaces/{namespace}/events", post(accept))
        .route("/apis/events.k8s.io/v1/namespaces/{namespace}/events", post(accept))
        .fallback(|| async { failure(StatusCode::NOT_FOUND, "NotFound", "it is not served") });
    let collections = Resource::ALL.into_iter().fold(routes, |routes, resource| {
        let list_or_watch =
            move |State(store): State<Arc<Store>>, headers: HeaderMap, Query(query)| async move {
                list_or_watch(store, resource, &headers, &query)
            };
        routes.route(resource.path(), get(list_or_watch))
    });
    collections.with_state(store)
}

fn read(store: &Store, resource: Resource, key: &Key) -> Response {
    match store.subscribe().borrow().get(resource, key) {
        Some(object) => Json(object.clone()).into_response(),
        None => failure(StatusCode::NOT_FOUND, "NotFound", "there is no such object"),
    }
}

/// An Event is taken and forgotten.
async fn accept() -> Response {
    let event = json!({"kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {}});
    (StatusCode::CREATED, Json(event)).into_response()
}

fn list_or_watch(
    store: Arc<Store>,
    resource: Resource,
    headers: &HeaderMap,
    query: &Parameters,
) -> Response {
    if !takes_json(headers) {
        return failure(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", "answers are JSON");
    }
    match Selector::parse(&query.label_selector, &query.field_selector) {
        Err(unknown) => failure(StatusCode::BAD_REQUEST, "BadRequest", &unknown.to_string()),
        Ok(selector) if query.watch => watch(store, resource, selector, query),
        Ok(selector) => list(&store, resource, &selector),
    }
}

fn takes_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let takes = |range: &str| range.contains("json") || range.starts_with("*/*");
    accept.is_none_or(|accept| accept.split(',').any(|range| takes(range.trim())))
}

fn list(store: &Store, resource: Resource, selector: &Selector) -> Response {
    let state = store.subscribe();
    let state = state.borrow();
    let list = json!({
        "kind": format!("{resource}List"),
        "apiVersion": resource.api_version(),
        "metadata": {"resourceVersion": state.version.to_string()},
        "items": state.list(resource, selector),
    });
    Json(list).into_response()
}

fn watch(
    store: Arc<Store>,
    resource: Resource,
    selector: Selector,
    query: &Parameters,
) -> Response {
    let current = store.subscribe().borrow().version;
    let after = match query.resource_version.as_str() {
        _ if query.send_initial_events => None,
        "" | "0" => None,
        version => match version.parse::<u64>() {
            Ok(version) if version <= current => Some(version),
            // A version of another run of this program: the client has to list anew.
            Ok(_) => return failure(StatusCode::GONE, "Expired", "the version is not known"),
            Err(_) => return failure(StatusCode::BAD_REQUEST, "BadRequest", "no resourceVersion"),
        },
    };
    let request = Request {
        resource,
        selector,
        after,
        mark_initial_end: query.send_initial_events,
        bookmarks: query.allow_watch_bookmarks,
        timeout: query.timeout_seconds.map(Duration::from_secs),
    };
    let body = Body::from_stream(watch::stream(store, request));
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// An error as the API says it: a `Status`.
fn failure(code: StatusCode, reason: &str, message: &str) -> Response {
    let status: Value = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": code.as_u16(),
    });
    (code, Json(status)).into_response()
}
