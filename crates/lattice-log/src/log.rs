//! The log's contract: what the embedded log does, and Kafka behind the same trait.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use lattice_core::{BoxFuture, error::Result, position::Position, store::DocumentStore};
use serde_json::{Map, Value};

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// From 0.
    pub partition: i32,
}

impl TopicPartition {
    /// Names a partition.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl std::fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Kafka's `cleanup.policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CleanupPolicy {
    /// The oldest batches go, by age and size.
    #[default]
    Delete,
    /// The newest record of each key stays.
    Compact,
}

impl CleanupPolicy {
    /// Kafka's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Compact => "compact",
        }
    }
}

/// A topic's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicConfig {
    /// How many partitions it has; at least 1.
    pub partitions: i32,
    /// What happens to old records.
    pub cleanup_policy: CleanupPolicy,
    /// `retention.ms`; `None`: kept for ever. Units: ms.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`, per partition; `None`: unbounded. Units: bytes, compressed.
    pub retention_bytes: Option<i64>,
    /// Copies of each partition; `None`: as many as the log makes. The embedded log has one.
    pub replication_factor: Option<i16>,
    /// Kafka's further configurations of a topic, by name; the embedded log has none.
    pub other: BTreeMap<String, String>,
}

impl Default for TopicConfig {
    /// One partition, records kept for seven days as in Kafka.
    fn default() -> Self {
        Self {
            partitions: 1,
            cleanup_policy: CleanupPolicy::Delete,
            retention_ms: Some(7 * 24 * 3600 * 1000),
            retention_bytes: None,
            replication_factor: None,
            other: BTreeMap::new(),
        }
    }
}

/// What a topic holds at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub name: Arc<str>,
    /// Its configuration.
    pub config: TopicConfig,
    /// Its partitions, in order.
    pub partitions: Vec<PartitionInfo>,
    /// Kept by Lattice for itself: the name begins with `__`.
    pub internal: bool,
}

/// What a partition holds at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionInfo {
    /// From 0.
    pub partition: i32,
    /// The first offset that may still be read.
    pub log_start_offset: i64,
    /// The offset that the next record gets.
    pub end_offset: i64,
    /// Units: bytes, compressed.
    pub bytes: u64,
    /// Records held.
    pub records: u64,
}

/// A Kafka v2 record batch, encoded and compressed; base offset 0 until the log stamps it.
#[derive(Debug, Clone)]
pub struct EncodedBatch {
    /// Where it goes.
    pub topic: Arc<str>,
    /// Where it goes.
    pub partition: i32,
    /// How many records it has; at least 1.
    pub records: i32,
    /// The batch, header included.
    pub bytes: Bytes,
    /// The greatest timestamp in it. Units: ms since the Unix epoch.
    pub max_timestamp_ms: i64,
}

/// A position of a source connector.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceOffset {
    /// The connector's name.
    pub connector: String,
    /// Where it resumes.
    pub position: Position,
}

/// A source partition and the offset it gets; `None` removes it.
pub type SourceOffsetChange = (Map<String, Value>, Option<Map<String, Value>>);

/// What becomes durable together, or not at all.
#[derive(Debug, Clone, Default)]
pub struct AppendRequest {
    /// In order; batches of one partition keep it.
    pub batches: Vec<EncodedBatch>,
    /// The position that covers them.
    pub source_offset: Option<SourceOffset>,
}

impl AppendRequest {
    /// The request's size, for budgets. Units: bytes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.batches.iter().map(|batch| batch.bytes.len()).sum()
    }
}

/// Transactions of one source task, open to nobody else.
pub trait Transactions: Send + Sync {
    /// Appends in the open transaction, or begins one. An append with a source position ends it: everything since
    /// the last one becomes visible together. After an error nothing of the transaction does, and its
    /// appends are to be made again; one that ended a transaction and is made again is not written twice.
    ///
    /// Errors: those of [`Log::append`]; `Fatal` when somebody else has begun transactions under
    /// the same id: nothing is written any more.
    fn append(&self, request: AppendRequest) -> BoxFuture<'_, Result<Vec<i64>>>;
}

/// A batch as it stands in the log.
#[derive(Debug, Clone)]
pub struct StoredBatch {
    /// Where it stands.
    pub partition: TopicPartition,
    /// The offset of its first record.
    pub base_offset: i64,
    /// The offset of its last record. Compacted batches have gaps, so it is not
    /// `base_offset + records - 1` there.
    pub last_offset: i64,
    /// How many records it has.
    pub records: i32,
    /// The batch, header included, its base offset stamped.
    pub bytes: Bytes,
}

