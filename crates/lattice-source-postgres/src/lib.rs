//! Captures a PostgreSQL database: a snapshot without locks, then every committed change.
//!
//! Comes in: a configuration with Debezium's keys and a stored position. Goes out:
//! [`SourceBatch`]es whose rows are the server's own bytes. Read
//! first: [`PostgresSource`] (what it offers), [`stream::Stream`] (how changes are read),
//! [`tables::Tables`] (how structures are known), [`position::Offset`] (where one resumes).
//!
//! `protocol` and `stream` read; `tables`, `row` and `types` make events of rows: another reader
//! of the log would fit in beside the first two.
//!
//! This crate must not know: topics, Avro, JSON records, sinks.

mod buffers;
mod caretaker;
pub mod config;
pub mod connection;
pub mod discover;
mod incremental;
pub mod info;
pub mod position;
mod preflight;
pub mod prepare;
pub mod protocol;
pub mod row;
pub mod snapshot;
pub mod stream;
pub mod tables;
mod task;
pub mod types;

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
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
use connection::{Connection, Purpose};

static DESCRIPTOR: Descriptor = Descriptor {
    class: "io.debezium.connector.postgresql.PostgresConnector",
    alias: "postgres",
    title: "PostgreSQL",
    direction: Direction::Source,
    version: info::VERSION,
    doc: "Captures a PostgreSQL database by logical replication (pgoutput), snapshot included",
    keys: &[keys::KEYS, keys::IGNORED],
    prefixes: keys::PREFIXES,
};

/// The PostgreSQL source.
#[derive(Debug, Default)]
pub struct PostgresSource {
    /// Tasks whose last run failed for a passing reason: their next start is a reconnect.
    reconnecting: std::sync::Arc<Mutex<HashSet<String>>>,
}

impl SourceConnector for PostgresSource {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn validate<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Vec<ConfigIssue>> {
        Box::pin(preflight::check(config))
    }

    fn plan(&self, name: &str, config: &Config, _max_tasks: usize) -> Result<Vec<TaskConfig>> {
        Settings::from_config(config)?;
        // A slot has one reader.
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
            let opened = Box::pin(task::PostgresTask::open(settings, resume, context, fresh)).await;
            let inner = note(&self.reconnecting, &task.connector, opened)?;
            lock(&self.reconnecting).remove(&task.connector);
            let reconnecting = std::sync::Arc::clone(&self.reconnecting);
            let watched = Watched { inner, connector: task.connector, reconnecting };
            Ok(Box::new(watched) as Box<dyn SourceTask>)
        })
    }

    fn tables<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Result<Vec<TableInfo>>> {
        Box::pin(async move {
            let settings = Settings::from_config(config)?;
            let mut general = Connection::open(&settings.target, Purpose::General).await?;
            discover::table_infos(&mut general, &settings).await
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
    inner: task::PostgresTask,
    connector: String,
    reconnecting: std::sync::Arc<Mutex<HashSet<String>>>,
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
