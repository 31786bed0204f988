//! The one writer: takes requests from a queue bounded in bytes, writes all that wait in one
//! transaction, and answers when it is on disk.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use lattice_core::{Error, Result};
use rusqlite::{Connection, params};
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{
    EmbeddedOptions, Shared,
    catalog::{self, Catalog},
    errors, file,
    retention::{self, Trimmed},
};
use crate::model::{AppendRequest, PartitionInfo, TopicConfig, TopicPartition};

/// Requests that may wait, besides the limit in bytes.
const QUEUE: usize = 1024;

/// What is written in one transaction at most, so that its end comes soon. Units: bytes.
const TRANSACTION_BYTES: usize = 32 << 20;

/// A change to the log.
pub(crate) enum Change {
    Append(AppendRequest),
    CreateTopic { name: String, config: TopicConfig },
    DeleteTopic { name: String },
    CommitOffsets { group: String, offsets: Vec<(TopicPartition, i64)> },
    DeleteOffsets { group: String, partitions: Option<Vec<TopicPartition>> },
    SetSourceOffsets { connector: String, offsets: Vec<(Map<String, Value>, Option<Map<String, Value>>)> },
    PutDocuments { namespace: String, documents: Vec<(String, Option<Bytes>)> },
    Close,
}

impl Change {
    /// What it takes in the queue. Units: bytes.
    fn weight(&self) -> usize {
        match self {
            Self::Append(request) => request.batches.iter().map(|batch| batch.bytes.len()).sum(),
            Self::PutDocuments { documents, .. } => documents
                .iter()
                .map(|(key, bytes)| key.len() + bytes.as_ref().map_or(0, Bytes::len))
                .sum(),
            Self::CreateTopic { .. }
            | Self::DeleteTopic { .. }
            | Self::CommitOffsets { .. }
            | Self::DeleteOffsets { .. }
            | Self::SetSourceOffsets { .. }
            | Self::Close => 64,
        }
    }
}

struct Request {
    change: Change,
    weight: usize,
    answer: oneshot::Sender<Result<Vec<i64>>>,
    _permit: OwnedSemaphorePermit,
}

/// The way to the writer.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Request>,
    bytes: Arc<Semaphore>,
    limit: usize,
}

impl Writer {
    /// Hands a change over and waits until it is durable. For an append: the base offsets; for
    /// making and deleting a topic: 1 when it was done, else 0.
    pub(crate) async fn send(&self, change: Change) -> Result<Vec<i64>> {
        let closed = || Error::transient("the log is closed");
        let weight = change.weight();
        // One request larger than the queue passes alone.
        let permits = u32::try_from(weight.clamp(1, self.limit)).unwrap_or(u32::MAX);
        let bytes = Arc::clone(&self.bytes);
        let permit = bytes.acquire_many_owned(permits).await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let request = Request { change, weight, answer, _permit: permit };
        self.queue.send(request).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Asks the writer to end after what waits.
    pub(crate) async fn close(&self) {
        // Refused means that it has ended already.
        self.send(Change::Close).await.ok();
    }
}

/// Starts the writer's thread.
pub(crate) fn start(
    connection: Connection,
    path: PathBuf,
    shared: Arc<Shared>,
    options: &EmbeddedOptions,
) -> Result<(Writer, JoinHandle<()>)> {
    let (queue, requests) = mpsc::channel(QUEUE);
    let limit = options.queue_bytes.clamp(1 << 20, u32::MAX as usize >> 4);
    let writer = Writer { queue, bytes: Arc::new(Semaphore::new(limit)), limit };
    let mut state = State {
        catalog: shared.catalog.read(Catalog::clone),
        connection,
        path,
        shared,
        default_topic: options.default_topic.clone(),
        next_retention: Instant::now() + options.retention_check,
        retention_check: options.retention_check,
    };
    let thread = thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || state.run(requests))
        .map_err(|error| Error::transient("start the log's writer thread").with_source(error))?;
    Ok((writer, thread))
}

struct State {
    connection: Connection,
    path: PathBuf,
    shared: Arc<Shared>,
    /// As the open transaction has it; a failed one takes it back from the shared catalog.
    catalog: Catalog,
    default_topic: TopicConfig,
    retention_check: Duration,
    next_retention: Instant,
}

impl State {
    fn run(&mut self, mut requests: mpsc::Receiver<Request>) {
        while let Some(first) = requests.blocking_recv() {
            let mut waiting = vec![first];
            let mut bytes = waiting[0].weight;
            while bytes < TRANSACTION_BYTES
                && let Ok(next) = requests.try_recv()
            {
                bytes += next.weight;
                waiting.push(next);
            }
            let close = waiting.iter().any(|request| matches!(request.change, Change::Close));
            self.commit(waiting);
            if close {
                break;
            }
            if Instant::now() >= self.next_retention {
                self.retain();
            }
        }
        // What waits is answered by dropping it: "the log is closed".
        drop(requests);
        let checkpoint = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        if let Err(error) = checkpoint {
            tracing::warn!(%error, "move the write-ahead log into the log file");
        }
    }

