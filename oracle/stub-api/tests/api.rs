//! What a client sees: lists, watches, and changes made in between.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use kps_stub_api::store::Store;
use kps_stub_api::{event, object, routes};
use serde_json::{Value, json};
use tower::ServiceExt;

const SERVICES: &str = "/api/v1/services";

fn service(name: &str, labels: &str) -> String {
    format!("{{kind: Service, metadata: {{namespace: ns, name: {name}, labels: {labels}}}}}\n---\n")
}

/// Serves two Services and a Node: versions 1 to 3.
fn server() -> Router {
    let node = "{kind: Node, metadata: {name: node-a}}";
    let text = service("a", "{}") + &service("b", "{hidden: yes}") + node;
    let store = Arc::new(Store::default());
    store.apply(object::read(&text).unwrap());
    routes(&store)
}

async fn send(server: &Router, method: &str, uri: &str, body: String) -> (StatusCode, Body) {
    let request = Request::builder().method(method).uri(uri).body(Body::from(body)).unwrap();
    let response = server.clone().oneshot(request).await.unwrap();
    (response.status(), response.into_body())
}

async fn ask(server: &Router, method: &str, uri: &str, body: String) -> (StatusCode, Value) {
    let (status, body) = send(server, method, uri, body).await;
    (status, serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap())
}

async fn get(server: &Router, uri: &str) -> (StatusCode, Value) {
    ask(server, "GET", uri, String::new()).await
}

