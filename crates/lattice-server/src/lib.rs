//! HTTP: Kafka Connect's REST API, the registry's, Lattice's own, metrics, and the console.
//!
//! Comes in: requests; goes out: what the [`Worker`] and the
//! [`Log`] answer, in wire forms that live here and nowhere else. Read
//! [`serve`] first, then `connect` (Kafka Connect's routes), then `api` (Lattice's own); the whole
//! contract is `openapi.json` beside this crate's manifest.
//!
//! This room must not know: any concrete connector, the environment, or how records are kept.

mod answer;
mod api;
mod connect;
mod console;
mod forward;
mod guard;
mod logging;
mod metrics;
mod paths;
mod query;
mod router;
mod state;

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use lattice_core::{Error, Result};
use lattice_log::Log;
use lattice_registry::EmbeddedRegistry;
use lattice_runtime::Worker;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use logging::{LogLevel, LogLevels};
pub use paths::path_segment;
pub use router::router;
pub use state::{ServerOptions, ServerState};

/// How long requests may go on after the stop was asked for.
const GRACE: Duration = Duration::from_secs(3);

/// What a server is made of.
pub struct Parts {
    /// Runs the connectors.
    pub worker: Worker,
    /// Keeps the topics.
    pub log: Arc<dyn Log>,
    /// Keeps the schemas.
    pub registry: Arc<EmbeddedRegistry>,
    /// What it says of itself.
    pub options: ServerOptions,
}

/// Takes the address; so that a port in use is known before anything is started.
///
/// Errors: `Config`, naming the address, the reason and the remedy.
pub async fn bind(address: &str) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "another program has the port: stop it, or choose another one with --listen"
            }
            std::io::ErrorKind::PermissionDenied => {
                "ports below 1024 need rights of their own: choose another one with --listen"
            }
            _ => "give an address of this machine as HOST:PORT with --listen",
        };
        Error::config(format!("cannot listen on {address}: {error}")).with_remedy(remedy)
    })
}

/// Serves until `stop` is done, then lets requests finish for a moment.
///
/// Errors: `Fatal` when the listener breaks.
pub async fn serve(
    listener: TcpListener,
    parts: Parts,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let stopping = CancellationToken::new();
    let state = ServerState::new(parts, stopping.clone());
    let service = router(state).into_make_service_with_connect_info::<SocketAddr>();
    let signal = stopping.clone();
    let graceful = async move {
        stop.await;
        signal.cancel();
    };
    let serving = axum::serve(listener, service).with_graceful_shutdown(graceful);
    let deadline = async {
        stopping.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = serving.into_future() => {
            served.map_err(|error| Error::fatal("serve HTTP").with_source(error))
        }
        () = deadline => Ok(()),
    }
}
