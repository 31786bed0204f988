//! The contracts of connectors: small, object-safe, pull-based.
//!
//! A source is asked for batches and told what became durable; a sink is given batches and says
//! when they are durable. Neither knows topics' storage, converters or the runtime. Only the
//! binary's table names concrete connectors.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    BoxFuture,
    config::{Config, ConfigIssue, Key, split_list},
    error::{Error, Result},
    event::{EventBatch, SourceBatch},
    position::Position,
    progress::Progress,
    schema::Schema,
};

/// Source or sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a database to topics.
    Source,
    /// From topics to a database.
    Sink,
}

/// What a connector is, before it runs.
#[derive(Debug)]
pub struct Descriptor {
    /// The class name that users write, Debezium's or the vendor's.
    pub class: &'static str,
    /// Short name: `postgres`, `clickhouse`.
    pub alias: &'static str,
    /// The name shown to people: `PostgreSQL`.
    pub title: &'static str,
    /// Source or sink.
    pub direction: Direction,
    /// The version that `/connector-plugins` shows.
    pub version: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its keys, in tables.
    pub keys: &'static [&'static [Key]],
    /// Prefixes of keys that are free in their rest, such as `driver.`.
    pub prefixes: &'static [&'static str],
}

impl Descriptor {
    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|table| table.iter())
    }

    /// Whether `class` means this connector: its class, its simple class name or its alias.
    #[must_use]
    pub fn is_called(&self, class: &str) -> bool {
        class == self.class
            || class == self.alias
            || self.class.rsplit('.').next().is_some_and(|simple| simple == class)
    }
}

/// One task's share of a connector's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskConfig {
    /// The connector's name.
    pub connector: String,
    /// The task's number, from 0.
    pub task: u32,
    /// The connector's configuration with what is the task's own.
    pub config: Config,
}

impl TaskConfig {
    /// A sink's shares: one a topic at most, since more tasks than topics would share tables without
    /// need. Topics that a pattern chooses are not known yet: as many as may be.
    #[must_use]
    pub fn by_topics(name: &str, config: &Config, max_tasks: usize) -> Vec<Self> {
        let topics: BTreeSet<_> =
            config.get("topics").map(|topics| split_list(topics).collect()).unwrap_or_default();
        let most = if topics.is_empty() { max_tasks } else { topics.len().min(max_tasks) };
        let share = |task| Self { connector: name.to_owned(), task, config: config.clone() };
        (0..u32::try_from(most.max(1)).unwrap_or(1)).map(share).collect()
    }
}

/// What a task is given besides its configuration.
#[derive(Debug, Clone)]
pub struct TaskContext {
    /// The task's report; shown by status, console and metrics.
    pub progress: Arc<Progress>,
    /// How many bytes the task may hold in its own queues.
    pub buffer_bytes: usize,
}

/// A table of the source database, for pickers and previews.
#[derive(Debug, Clone)]
pub struct TableInfo {
    /// `schema.table`.
    pub name: String,
    /// Its columns with their schemas, and the database's own type names.
    pub columns: Vec<(String, Arc<Schema>, String)>,
    /// Names of the key's columns.
    pub key: Vec<String>,
    /// Estimated rows, if known.
    pub rows: Option<u64>,
    /// Estimated bytes, if known.
    pub bytes: Option<u64>,
    /// Whether the configuration captures it.
    pub captured: bool,
    /// What a person should know (no key, replica identity nothing, …) with the remedy.
    pub issues: Vec<ConfigIssue>,
}

/// What a sink would do with a topic's records.
#[derive(Debug, Clone, Default)]
pub struct MappingPreview {
    /// The target table.
    pub table: String,
    /// Whether it exists already.
    pub exists: bool,
    /// Field, its schema's short text, target column, target type; an empty column: not mapped.
    pub columns: Vec<[String; 4]>,
    /// The statements that would be run first.
    pub statements: Vec<String>,
    /// What does not fit.
    pub issues: Vec<ConfigIssue>,
}

/// A kind of source.
pub trait SourceConnector: Send + Sync {
    /// What it is.
    fn descriptor(&self) -> &'static Descriptor;

    /// Checks the configuration beyond its keys' own rules (which the caller has checked), and
    /// what it points to. May connect; never changes anything.
    fn validate<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Vec<ConfigIssue>>;

    /// Splits the work into at most `max_tasks` tasks.
    ///
    /// Errors: `Config`.
    fn plan(&self, name: &str, config: &Config, max_tasks: usize) -> Result<Vec<TaskConfig>>;

    /// The partition part of the position of this configuration, by which the runtime finds the
    /// stored offset (`{"server":"<topic.prefix>"}`).
    ///
    /// Errors: `Config`.
    fn partition(&self, config: &Config) -> Result<serde_json::Map<String, serde_json::Value>>;

    /// Opens a task. `resume`: the last position that became durable, or `None` at first.
    /// Returns soon: a snapshot is read by [`SourceTask::next_batch`].
    ///
    /// Errors: any kind; `Transient` is retried with backoff by the runtime.
    fn open<'a>(
        &'a self,
        task: TaskConfig,
        resume: Option<Position>,
        context: TaskContext,
    ) -> BoxFuture<'a, Result<Box<dyn SourceTask>>>;

    /// The source's tables, for pickers.
    ///
    /// Errors: as `open`.
    fn tables<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Result<Vec<TableInfo>>>;

    /// Checks a position that a person wants to set (`PATCH …/offsets`).
    ///
    /// Errors: `Config`, saying what a position looks like.
    fn check_position(&self, position: &Position) -> Result<()>;
}

