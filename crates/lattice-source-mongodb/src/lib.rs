//! Captures a MongoDB replica set or sharded cluster: the documents that are there, then every change.
//!
//! Comes in: a configuration with Debezium's keys and a stored position. Goes out:
//! [`SourceBatch`]es whose rows are the server's own bytes: events of the change stream, or documents.
//! Read first: [`MongoSource`] (what it offers), `stream` (how changes are read), [`row`] (how they become
//! an envelope), [`bson::json`] (how documents are written), [`position::Offset`] (where one resumes).
//!
//! This crate must not know: topics, Avro, JSON records, sinks.

pub mod bson;
pub mod client;
pub mod config;
pub mod discover;
mod error;
pub mod fields;
pub mod info;
pub mod pipeline;
pub mod position;
mod preflight;
mod reply;
pub mod row;
mod snapshot;
mod stream;
mod task;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use lattice_core::{
    BoxFuture, ErrorKind, Result,
    config::{Config, ConfigIssue},
    connector::{
        Descriptor, Direction, SourceConnector, SourceTask, TableInfo, TaskConfig, TaskContext,
    },
    event::SourceBatch,
    position::Position,
};

use config::{Settings, keys};

static DESCRIPTOR: Descriptor = Descriptor {
    class: "io.debezium.connector.mongodb.MongoDbConnector",
    alias: "mongodb",
    title: "MongoDB",
    direction: Direction::Source,
    version: info::VERSION,
    doc: "Captures a MongoDB replica set or sharded cluster by change streams, snapshot included",
    keys: &[keys::KEYS, keys::IGNORED],
    prefixes: keys::PREFIXES,
};

/// The MongoDB source.
#[derive(Debug, Default)]
pub struct MongoSource {
    /// Tasks whose last run failed for a passing reason: their next start is a reconnect.
    reconnecting: Arc<Mutex<HashSet<String>>>,
}

impl SourceConnector for MongoSource {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn validate<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Vec<ConfigIssue>> {
        Box::pin(preflight::check(config))
    }

    fn plan(&self, name: &str, config: &Config, _max_tasks: usize) -> Result<Vec<TaskConfig>> {
        Settings::from_config(config)?;
        // One change stream keeps the order of all changes.
        Ok(vec![TaskConfig { connector: name.to_owned(), task: 0, config: config.clone() }])
    }

    fn partition(&self, config: &Config) -> Result<serde_json::Map<String, serde_json::Value>> {
        Ok(position::partition(config.required(&keys::TOPIC_PREFIX)?.trim()))
    }

    fn open<'a>(
        &'a self,
        task: TaskConfig,
        resume: Option<Position>,
        context: TaskContext,
    ) -> BoxFuture<'a, Result<Box<dyn SourceTask>>> {
        Box::pin(async move {
            let settings = Settings::from_config(&task.config)?;
            let fresh = !lock(&self.reconnecting).contains(&task.connector);
            let opened = Box::pin(task::MongoTask::open(settings, resume, context, fresh)).await;
            let inner = note(&self.reconnecting, &task.connector, opened)?;
            lock(&self.reconnecting).remove(&task.connector);
            let reconnecting = Arc::clone(&self.reconnecting);
            let watched = Watched { inner, connector: task.connector, reconnecting };
            Ok(Box::new(watched) as Box<dyn SourceTask>)
        })
    }

    fn tables<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Result<Vec<TableInfo>>> {
        Box::pin(async move {
            let settings = Settings::from_config(config)?;
            let deployment = client::connect(&settings.target).await?;
            discover::table_infos(&deployment, &settings).await
        })
    }

    fn check_position(&self, position: &Position) -> Result<()> {
        position::Offset::parse(position).map(|_| ())
    }
}

fn lock(set: &Mutex<HashSet<String>>) -> std::sync::MutexGuard<'_, HashSet<String>> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a passing failure.
fn note<T>(set: &Mutex<HashSet<String>>, connector: &str, result: Result<T>) -> Result<T> {
    if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Transient) {
        lock(set).insert(connector.to_owned());
    }
    result
}

/// A task whose passing failures are remembered, so that `snapshot.mode=always` means every start
/// by a person and not every reconnect.
struct Watched {
    inner: task::MongoTask,
    connector: String,
    reconnecting: Arc<Mutex<HashSet<String>>>,
}

impl SourceTask for Watched {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<SourceBatch>>> {
        Box::pin(async move {
            let batch = self.inner.next_batch().await;
            note(&self.reconnecting, &self.connector, batch)
        })
    }

    fn committed<'a>(&'a mut self, position: &'a Position) -> BoxFuture<'a, Result<()>> {
        self.inner.committed(position)
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::new(self.inner).close()
    }
}
