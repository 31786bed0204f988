//! The router on a log in a temporary folder, called without a socket.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode},
    response::Response,
};
use lattice_core::{
    BoxFuture, Error, Result,
    config::{Config, ConfigIssue, Key, KeyType},
    connector::{
        Descriptor, Direction, SourceConnector, SourceTask, TableInfo, TaskConfig, TaskContext,
    },
    event::SourceBatch,
    position::Position,
};
use lattice_log::{EmbeddedLog, EmbeddedOptions, Log};
use lattice_registry::EmbeddedRegistry;
use lattice_runtime::{Plugins, Worker, WorkerConfig, WorkerOptions};
use lattice_server::{Parts, ServerOptions, ServerState, router};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

pub(crate) struct House {
    pub(crate) log: Arc<EmbeddedLog>,
    pub(crate) stopping: CancellationToken,
    service: Router,
    _folder: tempfile::TempDir,
}

/// Status, headers and body of an answer.
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Told {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

impl House {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
        let registry = EmbeddedRegistry::open(log.documents()).await.unwrap();
        let worker = Worker::start(WorkerOptions {
            membership: None,
            worker_id: "127.0.0.1:8083".to_owned(),
            log: Arc::clone(&log) as Arc<dyn Log>,
            registry: Arc::clone(&registry) as _,
            plugins: Plugins { sources: vec![Arc::new(Waiting)], sinks: Vec::new() },
            environment: Arc::new(|_: &str| None),
            config: WorkerConfig::default(),
        })
        .await
        .unwrap();
        let options = ServerOptions {
            worker_id: "127.0.0.1:8083".to_owned(),
            version: "0.0.0",
            commit: "",
            data_folder: folder.path().to_owned(),
            cluster_id: "cluster".to_owned(),
            allowed_hosts: Vec::new(),
            log_levels: None,
        };
        let stopping = CancellationToken::new();
        let parts = Parts { worker, log: Arc::clone(&log) as Arc<dyn Log>, registry, options };
        let service = router(ServerState::new(parts, stopping.clone()));
        Self { log, stopping, service, _folder: folder }
    }

    /// The answer with its body still to be read.
    pub(crate) async fn send(&self, request: Request<Body>) -> Response {
        self.service.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Told {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.send(request.body(Body::from(body.to_owned())).unwrap()).await;
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 16 << 20).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Told { status: parts.status, headers: parts.headers, text }
    }

    /// A call with a JSON body.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &Value) -> Told {
        let headers = [("content-type", "application/json")];
        self.ask(method, path, &headers, &body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Told {
        self.ask("GET", path, &[], "").await
    }
}

pub(crate) const SECRET: &str = "pa55-never-shown";

/// A configuration of the waiting source.
pub(crate) fn source() -> Value {
    json!({"connector.class": "waiting", "topic.prefix": "p", "waiting.password": SECRET})
}

const KEYS: &[Key] = &[
    Key::new("topic.prefix", KeyType::String, "prefix of topics").required(),
    Key::new("waiting.password", KeyType::Password, "a secret"),
];

static DESCRIPTOR: Descriptor = Descriptor {
    class: "test.WaitingConnector",
    alias: "waiting",
    title: "Waiting",
    direction: Direction::Source,
    version: "1",
    doc: "Waits for ever.",
    keys: &[KEYS],
    prefixes: &[],
};

struct Waiting;

impl SourceConnector for Waiting {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn validate<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Vec<ConfigIssue>> {
        // The stored secret must have come back in the place of its mask.
        let known = matches!(config.get("waiting.password"), None | Some(SECRET));
        let issue = ConfigIssue::error("waiting.password", "the password is wrong");
        Box::pin(async move { if known { Vec::new() } else { vec![issue.remedy("mend it")] } })
    }

    fn plan(&self, name: &str, config: &Config, _: usize) -> Result<Vec<TaskConfig>> {
        Ok(vec![TaskConfig { connector: name.to_owned(), task: 0, config: config.clone() }])
    }

    fn partition(&self, _: &Config) -> Result<Map<String, Value>> {
        Ok(json!({"server": "p"}).as_object().unwrap().clone())
    }

    fn open<'a>(
        &'a self,
        _: TaskConfig,
        _: Option<Position>,
        _: TaskContext,
    ) -> BoxFuture<'a, Result<Box<dyn SourceTask>>> {
        Box::pin(async { Ok(Box::new(Task) as Box<dyn SourceTask>) })
    }

    fn tables<'a>(&'a self, _: &'a Config) -> BoxFuture<'a, Result<Vec<TableInfo>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn check_position(&self, position: &Position) -> Result<()> {
        match position.offset.get("row") {
            Some(Value::Number(_)) => Ok(()),
            _ => Err(Error::config("a position has the number \"row\"")),
        }
    }
}

struct Task;

impl SourceTask for Task {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<SourceBatch>>> {
        Box::pin(std::future::pending())
    }

    fn committed<'a>(&'a mut self, _: &'a Position) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}
