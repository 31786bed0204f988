//! What every handler can reach.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use lattice_log::Log;
use lattice_registry::EmbeddedRegistry;
use lattice_runtime::Worker;
use tokio_util::sync::CancellationToken;

use crate::{Parts, logging::LogLevels};

/// What the server says of itself.
pub struct ServerOptions {
    /// `host:port` of this worker.
    pub worker_id: String,
    /// The version.
    pub version: &'static str,
    /// The commit it was built from; empty: not known.
    pub commit: &'static str,
    /// The data folder.
    pub data_folder: PathBuf,
    /// Identifies the log, as `kafka_cluster_id`.
    pub cluster_id: String,
    /// Host names besides loopback and addresses by which browsers may call.
    pub allowed_hosts: Vec<String>,
    /// Changes log levels while it runs.
    pub log_levels: Option<Arc<dyn LogLevels>>,
}

/// Shared by all handlers; cheap to clone.
#[derive(Clone)]
pub struct ServerState(Arc<Inner>);

struct Inner {
    parts: Parts,
    started_ms: i64,
    stopping: CancellationToken,
}

impl ServerState {
    /// The state; `stopping` ends the event streams.
    #[must_use]
    pub fn new(parts: Parts, stopping: CancellationToken) -> Self {
        Self(Arc::new(Inner { parts, started_ms: now_ms(), stopping }))
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.0.parts.worker
    }

    pub(crate) fn log(&self) -> &Arc<dyn Log> {
        &self.0.parts.log
    }

    pub(crate) fn registry(&self) -> &Arc<EmbeddedRegistry> {
        &self.0.parts.registry
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.0.parts.options
    }

    pub(crate) fn started_ms(&self) -> i64 {
        self.0.started_ms
    }

    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }
}

/// Units: ms since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
