//! The control interface: what drives the cluster, step by step.
//!
//! | request | does |
//! |---|---|
//! | `POST /control/apply`, body: YAML or JSON | adds or replaces the objects |
//! | `DELETE /control/KIND/NAMESPACE/NAME`, `DELETE /control/KIND/NAME` | deletes an object |
//! | `POST /control/next` | makes the next change of the files of events; 404 when all are made |
//! | `GET /control/delivered?watches=N` | answers when N watches are open, or more, and every one has been given all changes |
//!
//! Each answers with the resource version that it led to, `delivered` also with the number of events of
//! each kind that watches were given. That a watch was given a change does not say that kube-proxy has
//! acted on it: its metrics tell that, which count the changes that it took in, and when it has synced.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::event::Planned;
use crate::object::{self, Key};
use crate::resource::Resource;
use crate::store::Store;

/// Returns the routes of the control interface.
pub fn routes(store: Arc<Store>) -> Router {
    let named = async |State(store): State<Arc<Store>>,
                       Path((kind, name)): Path<(String, String)>| {
        remove(&store, &kind, &name)
    };
    let namespaced =
        async |State(store): State<Arc<Store>>,
               Path((kind, namespace, name)): Path<(String, String, String)>| {
            remove(&store, &kind, &format!("{namespace}/{name}"))
        };
    Router::new()
        .route("/control/apply", post(apply))
        .route("/control/next", post(next))
        .route("/control/delivered", get(delivered))
        .route("/control/{kind}/{name}", delete(named))
        .route("/control/{kind}/{namespace}/{name}", delete(namespaced))
        .with_state(store)
}

async fn apply(State(store): State<Arc<Store>>, text: String) -> Response {
    match object::read(&text) {
        Ok(objects) => {
            let applied = objects.len();
            let version = store.apply(objects);
            Json(json!({"version": version, "applied": applied})).into_response()
        }
        Err(error) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

async fn next(State(store): State<Arc<Store>>) -> Response {
    match store.next() {
        Some((Planned::Apply(objects), version)) => {
            Json(json!({"version": version, "applied": objects.len()})).into_response()
        }
        Some((Planned::Delete(resource, key), version)) => {
            Json(json!({"version": version, "deleted": format!("{resource} {key}")}))
                .into_response()
        }
        None => refuse(StatusCode::NOT_FOUND, "all changes are made"),
    }
}

fn remove(store: &Store, kind: &str, name: &str) -> Response {
    let resource = match kind.parse() {
        Ok(resource) => resource,
        Err(unknown) => return refuse(StatusCode::BAD_REQUEST, &format!("{unknown}")),
    };
    match store.delete(resource, &Key::parse(name)) {
        Some(version) => Json(json!({"version": version})).into_response(),
        None => refuse(StatusCode::NOT_FOUND, &format!("there is no {resource} {name}")),
    }
}

/// How many watches there must be; kube-proxy opens one for each kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Expected {
    watches: usize,
}

async fn delivered(State(store): State<Arc<Store>>, Query(expected): Query<Expected>) -> Response {
    let (version, watches) = store.until_delivered(expected.watches).await;
    let count =
        |resource: Resource| (resource.kind().to_owned(), store.handed_out(resource).into());
    let events: Map<String, Value> = Resource::ALL.into_iter().map(count).collect();
    Json(json!({"version": version, "watches": watches, "events": events})).into_response()
}

fn refuse(code: StatusCode, message: &str) -> Response {
    (code, Json(json!({"error": message}))).into_response()
}
