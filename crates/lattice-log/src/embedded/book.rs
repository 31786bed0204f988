//! What is written: each change applied to the file and to the catalog, within a transaction.

use std::{collections::BTreeSet, sync::Arc};

use lattice_core::Error;
use rusqlite::{Connection, params};
use serde_json::{Map, Value};

use super::{
    catalog::{self, Catalog, SharedCatalog, Topic},
    retention,
    writer::Change,
};
use crate::{
    log::{AppendRequest, EncodedBatch, TopicConfig},
    record_batch::HEADER_BYTES,
};

/// SQLite's limit of a value, less what else stands in its row. Units: bytes.
const MAX_BATCH_BYTES: usize = 1_000_000_000 - 4096;

/// Why a change was not applied.
pub(crate) enum Failure {
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// The change itself cannot be.
    Refused(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

type Answer = Result<Vec<i64>, Failure>;

/// The file and the catalog as the open transaction has them.
pub(crate) struct Book {
    connection: Connection,
    catalog: Catalog,
    /// Topics that the open transaction changed.
    touched: BTreeSet<Arc<str>>,
    default_topic: TopicConfig,
}

impl Book {
    pub(crate) fn new(
        connection: Connection,
        catalog: Catalog,
        default_topic: TopicConfig,
    ) -> Self {
        Self { connection, catalog, touched: BTreeSet::new(), default_topic }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn begin(&mut self) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")
    }

    /// Commits, and shows readers what changed.
    pub(crate) fn commit(&mut self, shared: &SharedCatalog) -> rusqlite::Result<()> {
        self.connection.execute_batch("COMMIT")?;
        let (touched, catalog) = (std::mem::take(&mut self.touched), &self.catalog);
        shared.publish(|shown| move_topics(&touched, catalog, shown));
        Ok(())
    }

    /// Takes back what the open transaction did.
    pub(crate) fn undo(&mut self, shared: &SharedCatalog) {
        // SQLite ends the transaction by itself after some errors.
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "rolling back a transaction of the log failed");
        }
        let touched = std::mem::take(&mut self.touched);
        let catalog = &mut self.catalog;
        shared.read(|shown| move_topics(&touched, shown, catalog));
    }

    /// Deletes old batches; says whether there are more.
    pub(crate) fn trim(&mut self, now_ms: i64) -> rusqlite::Result<bool> {
        let (trimmed, more) = retention::trim(&self.connection, &self.catalog, now_ms)?;
        for retention::Trimmed { topic, info } in trimmed {
            let slot = usize::try_from(info.partition).unwrap_or(usize::MAX);
            let kept = self.catalog.topics.get_mut(&topic);
            if let Some(partition) = kept.and_then(|topic| topic.partitions.get_mut(slot)) {
                *partition = info;
            }
            self.touched.insert(topic);
        }
        Ok(more)
    }

    pub(crate) fn apply(&mut self, change: &Change) -> Answer {
        match change {
            Change::Append(request) => return self.append(request),
            Change::CreateTopic { name, config } => {
                if self.catalog.topics.contains_key(name.as_str()) {
                    return Ok(vec![0]);
                }
                self.create_topic(name.as_str().into(), config.clone())?;
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
            Change::DeleteOffsets { group, partitions } => {
                self.delete_offsets(group, partitions.as_deref())?;
            }
            Change::SetSourceOffsets { connector, offsets } => {
                for (partition, offset) in offsets {
                    self.set_source_offset(connector, partition, offset.as_ref())?;
                }
            }
            Change::PutDocuments { namespace, documents } => {
                for (name, bytes) in documents {
                    self.put_document(namespace, name, bytes.as_deref())?;
                }
            }
            Change::Close => {}
        }
        Ok(Vec::new())
    }

    fn append(&mut self, request: &AppendRequest) -> Answer {
        let mut offsets = Vec::with_capacity(request.batches.len());
        for batch in &request.batches {
            if !self.catalog.topics.contains_key(&batch.topic) {
                catalog::check_name(&batch.topic)?;
                self.create_topic(Arc::clone(&batch.topic), self.default_topic.clone())?;
            }
            offsets.push(self.append_batch(batch)?);
        }
        if let Some(source) = &request.source_offset {
            let position = &source.position;
            self.set_source_offset(&source.connector, &position.partition, Some(&position.offset))?;
        }
        Ok(offsets)
    }

    /// Appends to a topic that is there; gives the base offset.
    fn append_batch(&mut self, batch: &EncodedBatch) -> Result<i64, Failure> {
        check_batch(batch)?;
        let Some(topic) = self.catalog.topics.get_mut(&batch.topic) else {
            return Err(Error::fatal(format!("topic {} vanished", batch.topic)).into());
        };
        let slot = usize::try_from(batch.partition).unwrap_or(usize::MAX);
        let Some(info) = topic.partitions.get_mut(slot) else {
            return Err(no_partition(batch, &topic.config).into());
        };
        let base = info.end_offset;
        let last = base + i64::from(batch.records) - 1;
        let size = batch.bytes.len() as i64;
        self.connection
            .prepare_cached(
                "INSERT INTO batches
                 (topic, partition, base_offset, last_offset, records, max_timestamp, size, bytes)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                topic.id,
                batch.partition,
                base,
                last,
                batch.records,
                batch.max_timestamp_ms,
                size,
                &batch.bytes[..]
            ])?;
        self.connection
            .prepare_cached(
                "INSERT INTO partitions VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (topic, partition) DO UPDATE SET end_offset = ?4",
            )?
            .execute(params![topic.id, batch.partition, info.log_start_offset, last + 1])?;
        info.end_offset = last + 1;
        info.bytes += batch.bytes.len() as u64;
        info.records += u64::from(batch.records.unsigned_abs());
        if !self.touched.contains(&batch.topic) {
            self.touched.insert(Arc::clone(&batch.topic));
        }
        Ok(base)
    }

