//! The ClickHouse sink: change events in, rows of ReplacingMergeTree tables out.
//!
//! Comes in: [`EventBatch`](lattice_core::event::EventBatch)es. Goes out: Native blocks over HTTP,
//! and the statements that make and evolve tables. Read first: `task.rs` (what is gathered and when
//! it is written), `write.rs` (one table's write), `schema.rs` (structure to table, field to column),
//! `encode/rows.rs` (which rows an event means).
//!
//! A row's version is the change's own position in the source's log, so a batch that comes twice
//! changes nothing. Nothing is kept outside the tables.
//!
//! This crate must not know: topics' storage, Kafka records, Avro, sources.

mod client;
mod config;
mod encode;
mod insert;
mod present;
mod profile;
mod schema;
mod table;
mod target;
mod task;
mod truncate;
mod types;
mod validate;
mod wide;
mod write;

use lattice_core::{
    BoxFuture,
    config::{Config, ConfigIssue},
    connector::{
        Descriptor, Direction, MappingPreview, SinkConnector, SinkTask, TaskConfig, TaskContext,
    },
    error::Result,
    schema::Schema,
};

static DESCRIPTOR: Descriptor = Descriptor {
    class: "com.clickhouse.kafka.connect.ClickHouseSinkConnector",
    alias: "clickhouse",
    title: "ClickHouse",
    direction: Direction::Sink,
    version: env!("CARGO_PKG_VERSION"),
    doc: "Keeps ClickHouse tables equal to their sources: inserts, updates, deletes, new columns.",
    keys: &[config::KEYS, config::IGNORED],
    prefixes: &[],
};

/// The ClickHouse sink.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClickHouseSink;

impl SinkConnector for ClickHouseSink {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn validate<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Vec<ConfigIssue>> {
        Box::pin(validate::validate(config))
    }

    fn plan(&self, name: &str, config: &Config, max_tasks: usize) -> Result<Vec<TaskConfig>> {
        config::Settings::from_config(config)?;
        Ok(TaskConfig::by_topics(name, config, max_tasks))
    }

    fn open<'a>(
        &'a self,
        task: TaskConfig,
        context: TaskContext,
    ) -> BoxFuture<'a, Result<Box<dyn SinkTask>>> {
        Box::pin(async move {
            let task: Box<dyn SinkTask> = Box::new(task::Task::open(task, context).await?);
            Ok(task)
        })
    }

    fn preview<'a>(
        &'a self,
        config: &'a Config,
        topic: &'a str,
        row: &'a Schema,
        key: &'a [String],
    ) -> BoxFuture<'a, Result<MappingPreview>> {
        Box::pin(validate::preview(config, topic, row, key))
    }
}
