//! Reads on connections of their own: WAL snapshots, never in the writer's way.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use lattice_core::Result;
use rusqlite::{Connection, params};

use super::{catalog::Readable, errors, file};
use crate::model::{StoredBatch, TopicPartition};

/// Idle connections beyond this are closed.
const IDLE: usize = 4;

/// A pool of read connections.
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Vec::new()) }
    }

    /// Runs a read. Blocks: call it where that is allowed.
    pub(crate) fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => file::open_reader(&self.path)?,
        };
        let result = read(&connection).map_err(|error| errors::read(&self.path, error))?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.push(connection);
        }
        Ok(result)
    }
}

/// Batches from the wanted places: in turn, so that no partition starves another, until
/// `max_bytes` are reached; at least one.
pub(crate) fn batches(
    connection: &Connection,
    wanted: &[Readable],
    max_bytes: usize,
) -> rusqlite::Result<Vec<StoredBatch>> {
    let mut statement = connection.prepare_cached(
        "SELECT base_offset, records, bytes, size FROM batches
         WHERE topic = ? AND partition = ? AND last_offset >= ? ORDER BY last_offset",
    )?;
    let share = (max_bytes / wanted.len().max(1)).max(1);
    let mut found = Vec::new();
    let mut total = 0;
    for place in wanted {
        let mut rows =
            statement.query(params![place.topic_id, place.partition.partition, place.offset])?;
        let mut taken = 0;
        while taken < share && (total < max_bytes || taken == 0) {
            let Some(row) = rows.next()? else { break };
            let base_offset: i64 = row.get(0)?;
            let mut bytes: Vec<u8> = row.get(2)?;
            crate::record_batch::stamp_base_offset(&mut bytes, base_offset);
            taken += bytes.len();
            total += bytes.len();
            found.push(StoredBatch {
                partition: place.partition.clone(),
                base_offset,
                records: row.get(1)?,
                bytes: Bytes::from(bytes),
            });
        }
        if total >= max_bytes {
            break;
        }
    }
    Ok(found)
}

pub(crate) fn committed_offsets(
    connection: &Connection,
    group: &str,
) -> rusqlite::Result<Vec<(TopicPartition, i64)>> {
    let mut statement = connection.prepare_cached(
        "SELECT topic, partition, next_offset FROM consumer_offsets WHERE consumer_group = ?
         ORDER BY topic, partition",
    )?;
    let rows = statement.query_map([group], |row| {
        let topic: Arc<str> = row.get::<_, String>(0)?.into();
        Ok((TopicPartition { topic, partition: row.get(1)? }, row.get(2)?))
    })?;
    rows.collect()
}

pub(crate) fn groups(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare_cached("SELECT DISTINCT consumer_group FROM consumer_offsets")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

pub(crate) fn source_offsets(
    connection: &Connection,
    connector: &str,
) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = connection.prepare_cached(
        "SELECT source_partition, source_offset FROM source_offsets WHERE connector = ?
         ORDER BY source_partition",
    )?;
    let rows = statement.query_map([connector], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

pub(crate) fn documents(
    connection: &Connection,
    namespace: &str,
) -> rusqlite::Result<Vec<(String, Bytes)>> {
    let mut statement = connection
        .prepare_cached("SELECT name, bytes FROM documents WHERE namespace = ? ORDER BY name")?;
    let rows = statement.query_map([namespace], |row| {
        Ok((row.get(0)?, Bytes::from(row.get::<_, Vec<u8>>(1)?)))
    })?;
    rows.collect()
}
