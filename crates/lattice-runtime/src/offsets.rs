//! Offsets as KIP-875 shows and changes them.

use std::sync::Arc;

use lattice_core::{config::Config, position::Position};
use lattice_log::TopicPartition;
use serde_json::{Map, Value, json};

use crate::{
    connector::Connector,
    error::{WorkerError, WorkerResult},
    model::{InitialState, OffsetEntry},
    plugins::Plugin,
    worker::Shared,
};

/// The consumer group of a sink.
pub(crate) fn group(name: &str, config: &Config) -> String {
    match config.get("consumer.override.group.id") {
        Some(group) if !group.trim().is_empty() => group.trim().to_owned(),
        _ => format!("connect-{name}"),
    }
}

pub(crate) async fn list(shared: &Shared, connector: &Connector) -> WorkerResult<Vec<OffsetEntry>> {
    let config = connector.config();
    match shared.plugins.of(&config)? {
        Plugin::Source(_) => {
            let positions = shared.log.source_offsets(&connector.name).await?;
            Ok(positions.into_iter().map(source_entry).collect())
        }
        Plugin::Sink(_) => {
            let offsets = shared.log.committed_offsets(&group(&connector.name, &config)).await?;
            Ok(offsets
                .into_iter()
                .map(|(partition, offset)| sink_entry(&partition, offset))
                .collect())
        }
    }
}

fn source_entry(position: Position) -> OffsetEntry {
    OffsetEntry { partition: position.partition, offset: Some(position.offset) }
}

fn sink_entry(partition: &TopicPartition, offset: i64) -> OffsetEntry {
    let map = |pairs: Vec<(&str, Value)>| {
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>()
    };
    OffsetEntry {
        partition: map(vec![
            ("kafka_topic", json!(&*partition.topic)),
            ("kafka_partition", json!(partition.partition)),
        ]),
        offset: Some(map(vec![("kafka_offset", json!(offset))])),
    }
}

pub(crate) async fn alter(
    shared: &Shared,
    connector: &Connector,
    entries: Vec<OffsetEntry>,
) -> WorkerResult<()> {
    if entries.is_empty() {
        return Err(WorkerError::BadRequest(
            "Partitions / offsets need to be provided for an alter offsets request".to_owned(),
        ));
    }
    refuse_unstopped(connector)?;
    let config = connector.config();
    match shared.plugins.of(&config)? {
        Plugin::Source(source) => {
            let mut changes = Vec::with_capacity(entries.len());
            for entry in entries {
                if let Some(offset) = entry.offset.clone() {
                    source
                        .check_position(&Position { partition: entry.partition.clone(), offset })?;
                }
                changes.push((entry.partition, entry.offset));
            }
            Ok(shared.log.set_source_offsets(&connector.name, changes).await?)
        }
        Plugin::Sink(sink) => {
            let group = group(&connector.name, &config);
            let (mut set, mut removed) = (Vec::new(), Vec::new());
            for entry in &entries {
                let partition = sink_partition(&entry.partition)?;
                refuse_unknown(shared, &partition).await?;
                match &entry.offset {
                    Some(offset) => set.push((partition, sink_offset(offset)?)),
                    None => removed.push(partition),
                }
            }
            let set_change = set.iter().map(|(place, next)| (place, Some(*next)));
            let changes = set_change.chain(removed.iter().map(|place| (place, None)));
            let changes = changes
                .map(|(place, next)| (Arc::clone(&place.topic), place.partition, next))
                .collect();
            let resolved = shared.providers.resolve(&config)?;
            sink.alter_offsets(&connector.name, &resolved, Some(changes)).await?;
            if !set.is_empty() {
                shared.log.commit_offsets(&group, set).await?;
            }
            if !removed.is_empty() {
                shared.log.delete_offsets(&group, Some(removed)).await?;
            }
            Ok(())
        }
    }
}

pub(crate) async fn reset(shared: &Shared, connector: &Connector) -> WorkerResult<()> {
    refuse_unstopped(connector)?;
    let config = connector.config();
    match shared.plugins.of(&config)? {
        Plugin::Source(_) => {
            let known = shared.log.source_offsets(&connector.name).await?;
            let removals = known.into_iter().map(|position| (position.partition, None)).collect();
            Ok(shared.log.set_source_offsets(&connector.name, removals).await?)
        }
        Plugin::Sink(sink) => {
            let group = group(&connector.name, &config);
            let resolved = shared.providers.resolve(&config)?;
            sink.alter_offsets(&connector.name, &resolved, None).await?;
            Ok(shared.log.delete_offsets(&group, None).await?)
        }
    }
}

fn refuse_unstopped(connector: &Connector) -> WorkerResult<()> {
    if connector.target() == InitialState::Stopped && connector.status().tasks.is_empty() {
        return Ok(());
    }
    Err(WorkerError::BadRequest(format!(
        "Connectors must be in the STOPPED state before their offsets can be modified. This can \
         be done for the specified connector by issuing a 'PUT' request to the \
         '/connectors/{}/stop' endpoint",
        connector.name
    )))
}

/// An offset of a topic that is not there would never be read, and never be seen.
async fn refuse_unknown(shared: &Shared, place: &TopicPartition) -> WorkerResult<()> {
    let topic = shared.log.topic(&place.topic).await?;
    let partitions = topic.map(|topic| topic.config.partitions);
    if partitions.is_some_and(|partitions| place.partition < partitions) {
        return Ok(());
    }
    let what = match partitions {
        None => format!("there is no topic {}", place.topic),
        Some(count) => format!("topic {} has {count} partition(s), from 0", place.topic),
    };
    Err(WorkerError::BadRequest(format!(
        "The offsets of partition {} of topic {} cannot be changed: {what}",
        place.partition, place.topic
    )))
}

fn sink_partition(map: &Map<String, Value>) -> WorkerResult<TopicPartition> {
    let topic = map.get("kafka_topic").and_then(Value::as_str);
    let partition = map.get("kafka_partition").and_then(integer);
    match (topic, partition.map(i32::try_from)) {
        (Some(topic), Some(Ok(partition))) if partition >= 0 => {
            Ok(TopicPartition { topic: Arc::from(topic), partition })
        }
        _ => Err(WorkerError::BadRequest(format!(
            "The partition for a sink connector offset must be of the form \
             {{\"kafka_topic\": \"…\", \"kafka_partition\": 0}}, got {}",
            Value::Object(map.clone())
        ))),
    }
}

fn sink_offset(map: &Map<String, Value>) -> WorkerResult<i64> {
    match map.get("kafka_offset").and_then(integer) {
        Some(offset) if offset >= 0 => Ok(offset),
        _ => Err(WorkerError::BadRequest(format!(
            "The offset for a sink connector should contain the key 'kafka_offset' with a number \
             from 0, got {}",
            Value::Object(map.clone())
        ))),
    }
}

/// Numbers may arrive as texts.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}