    fn set_source_offset(
        &self,
        connector: &str,
        partition: &Map<String, Value>,
        offset: Option<&Map<String, Value>>,
    ) -> rusqlite::Result<()> {
        let partition = canonical(partition);
        match offset {
            Some(offset) => self
                .connection
                .prepare_cached("INSERT OR REPLACE INTO source_offsets VALUES (?, ?, ?)")?
                .execute(params![
                    connector,
                    partition,
                    Value::Object(offset.clone()).to_string()
                ])?,
            None => self
                .connection
                .prepare_cached(
                    "DELETE FROM source_offsets WHERE connector = ? AND source_partition = ?",
                )?
                .execute(params![connector, partition])?,
        };
        Ok(())
    }

    fn delete_offsets(
        &self,
        group: &str,
        partitions: Option<&[crate::log::TopicPartition]>,
    ) -> rusqlite::Result<()> {
        let Some(places) = partitions else {
            let all = "DELETE FROM consumer_offsets WHERE consumer_group = ?";
            return self.connection.execute(all, [group]).map(drop);
        };
        for place in places {
            self.connection.execute(
                "DELETE FROM consumer_offsets
                 WHERE consumer_group = ? AND topic = ? AND partition = ?",
                params![group, &*place.topic, place.partition],
            )?;
        }
        Ok(())
    }

    fn put_document(
        &self,
        namespace: &str,
        name: &str,
        bytes: Option<&[u8]>,
    ) -> rusqlite::Result<()> {
        match bytes {
            Some(bytes) => self.connection.execute(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)",
                params![namespace, name, bytes],
            ),
            None => self.connection.execute(
                "DELETE FROM documents WHERE namespace = ? AND name = ?",
                params![namespace, name],
            ),
        }
        .map(drop)
    }

    fn create_topic(&mut self, name: Arc<str>, config: TopicConfig) -> rusqlite::Result<()> {
        self.connection.execute(
            "INSERT INTO topics (name, partitions, cleanup_policy, retention_ms, retention_bytes)
             VALUES (?, ?, ?, ?, ?)",
            params![
                &*name,
                config.partitions,
                config.cleanup_policy.as_str(),
                config.retention_ms,
                config.retention_bytes
            ],
        )?;
        let id = self.connection.last_insert_rowid();
        self.touched.insert(Arc::clone(&name));
        self.catalog.topics.insert(name, Topic::new(id, config));
        Ok(())
    }

    fn delete_topic(&mut self, name: &str) -> Answer {
        let Some((name, topic)) = self.catalog.topics.remove_entry(name) else {
            return Ok(vec![0]);
        };
        self.touched.insert(Arc::clone(&name));
        for statement in [
            "DELETE FROM batches WHERE topic = ?",
            "DELETE FROM partitions WHERE topic = ?",
            "DELETE FROM topics WHERE id = ?",
        ] {
            self.connection.execute(statement, [topic.id])?;
        }
        // A topic made anew under the name begins at offset 0, where old offsets mean nothing.
        self.connection.execute("DELETE FROM consumer_offsets WHERE topic = ?", [&*name])?;
        Ok(vec![1])
    }
}

/// Makes `to` hold the touched topics as `from` has them.
fn move_topics(touched: &BTreeSet<Arc<str>>, from: &Catalog, to: &mut Catalog) {
    for name in touched {
        match from.topics.get(name) {
            Some(topic) => {
                to.topics.insert(Arc::clone(name), topic.clone());
            }
            None => {
                to.topics.remove(name);
            }
        }
    }
}

fn check_batch(batch: &EncodedBatch) -> Result<(), Error> {
    if batch.records < 1 || batch.bytes.len() <= HEADER_BYTES {
        return Err(Error::fatal(format!("a record batch for topic {} is empty", batch.topic)));
    }
    if batch.bytes.len() > MAX_BATCH_BYTES {
        let message = format!(
            "a record batch of topic {} has {} bytes after compression, the embedded log holds \
             {MAX_BATCH_BYTES}",
            batch.topic,
            batch.bytes.len()
        );
        return Err(Error::data(message).with_remedy(
            "exclude the column that holds the value, shorten it, or use Kafka as the log",
        ));
    }
    Ok(())
}

fn no_partition(batch: &EncodedBatch, config: &TopicConfig) -> Error {
    Error::config(format!(
        "topic {} has no partition {}: it has {}",
        batch.topic, batch.partition, config.partitions
    ))
    .with_remedy(
        "delete the topic and make it anew with enough partitions, or choose one of its own",
    )
}

/// A source partition as the key of its row: with sorted fields, since their order means nothing.
fn canonical(partition: &Map<String, Value>) -> String {
    let mut sorted = Value::Object(partition.clone());
    sorted.sort_all_objects();
    sorted.to_string()
}
