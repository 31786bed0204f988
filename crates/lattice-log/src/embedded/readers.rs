//! Reads on connections of their own: WAL snapshots, never in the writer's way.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use lattice_core::{Error, Result};
use rusqlite::{Connection, params};
use tokio::sync::Semaphore;

use super::{catalog::Readable, errors, file};
use crate::log::{StoredBatch, TopicPartition};

/// Idle connections beyond this are closed.
const IDLE: usize = 4;

/// Reads that run at once; more wait.
const AT_ONCE: usize = 8;

/// A pool of read connections.
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    turns: Semaphore,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Vec::new()), turns: Semaphore::new(AT_ONCE) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a read on a thread where blocking is allowed.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let closed = || Error::transient("the log is closed");
        let _turn = self.turns.acquire().await.map_err(|_| closed())?;
        let readers = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || readers.read(read)).await;
        done.map_err(|error| Error::fatal("a read of the log panicked").with_source(error))?
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let idle = self.lock_idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => file::open_reader(&self.path)?,
        };
        let result = read(&connection).map_err(|error| errors::read(&self.path, error))?;
        let mut idle = self.lock_idle();
        if idle.len() < IDLE && !self.turns.is_closed() {
            idle.push(connection);
        }
        Ok(result)
    }

    /// Refuses further reads and closes the idle connections.
    pub(crate) fn close(&self) {
        self.turns.close();
        self.lock_idle().clear();
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Batches from the wanted places: in turn, so that no partition starves another, until
/// `max_bytes` are reached; at least one.
pub(crate) fn batches(
    connection: &Connection,
    wanted: &[Readable],
    max_bytes: usize,
) -> rusqlite::Result<Vec<StoredBatch>> {
    let share = (max_bytes / wanted.len().max(1)).max(1);
    let mut found = Vec::new();
    let mut total = 0;
    for place in wanted {
        let left = max_bytes.saturating_sub(total);
        if left == 0 {
            break;
        }
        total += batches_of(connection, place, share, left, &mut found)?;
    }
    Ok(found)
}

/// Reads of one partition at least one batch, then what stays within its share; gives their size.
fn batches_of(
    connection: &Connection,
    place: &Readable,
    share: usize,
    left: usize,
    found: &mut Vec<StoredBatch>,
) -> rusqlite::Result<usize> {
    // The blob is the last column: it is not touched before it is asked for.
    let mut statement = connection.prepare_cached(
        "SELECT base_offset, last_offset, records, size, bytes FROM batches
         WHERE topic = ? AND partition = ? AND last_offset >= ? AND last_offset < ?
         ORDER BY last_offset",
    )?;
    let partition = place.partition.partition;
    let mut rows = statement.query(params![place.topic_id, partition, place.offset, place.end])?;
    let mut taken = 0_usize;
    while let Some(row) = rows.next()? {
        let size = usize::try_from(row.get::<_, i64>(3)?).unwrap_or(usize::MAX);
        let limit = if taken == 0 { left } else { share.min(left) };
        if !found.is_empty() && taken.saturating_add(size) > limit {
            break;
        }
        let base_offset: i64 = row.get(0)?;
        let mut bytes: Vec<u8> = row.get(4)?;
        if let Some(stamp) = bytes.first_chunk_mut() {
            *stamp = base_offset.to_be_bytes();
        }
        taken += bytes.len();
        found.push(StoredBatch {
            partition: place.partition.clone(),
            base_offset,
            last_offset: row.get(1)?,
            records: row.get(2)?,
            bytes: Bytes::from(bytes),
        });
    }
    Ok(taken)
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
    let mut statement = connection
        .prepare_cached("SELECT DISTINCT consumer_group FROM consumer_offsets ORDER BY 1")?;
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
    let rows = statement
        .query_map([namespace], |row| Ok((row.get(0)?, Bytes::from(row.get::<_, Vec<u8>>(1)?))))?;
    rows.collect()
}