async fn apply(server: &Router, text: String) {
    let (status, answer) = ask(server, "POST", "/control/apply", text).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

/// An open watch, read event by event.
struct Watch(Body);

impl Watch {
    async fn open(server: &Router, query: &str) -> Self {
        let (status, body) =
            send(server, "GET", &format!("{SERVICES}?watch=true&{query}"), String::new()).await;
        assert_eq!(status, StatusCode::OK);
        Self(body)
    }

    /// Returns type, name and resource version of the next event; `None` at the end.
    async fn next(&mut self) -> Option<(String, String, String)> {
        let frame = self.0.frame().await?.unwrap().into_data().unwrap();
        let event: Value = serde_json::from_slice(&frame).unwrap();
        let part =
            |pointer| event.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
        let version = part("/object/metadata/resourceVersion");
        Some((part("/type"), part("/object/metadata/name"), version))
    }

    async fn expect(&mut self, kind: &str, name: &str, version: &str) {
        let wanted = (kind.to_owned(), name.to_owned(), version.to_owned());
        assert_eq!(self.next().await, Some(wanted));
    }
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_list_has_kind_version_and_what_is_selected() {
    let server = server();
    let (_, list) = get(&server, SERVICES).await;
    assert_eq!((&list["kind"], names(&list)), (&json!("ServiceList"), vec!["a", "b"]));
    assert_eq!(list["metadata"]["resourceVersion"], "3");
    let (_, list) = get(&server, &format!("{SERVICES}?labelSelector=!hidden")).await;
    assert_eq!(names(&list), ["a"]);
    let (_, list) = get(&server, "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-b").await;
    assert_eq!(names(&list), [""; 0]);
}

#[tokio::test]
async fn one_node_is_read_and_what_is_not_there_is_a_status() {
    let server = server();
    let (status, node) = get(&server, "/api/v1/nodes/node-a").await;
    assert_eq!((status, &node["kind"]), (StatusCode::OK, &json!("Node")));
    for missing in ["/api/v1/nodes/node-b", "/api/v1/pods"] {
        let (status, answer) = get(&server, missing).await;
        assert_eq!((status, &answer["reason"]), (StatusCode::NOT_FOUND, &json!("NotFound")));
    }
}

#[tokio::test]
async fn a_watch_gets_what_follows_its_version_in_order() {
    let server = server();
    let mut watch = Watch::open(&server, "resourceVersion=1").await;
    watch.expect("ADDED", "b", "2").await;
    apply(&server, service("a", "{x: y}")).await;
    watch.expect("MODIFIED", "a", "4").await;
    let (_, deleted) = ask(&server, "DELETE", "/control/service/ns/a", String::new()).await;
    assert_eq!(deleted["version"], 5);
    watch.expect("DELETED", "a", "5").await;
    apply(&server, service("a", "{}")).await;
    watch.expect("ADDED", "a", "6").await;
}

#[tokio::test]
async fn a_watch_without_a_version_begins_with_what_is_there() {
    let server = server();
    let mut watch = Watch::open(&server, "resourceVersion=0").await;
    watch.expect("ADDED", "a", "1").await;
    watch.expect("ADDED", "b", "2").await;
    apply(&server, service("c", "{}")).await;
    watch.expect("ADDED", "c", "4").await;
}

#[tokio::test]
async fn a_streamed_list_ends_with_a_bookmark() {
    let server = server();
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let (_, mut body) =
        send(&server, "GET", &format!("{SERVICES}?watch=true&{query}"), String::new()).await;
    let mut last = Value::Null;
    for _ in 0..3 {
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        last = serde_json::from_slice(&frame).unwrap();
    }
    assert_eq!(last["type"], "BOOKMARK");
    let metadata = &last["object"]["metadata"];
    assert_eq!(metadata["resourceVersion"], "3");
    assert_eq!(metadata["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn a_watch_that_ends_leaves_a_bookmark_to_go_on_from() {
    let server = server();
    let mut watch =
        Watch::open(&server, "resourceVersion=1&timeoutSeconds=0&allowWatchBookmarks=true").await;
    watch.expect("ADDED", "b", "2").await;
    watch.expect("BOOKMARK", "", "3").await;
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn an_object_comes_and_goes_with_the_label_that_is_watched() {
    let server = server();
    let mut watch = Watch::open(&server, "resourceVersion=3&labelSelector=!hidden").await;
    apply(&server, service("a", "{hidden: yes}") + &service("b", "{hidden: no}")).await;
    watch.expect("DELETED", "a", "4").await;
    apply(&server, service("a", "{}")).await;
    watch.expect("ADDED", "a", "6").await;
}

#[tokio::test]
async fn a_version_of_another_run_is_gone() {
    let server = server();
    let (status, answer) = get(&server, &format!("{SERVICES}?watch=true&resourceVersion=9")).await;
    assert_eq!((status, &answer["reason"]), (StatusCode::GONE, &json!("Expired")));
}

#[tokio::test]
async fn a_client_of_protobuf_alone_is_refused() {
    let accepts = |types: &str| {
        let request = Request::builder().uri(SERVICES).header(header::ACCEPT, types);
        server().oneshot(request.body(Body::empty()).unwrap())
    };
    let protobuf = "application/vnd.kubernetes.protobuf";
    assert_eq!(accepts(protobuf).await.unwrap().status(), StatusCode::NOT_ACCEPTABLE);
    let either = format!("{protobuf},application/json");
    assert_eq!(accepts(&either).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn delivered_waits_for_the_slowest_watch() {
    let server = server();
    let mut watch = Watch::open(&server, "resourceVersion=2").await;
    apply(&server, service("a", "{}")).await;
    let wait = tokio::spawn({
        let server = server.clone();
        async move { get(&server, "/control/delivered?watches=1").await.1 }
    });
    watch.expect("MODIFIED", "a", "4").await;
    tokio::task::yield_now().await;
    assert!(!wait.is_finished());
    // The next read says that the event before has been taken.
    let reading = tokio::spawn(async move { watch.next().await });
    let events = json!({"Service": 1, "EndpointSlice": 0, "Node": 0, "ServiceCIDR": 0});
    assert_eq!(wait.await.unwrap(), json!({"version": 4, "watches": 1, "events": events}));
    reading.abort();
}

#[tokio::test]
async fn delivered_waits_for_as_many_watches_as_are_expected() {
    let server = server();
    let wait = tokio::spawn({
        let server = server.clone();
        async move { get(&server, "/control/delivered?watches=1").await.1 }
    });
    tokio::task::yield_now().await;
    assert!(!wait.is_finished());
    let mut watch = Watch::open(&server, "resourceVersion=3").await;
    let reading = tokio::spawn(async move { watch.next().await });
    assert_eq!(wait.await.unwrap()["watches"], 1);
    reading.abort();
}

#[tokio::test]
async fn planned_changes_are_made_one_by_one() {
    let store = Arc::new(Store::default());
    let text = "[{apply: {kind: Node, metadata: {name: n}}}, {delete: {kind: Node, name: n}}]";
    store.plan(event::read(text).unwrap());
    let server = routes(&store);
    let next = async || ask(&server, "POST", "/control/next", String::new()).await;
    assert_eq!(get(&server, "/api/v1/nodes/n").await.0, StatusCode::NOT_FOUND);
    assert_eq!(next().await.1, json!({"version": 1, "applied": 1}));
    assert_eq!(get(&server, "/api/v1/nodes/n").await.0, StatusCode::OK);
    assert_eq!(next().await.1, json!({"version": 2, "deleted": "Node n"}));
    assert_eq!(get(&server, "/api/v1/nodes/n").await.0, StatusCode::NOT_FOUND);
    assert_eq!(next().await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn control_says_what_is_wrong() {
    let server = server();
    for (method, uri, body, status, word) in [
        ("POST", "/control/apply", "{", StatusCode::BAD_REQUEST, "document 1"),
        ("POST", "/control/apply", "kind: Node", StatusCode::BAD_REQUEST, "metadata.name"),
        ("DELETE", "/control/pod/ns/a", "", StatusCode::BAD_REQUEST, "\"pod\""),
        ("DELETE", "/control/node/x", "", StatusCode::NOT_FOUND, "Node x"),
    ] {
        let (answered, answer) = ask(&server, method, uri, body.to_owned()).await;
        assert_eq!(answered, status, "{uri}");
        assert!(answer["error"].as_str().unwrap().contains(word), "{answer}");
    }
}