/// Whether the log can take records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHealth {
    /// Appends succeed.
    pub writable: bool,
    /// What is wrong and what mends it.
    pub message: Option<String>,
    /// What the log takes on disk.
    pub bytes: u64,
    /// What is left on its disk; `None`: unknown.
    pub free_bytes: Option<u64>,
}

/// A server that holds a part of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// Its id.
    pub id: i32,
    /// Where clients reach it.
    pub host: String,
    /// The port there.
    pub port: u16,
    /// It is the one that leads the cluster, as far as clients are told.
    pub controller: bool,
}

/// Topics, offsets and documents. Object-safe; used as `Arc<dyn Log>`.
///
/// Cancel safety: a dropped future of a reading method does nothing; one of a writing method
/// may or may not have been done.
pub trait Log: Send + Sync {
    /// Creates a topic; `false`: it existed and was left as it is.
    ///
    /// Errors: `Config` for a name or configuration that Kafka would refuse.
    fn create_topic<'a>(
        &'a self,
        name: &'a str,
        config: TopicConfig,
    ) -> BoxFuture<'a, Result<bool>>;

    /// Deletes a topic, its records and the groups' offsets in it; `false`: there was none.
    fn delete_topic<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>>;

    /// All topics, ordered by name.
    fn topics(&self) -> BoxFuture<'_, Result<Vec<TopicInfo>>>;

    /// One topic.
    fn topic<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<TopicInfo>>>;

    /// Appends batches and a source position in one transaction; gives the batches' base
    /// offsets in the request's order. Durable when it returns. Topics that do not exist are
    /// created with the log's default configuration.
    ///
    /// Errors: `Transient` when the disk is full or fails (nothing was written; [`Log::health`]
    /// says so until there is room), `Data` for a batch that the log cannot hold, `Config` for a
    /// partition that the topic does not have, `Fatal` when the file is damaged.
    fn append(&self, request: AppendRequest) -> BoxFuture<'_, Result<Vec<i64>>>;

    /// Whether records and positions become visible together only in [`Log::transactions`].
    fn needs_transactions(&self) -> bool {
        false
    }

    /// Begins transactions of a connector's task: whoever had them before can write no more, and
    /// what was open is undone. `timeout`: a transaction that is open for longer is undone.
    /// `None`: every append is a transaction already.
    ///
    /// Errors: those of [`Log::append`], `Auth`.
    fn transactions<'a>(
        &'a self,
        connector: &'a str,
        task: u32,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn Transactions>>>> {
        let _ = (connector, task, timeout);
        Box::pin(async { Ok(None) })
    }

    /// Reads batches from offsets on, in order within a partition: at least one if there is
    /// any, and no further one that passes `max_bytes`. With nothing to read it waits, up to
    /// `max_wait`. Topics that do not exist yet are waited for.
    ///
    /// The batch that contains an offset may begin before it: skip those records. An offset
    /// below the log's start (retention took the records) reads from the start: compare the
    /// first batch's `base_offset`.
    ///
    /// Errors: `Fatal` for an offset beyond the end, and for a damaged batch.
    fn fetch(
        &self,
        from: Vec<(TopicPartition, i64)>,
        max_bytes: usize,
        max_wait: Duration,
    ) -> BoxFuture<'_, Result<Vec<StoredBatch>>>;

    /// Stores a group's offsets: the next ones to read. Durable when it returns.
    fn commit_offsets<'a>(
        &'a self,
        group: &'a str,
        offsets: Vec<(TopicPartition, i64)>,
    ) -> BoxFuture<'a, Result<()>>;

    /// A group's offsets, ordered; empty for an unknown group.
    fn committed_offsets<'a>(
        &'a self,
        group: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(TopicPartition, i64)>>>;

    /// Removes a group's offsets: those of `partitions`, or all.
    fn delete_offsets<'a>(
        &'a self,
        group: &'a str,
        partitions: Option<Vec<TopicPartition>>,
    ) -> BoxFuture<'a, Result<()>>;

    /// The groups that have offsets, ordered.
    fn groups(&self) -> BoxFuture<'_, Result<Vec<String>>>;

    /// A source connector's positions, one for each source partition.
    fn source_offsets<'a>(&'a self, connector: &'a str) -> BoxFuture<'a, Result<Vec<Position>>>;

    /// Sets positions by source partition; `None` removes.
    fn set_source_offsets<'a>(
        &'a self,
        connector: &'a str,
        offsets: Vec<SourceOffsetChange>,
    ) -> BoxFuture<'a, Result<()>>;

    /// The log's documents.
    fn documents(&self) -> Arc<dyn DocumentStore>;

    /// Whether the log can take records.
    fn health(&self) -> LogHealth;

    /// The brokers that the cluster last told of, by id; none where this process holds the log itself.
    fn brokers(&self) -> Vec<Broker> {
        Vec::new()
    }
}
