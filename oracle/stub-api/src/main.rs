//! The binary `stub-api`: serves files of objects to a kube-proxy, over plain HTTP.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use kps_stub_api::event::{self, EventError};
use kps_stub_api::object::{self, ObjectError};
use kps_stub_api::routes;
use kps_stub_api::store::Store;
use thiserror::Error;
use tokio::net::TcpListener;

/// Serves Services, EndpointSlices, Nodes and ServiceCIDRs from files. Prints "ready" and its address
/// once it listens. POST /control/apply, POST /control/next, DELETE /control/KIND/NAMESPACE/NAME and GET
/// /control/delivered?watches=N change what is served and wait until it was handed out.
#[derive(Debug, Parser)]
struct Arguments {
    /// The address to listen at; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8001")]
    listen: SocketAddr,
    /// A list of changes that wait for POST /control/next: apply: OBJECT, delete: {kind, namespace, name}
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Files of objects, YAML or JSON
    files: Vec<PathBuf>,
}

#[derive(Debug, Error)]
enum Failure {
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Invalid { path: PathBuf, source: ObjectError },
    #[error("{}: {source}", path.display())]
    Events { path: PathBuf, source: EventError },
    #[error("cannot serve at {address}: {source}")]
    Serve { address: SocketAddr, source: io::Error },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "stub-api: {failure}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Failure> {
    let store = Arc::new(Store::default());
    for path in arguments.files {
        let objects = object::read(&read(&path)?);
        store.apply(objects.map_err(|source| Failure::Invalid { path, source })?);
    }
    if let Some(path) = arguments.events {
        let events = event::read(&read(&path)?);
        store.plan(events.map_err(|source| Failure::Events { path, source })?);
    }
    serve(&store, arguments.listen)
        .await
        .map_err(|source| Failure::Serve { address: arguments.listen, source })
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|source| Failure::Unreadable { path: path.to_owned(), source })
}

async fn serve(store: &Arc<Store>, address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let mut stdout = io::stdout();
    writeln!(stdout, "ready {}", listener.local_addr()?)?;
    stdout.flush()?;
    axum::serve(listener, routes(store)).await
}
