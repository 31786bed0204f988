//! The structure of a topic's newest records, for mapping previews.

use std::{sync::Arc, time::Duration};

use lattice_codec::Decoder;
use lattice_core::{
    event::TableSchema,
    schema::{Field, Schema},
};
use lattice_log::{Log, RecordBatchReader, TopicPartition};

use crate::{
    error::{WorkerError, WorkerResult},
    feed::fetched_records,
};

/// The schema of rows and the names of the key's columns, by a topic's newest record.
///
/// Errors: `NotFound` for an unknown topic; `BadRequest` when it has no readable record.
pub(crate) async fn newest_structure(
    log: &dyn Log,
    mut decoder: Decoder,
    topic: &str,
) -> WorkerResult<(Schema, Vec<String>)> {
    let missing = || WorkerError::NotFound(format!("Topic {topic} not found"));
    let info = log.topic(topic).await?.ok_or_else(missing)?;
    let newest = |end: i64| (end - 1).max(0);
    let from: Vec<_> = info
        .partitions
        .iter()
        .filter(|partition| partition.end_offset > partition.log_start_offset)
        .map(|partition| {
            let place =
                TopicPartition { topic: Arc::clone(&info.name), partition: partition.partition };
            (place, newest(partition.end_offset))
        })
        .collect();
    let mut fetched = Vec::new();
    for batch in log.fetch(from, 1 << 20, Duration::ZERO).await? {
        let records = RecordBatchReader::new(&batch.bytes)?.read()?;
        fetched.push(fetched_records(&batch.partition, records, 0));
    }
    let decoded = decoder.decode(fetched).await?;
    match decoded.batch.tables.last() {
        Some((_, table)) => Ok(structure(table)),
        None => Err(WorkerError::BadRequest(format!(
            "topic {topic} has no record that tells its structure yet"
        ))),
    }
}

fn structure(table: &TableSchema) -> (Schema, Vec<String>) {
    let fields = table
        .columns
        .iter()
        .map(|column| Field::new(Arc::clone(&column.name), Arc::clone(&column.schema)))
        .collect();
    let key = table.key.iter().filter_map(|index| table.columns.get(*index));
    let key = key.map(|column| column.name.to_string()).collect();
    (Schema::structure(table.id.to_string(), fields), key)
}
