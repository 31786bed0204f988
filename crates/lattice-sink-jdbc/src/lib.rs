//! The SQL sinks: change events in, rows of PostgreSQL tables out, exactly once.
//!
//! Comes in: [`EventBatch`](lattice_core::event::EventBatch)es. Goes out: SQL. Read first: `task.rs`
//! (what is gathered and when it is written), `gather.rs` (which row an event means), `reduce.rs` (what
//! of many events of one key is written), `write.rs` (one transaction), `structure.rs` (fields to
//! columns), and the database's own folder.
//!
//! How far each partition has come stands in a table of the target, moved in the transaction that writes
//! the rows; a task goes on from there, so each event is written exactly once.
//!
//! This crate must not know: topics' storage, Kafka records, Avro, sources.

mod config;
mod gather;
mod layout;
mod mysql;
mod names;
mod offsets;
mod pile;
mod postgres;
mod prepare;
mod reduce;
mod sqlite;
mod structure;
mod table;
mod tables;
mod target;
mod task;
mod tls;
mod url;
mod validate;
mod value;
mod write;

use lattice_core::{
    BoxFuture,
    config::{Config, ConfigIssue},
    connector::{
        Descriptor, Direction, MappingPreview, OffsetChange, SinkConnector, SinkTask, TaskConfig,
        TaskContext,
    },
    error::Result,
    schema::Schema,
};

use config::{
    Settings, Vendor,
    keys::{CONFLUENT, CONFLUENT_IGNORED, DEBEZIUM, DEBEZIUM_IGNORED},
};

static DEBEZIUM_DESCRIPTOR: Descriptor = Descriptor {
    class: "io.debezium.connector.jdbc.JdbcSinkConnector",
    alias: "jdbc",
    title: "SQL database",
    direction: Direction::Sink,
    version: env!("CARGO_PKG_VERSION"),
    doc: "Keeps tables of a SQL database equal to their sources, exactly once. Debezium's keys.",
    keys: &[DEBEZIUM, DEBEZIUM_IGNORED],
    prefixes: &["hibernate."],
};

static CONFLUENT_DESCRIPTOR: Descriptor = Descriptor {
    class: "io.confluent.connect.jdbc.JdbcSinkConnector",
    alias: "jdbc-confluent",
    title: "SQL database (Confluent's keys)",
    direction: Direction::Sink,
    version: env!("CARGO_PKG_VERSION"),
    doc: "Keeps tables of a SQL database equal to their sources, exactly once. Confluent's keys.",
    keys: &[CONFLUENT, CONFLUENT_IGNORED],
    prefixes: &["connection.", "jdbc.credentials.provider."],
};

/// The SQL sink, by one of the names under which configurations know it.
#[derive(Debug, Clone, Copy)]
pub struct JdbcSink(Vendor);

impl JdbcSink {
    /// With the keys of Debezium's JDBC sink.
    #[must_use]
    pub fn debezium() -> Self {
        Self(Vendor::Debezium)
    }

    /// With the keys of Confluent's JDBC sink.
    #[must_use]
    pub fn confluent() -> Self {
        Self(Vendor::Confluent)
    }
}

impl SinkConnector for JdbcSink {
    fn descriptor(&self) -> &'static Descriptor {
        match self.0 {
            Vendor::Debezium => &DEBEZIUM_DESCRIPTOR,
            Vendor::Confluent => &CONFLUENT_DESCRIPTOR,
        }
    }

    fn validate<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Vec<ConfigIssue>> {
        Box::pin(validate::validate(config, self.0))
    }

    fn plan(&self, name: &str, config: &Config, max_tasks: usize) -> Result<Vec<TaskConfig>> {
        let settings = Settings::from_config(config, self.0)?;
        // A file has one writer.
        let sqlite = settings.address.dialect() == url::Dialect::Sqlite;
        Ok(TaskConfig::by_topics(name, config, if sqlite { 1 } else { max_tasks }))
    }

    fn open<'a>(
        &'a self,
        task: TaskConfig,
        context: TaskContext,
    ) -> BoxFuture<'a, Result<Box<dyn SinkTask>>> {
        Box::pin(async move {
            let task: Box<dyn SinkTask> = Box::new(task::Task::open(task, context, self.0).await?);
            Ok(task)
        })
    }

    fn alter_offsets<'a>(
        &'a self,
        name: &'a str,
        config: &'a Config,
        changes: Option<Vec<OffsetChange>>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(offsets::alter(name, config, self.0, changes))
    }

    fn preview<'a>(
        &'a self,
        config: &'a Config,
        topic: &'a str,
        row: &'a Schema,
        key: &'a [String],
    ) -> BoxFuture<'a, Result<MappingPreview>> {
        Box::pin(validate::preview(config, self.0, topic, row, key))
    }
}
