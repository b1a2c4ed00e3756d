//! A stand-in for the API server: what a real kube-proxy needs of one, and no more.
//!
//! Texts become objects ([`object`]) of the kinds that kube-proxy reads ([`resource`]), or changes of them
//! that wait for their turn ([`event`]); the [`store`]
//! gives each change a version and remembers it; [`api`] lists objects, and streams changes
//! ([`watch`]) through selectors ([`selector`]); [`control`] makes the changes, one by one.

pub mod api;
pub mod control;
pub mod event;
pub mod object;
pub mod resource;
pub mod selector;
pub mod store;
pub mod watch;

use std::sync::Arc;

use axum::Router;

use store::Store;

/// Returns everything that is served of a store: the API and its control interface.
pub fn routes(store: &Arc<Store>) -> Router {
    control::routes(Arc::clone(store)).merge(api::routes(Arc::clone(store)))
}
