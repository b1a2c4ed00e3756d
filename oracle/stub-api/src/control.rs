//! The control interface: what drives the cluster, step by step.
//!
//! | request | does |
//! |---|---|
//! | `POST /control/apply`, body: YAML or JSON | adds or replaces the objects |
//! | `DELETE /control/KIND/NAMESPACE/NAME`, `DELETE /control/KIND/NAME` | deletes an object |
//! | `GET /control/delivered?watches=N` | answers when N watches are open, or more, and every one has been given all changes |
//!
//! Each answers with the resource version that it led to. That a watch was given a change does not say
//! that kube-proxy has acted on it: its rules, or its metrics, tell that.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;

use crate::object::{self, Key};
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
    Json(json!({"version": version, "watches": watches})).into_response()
}

fn refuse(code: StatusCode, message: &str) -> Response {
    (code, Json(json!({"error": message}))).into_response()
}