/// A running source task.
pub trait SourceTask: Send {
    /// Waits for work and gives it. `None`: the task has come to its end (a snapshot-only one).
    ///
    /// Cancel safety: dropping the future loses nothing.
    /// Errors: any; after one the task is closed and opened again from the durable position.
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<SourceBatch>>>;

    /// Everything up to `position` is durable in the log; the source may release its own
    /// retention (slot, binlog).
    fn committed<'a>(&'a mut self, position: &'a Position) -> BoxFuture<'a, Result<()>>;

    /// Ends the task and gives its resources back. Positions not yet committed are read again.
    fn close(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// Topic, partition and the next offset; `None`: it is forgotten.
pub type OffsetChange = (Arc<str>, i32, Option<i64>);

/// A kind of sink.
pub trait SinkConnector: Send + Sync {
    /// What it is.
    fn descriptor(&self) -> &'static Descriptor;

    /// Checks the configuration beyond its keys' own rules, and what it points to. May connect;
    /// never changes anything.
    fn validate<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Vec<ConfigIssue>>;

    /// Splits the work into at most `max_tasks` tasks; the runtime gives each its partitions.
    ///
    /// Errors: `Config`.
    fn plan(&self, name: &str, config: &Config, max_tasks: usize) -> Result<Vec<TaskConfig>>;

    /// Opens a task.
    ///
    /// Errors: any kind; `Transient` is retried with backoff by the runtime.
    fn open<'a>(
        &'a self,
        task: TaskConfig,
        context: TaskContext,
    ) -> BoxFuture<'a, Result<Box<dyn SinkTask>>>;

    /// A person has changed the offsets of a stopped connector: topic, partition and the next offset,
    /// or `None` for one that is forgotten. `changes` is `None` when all are forgotten. Sinks that
    /// keep offsets in the target follow; others have nothing to do.
    ///
    /// Errors: as `open`.
    fn alter_offsets<'a>(
        &'a self,
        _name: &'a str,
        _config: &'a Config,
        _changes: Option<Vec<OffsetChange>>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// What the sink would do with records of `topic` whose row and key have these schemas.
    ///
    /// Errors: as `open`.
    fn preview<'a>(
        &'a self,
        config: &'a Config,
        topic: &'a str,
        row: &'a Schema,
        key: &'a [String],
    ) -> BoxFuture<'a, Result<MappingPreview>>;
}

/// What became of a write.
#[derive(Debug)]
pub enum WriteStatus {
    /// The sink holds it; do not move offsets.
    Accepted,
    /// The sink holds it; of those it accepted before, the `batches` oldest that were not
    /// reported yet are safe in the target now, save the `rejected` rows. Lets offsets move under steady
    /// load without waiting for what is still being written.
    Written {
        /// How many batches, oldest first.
        batches: usize,
        /// Rows of them that the target refused.
        rejected: Vec<Rejected>,
    },
    /// This and all earlier writes are safe in the target; `rejected` rows are not in it and
    /// never will be, for the cause beside each: dead-letter them or fail.
    Durable {
        /// Rows that the target refused.
        rejected: Vec<Rejected>,
    },
}

/// A row that the target refused.
#[derive(Debug)]
pub struct Rejected {
    /// Topic.
    pub topic: Arc<str>,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// Why: kind `Data` or `Schema`.
    pub error: Error,
}

/// A running sink task.
pub trait SinkTask: Send {
    /// Where partitions stand in the target itself, for sinks that keep offsets beside the rows: topic,
    /// partition and the next offset. Asked once after `open`; the runtime reads on from there, whatever
    /// the consumer group's offsets say.
    fn positions(&self) -> Vec<(Arc<str>, i32, i64)> {
        Vec::new()
    }

    /// Takes events. With `Accepted` the sink holds them (within its byte budget) until it
    /// writes; `Written` covers some of the earlier batches, `Durable` this and all earlier ones.
    ///
    /// Cancel safety: none; the caller awaits it to its end, or drops the task with it.
    /// Errors: `Transient`: the caller closes and opens the task and delivers again from the
    /// committed offsets; so nothing is lost, and a sink must make repeats harmless. `Data` or
    /// `Schema` never come from here for single rows (see [`WriteStatus::Durable`]).
    fn write(&mut self, batch: EventBatch) -> BoxFuture<'_, Result<WriteStatus>>;

    /// Writes what it holds; afterwards every accepted batch is durable.
    ///
    /// Errors: as `write`.
    fn flush(&mut self) -> BoxFuture<'_, Result<Vec<Rejected>>>;

    /// Waits until something is to be done that needs no further batch, does it, and tells what
    /// came of it: held rows that waited long enough, or the end of a write. Pends for ever while
    /// the sink holds nothing.
    ///
    /// Cancel safety: dropping the future loses nothing.
    /// Errors: as `write`.
    fn advance(&mut self) -> BoxFuture<'_, Result<WriteStatus>>;

    /// Ends the task. What was not flushed is delivered again.
    fn close(self: Box<Self>) -> BoxFuture<'static, ()>;
}
