//! Old records: which batches go, by age and size.

use rusqlite::{Connection, params};

use super::catalog::Catalog;
use crate::log::{CleanupPolicy, PartitionInfo};

/// Batches deleted in one transaction, so that appends wait only moments.
const BATCHES_AT_ONCE: usize = 256;

/// What a pass deleted of one partition: its new state.
pub(crate) struct Trimmed {
    pub(crate) topic: std::sync::Arc<str>,
    pub(crate) info: PartitionInfo,
}

/// Deletes old batches from the heads of partitions, within the caller's transaction. Returns
/// what changed and whether more is to be deleted.
pub(crate) fn trim(
    connection: &Connection,
    catalog: &Catalog,
    now_ms: i64,
) -> rusqlite::Result<(Vec<Trimmed>, bool)> {
    let mut trimmed = Vec::new();
    let mut left = BATCHES_AT_ONCE;
    for (name, topic) in &catalog.topics {
        if topic.config.cleanup_policy == CleanupPolicy::Compact {
            continue;
        }
        let oldest = topic.config.retention_ms.map(|age| now_ms - age);
        let size = topic.config.retention_bytes.and_then(|bytes| u64::try_from(bytes).ok());
        for info in &topic.partitions {
            if left == 0 {
                return Ok((trimmed, true));
            }
            let kept = head(connection, topic.id, *info, oldest, size, &mut left)?;
            if kept.log_start_offset != info.log_start_offset {
                connection.execute(
                    "DELETE FROM batches WHERE topic = ? AND partition = ? AND last_offset < ?",
                    params![topic.id, info.partition, kept.log_start_offset],
                )?;
                connection.execute(
                    "UPDATE partitions SET log_start_offset = ? WHERE topic = ? AND partition = ?",
                    params![kept.log_start_offset, topic.id, info.partition],
                )?;
                trimmed.push(Trimmed { topic: std::sync::Arc::clone(name), info: kept });
            }
        }
    }
    Ok((trimmed, left == 0))
}

/// The partition's state once its too old or superfluous head is gone.
fn head(
    connection: &Connection,
    topic: i64,
    info: PartitionInfo,
    oldest_ms: Option<i64>,
    max_bytes: Option<u64>,
    left: &mut usize,
) -> rusqlite::Result<PartitionInfo> {
    let mut kept = info;
    let mut statement = connection.prepare_cached(
        "SELECT last_offset, records, max_timestamp, size FROM batches
         WHERE topic = ? AND partition = ? ORDER BY last_offset LIMIT ?",
    )?;
    let limit = i64::try_from(*left).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![topic, info.partition, limit])?;
    while let Some(row) = rows.next()? {
        let too_old = oldest_ms
            .is_some_and(|oldest| row.get::<_, i64>(2).is_ok_and(|newest| newest < oldest));
        // As Kafka: a batch goes only if what is left still has the size to be kept.
        let size = row.get::<_, i64>(3)?.try_into().unwrap_or(0);
        let too_much = max_bytes.is_some_and(|max| kept.bytes.saturating_sub(size) >= max);
        if !too_old && !too_much {
            break;
        }
        kept.log_start_offset = row.get::<_, i64>(0)? + 1;
        kept.records = kept.records.saturating_sub(row.get::<_, i64>(1)?.try_into().unwrap_or(0));
        kept.bytes = kept.bytes.saturating_sub(size);
        *left -= 1;
    }
    Ok(kept)
}