    fn commit(&mut self, requests: Vec<Request>) {
        match self.transaction(&requests) {
            Ok(answers) => {
                let catalog = self.catalog.clone();
                self.shared.catalog.publish(|shared| *shared = catalog);
                self.settle(None);
                self.shared.commits.send_modify(|count| *count += 1);
                for (request, answer) in requests.into_iter().zip(answers) {
                    // The asker may have gone; what was written stays.
                    request.answer.send(Ok(answer)).ok();
                }
            }
            Err(error) => {
                self.undo();
                let error = errors::write(&self.path, file::free_bytes(&self.shared.folder), error);
                self.settle(Some(error.chain()));
                for request in requests {
                    request.answer.send(Err(again(&error))).ok();
                }
            }
        }
    }

    /// Remembers whether the log can be written, and says so when that changes.
    fn settle(&self, trouble: Option<String>) {
        let mut current = self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*current, &trouble) {
            (None, Some(error)) => tracing::error!(%error, "the log cannot be written"),
            (Some(_), None) => tracing::info!("the log can be written again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        *current = trouble;
    }

    fn undo(&mut self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "roll back a failed transaction of the log");
        }
        self.catalog = self.shared.catalog.read(Catalog::clone);
    }

    fn transaction(&mut self, requests: &[Request]) -> rusqlite::Result<Vec<Vec<i64>>> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            answers.push(self.apply(&request.change)?);
        }
        self.connection.execute_batch("COMMIT")?;
        Ok(answers)
    }

    fn apply(&mut self, change: &Change) -> rusqlite::Result<Vec<i64>> {
        match change {
            Change::Append(request) => return self.append(request),
            Change::CreateTopic { name, config } => {
                if self.catalog.topics.contains_key(name.as_str()) {
                    return Ok(vec![0]);
                }
                self.create_topic(name, config.clone())?;
                return Ok(vec![1]);
            }
            Change::DeleteTopic { name } => return self.delete_topic(name),
            Change::CommitOffsets { group, offsets } => {
                let mut statement = self.connection.prepare_cached(
                    "INSERT OR REPLACE INTO consumer_offsets VALUES (?, ?, ?, ?)",
                )?;
                for (place, offset) in offsets {
                    statement.execute(params![group, &*place.topic, place.partition, offset])?;
                }
            }
            Change::DeleteOffsets { group, partitions: None } => {
                self.connection
                    .execute("DELETE FROM consumer_offsets WHERE consumer_group = ?", [group])?;
            }
            Change::DeleteOffsets { group, partitions: Some(places) } => {
                for place in places {
                    self.connection.execute(
                        "DELETE FROM consumer_offsets
                         WHERE consumer_group = ? AND topic = ? AND partition = ?",
                        params![group, &*place.topic, place.partition],
                    )?;
                }
            }
            Change::SetSourceOffsets { connector, offsets } => {
                for (partition, offset) in offsets {
                    self.set_source_offset(connector, partition, offset.as_ref())?;
                }
            }
            Change::PutDocuments { namespace, documents } => {
                for (name, bytes) in documents {
                    match bytes {
                        Some(bytes) => self.connection.execute(
                            "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)",
                            params![namespace, name, &bytes[..]],
                        )?,
                        None => self.connection.execute(
                            "DELETE FROM documents WHERE namespace = ? AND name = ?",
                            params![namespace, name],
                        )?,
                    };
                }
            }
            Change::Close => {}
        }
        Ok(Vec::new())
    }

    fn append(&mut self, request: &AppendRequest) -> rusqlite::Result<Vec<i64>> {
        let mut offsets = Vec::with_capacity(request.batches.len());
        for batch in &request.batches {
            if !self.catalog.topics.contains_key(&batch.topic) {
                let config = TopicConfig {
                    partitions: self.default_topic.partitions.max(batch.partition + 1),
                    ..self.default_topic.clone()
                };
                self.create_topic(&batch.topic, config)?;
            }
            let Some(topic) = self.catalog.topics.get_mut(&batch.topic) else { continue };
            let index = usize::try_from(batch.partition).unwrap_or(0);
            while topic.partitions.len() <= index {
                // A producer that knows of more partitions than the topic had makes them.
                let partition = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
                topic.partitions.push(PartitionInfo { partition, ..PartitionInfo::default() });
                topic.config.partitions = partition + 1;
                self.connection.execute(
                    "UPDATE topics SET partitions = ? WHERE id = ?",
                    params![topic.config.partitions, topic.id],
                )?;
            }
            let info = &mut topic.partitions[index];
            let base = info.end_offset;
            let last = base + i64::from(batch.records) - 1;
            let size = i64::try_from(batch.bytes.len()).unwrap_or(i64::MAX);
            self.connection
                .prepare_cached("INSERT INTO batches (topic, partition, base_offset, last_offset, records, max_timestamp, size, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?
                .execute(params![
                    topic.id, batch.partition, base, last, batch.records,
                    batch.max_timestamp_ms, size, &batch.bytes[..]
                ])?;
            self.connection
                .prepare_cached("INSERT INTO partitions VALUES (?1, ?2, ?3, ?4) ON CONFLICT (topic, partition) DO UPDATE SET end_offset = ?4")?
                .execute(params![topic.id, batch.partition, info.log_start_offset, last + 1])?;
            info.end_offset = last + 1;
            info.bytes += batch.bytes.len() as u64;
            info.records += u64::try_from(batch.records).unwrap_or(0);
            offsets.push(base);
        }
        if let Some(source) = &request.source_offset {
            let position = &source.position;
            self.set_source_offset(&source.connector, &position.partition, Some(&position.offset))?;
        }
        Ok(offsets)
    }

    fn set_source_offset(
        &self,
        connector: &str,
        partition: &Map<String, Value>,
        offset: Option<&Map<String, Value>>,
    ) -> rusqlite::Result<()> {
        let text = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
        match offset {
            Some(offset) => self
                .connection
                .prepare_cached("INSERT OR REPLACE INTO source_offsets VALUES (?, ?, ?)")?
                .execute(params![connector, text(partition), text(offset)])?,
            None => self
                .connection
                .prepare_cached("DELETE FROM source_offsets WHERE connector = ? AND source_partition = ?")?
                .execute(params![connector, text(partition)])?,
        };
        Ok(())
    }

    fn create_topic(&mut self, name: &str, config: TopicConfig) -> rusqlite::Result<()> {
        self.connection.execute(
            "INSERT INTO topics (name, partitions, cleanup_policy, retention_ms, retention_bytes)
             VALUES (?, ?, ?, ?, ?)",
            params![
                name,
                config.partitions,
                config.cleanup_policy.as_str(),
                config.retention_ms,
                config.retention_bytes
            ],
        )?;
        let id = self.connection.last_insert_rowid();
        let partitions = (0..config.partitions)
            .map(|partition| PartitionInfo { partition, ..PartitionInfo::default() })
            .collect();
        let topic = catalog::Topic { id, config, partitions };
        self.catalog.topics.insert(name.into(), topic);
        Ok(())
    }

    fn delete_topic(&mut self, name: &str) -> rusqlite::Result<Vec<i64>> {
        let Some(topic) = self.catalog.topics.remove(name) else { return Ok(vec![0]) };
        for statement in [
            "DELETE FROM batches WHERE topic = ?",
            "DELETE FROM partitions WHERE topic = ?",
            "DELETE FROM topics WHERE id = ?",
        ] {
            self.connection.execute(statement, [topic.id])?;
        }
        // A topic made anew under the name begins at offset 0, where old offsets mean nothing.
        self.connection.execute("DELETE FROM consumer_offsets WHERE topic = ?", [name])?;
        Ok(vec![1])
    }

    /// One pass of retention; another follows soon when there is more to do.
    fn retain(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let more = match self.trim(now_ms) {
            Ok((trimmed, more)) => {
                for Trimmed { topic, info } in trimmed {
                    let slot = usize::try_from(info.partition).unwrap_or(usize::MAX);
                    if let Some(topic) = self.catalog.topics.get_mut(&topic)
                        && let Some(partition) = topic.partitions.get_mut(slot)
                    {
                        *partition = info;
                    }
                }
                let catalog = self.catalog.clone();
                self.shared.catalog.publish(|shared| *shared = catalog);
                more
            }
            Err(error) => {
                self.undo();
                let error = errors::write(Path::new(&self.path), None, error);
                tracing::warn!(error = %error.chain(), "delete old records of the log");
                false
            }
        };
        let pause = if more { Duration::ZERO } else { self.retention_check };
        self.next_retention = Instant::now() + pause;
    }

    fn trim(&mut self, now_ms: i64) -> rusqlite::Result<(Vec<Trimmed>, bool)> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let result = retention::trim(&self.connection, &self.catalog, now_ms)?;
        self.connection.execute_batch("COMMIT")?;
        Ok(result)
    }
}

/// The same error for each of the requests that shared the transaction.
fn again(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.to_string());
    match error.remedy() {
        Some(remedy) => copy.with_remedy(remedy),
        None => copy,
    }
}
