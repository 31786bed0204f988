//! Topics and partitions in memory: what every append and fetch looks at first.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use lattice_core::{Error, Result};
use rusqlite::Connection;

use crate::log::{CleanupPolicy, PartitionInfo, TopicConfig, TopicInfo, TopicPartition};

/// All topics by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    pub(crate) topics: BTreeMap<Arc<str>, Topic>,
}

#[derive(Debug, Clone)]
pub(crate) struct Topic {
    pub(crate) id: i64,
    pub(crate) config: TopicConfig,
    pub(crate) partitions: Vec<PartitionInfo>,
}

/// A partition that has something to read.
#[derive(Debug, Clone)]
pub(crate) struct Readable {
    pub(crate) topic_id: i64,
    pub(crate) partition: TopicPartition,
    pub(crate) offset: i64,
    /// The partition's end as the catalog has it. The file may be ahead for a moment; nobody is
    /// given records beyond the end that [`SharedCatalog::read`] tells.
    pub(crate) end: i64,
}

/// The catalog that readers see: what is committed.
pub(crate) struct SharedCatalog(RwLock<Catalog>);

impl SharedCatalog {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self(RwLock::new(catalog))
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Catalog) -> T) -> T {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a committed change visible.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut Catalog)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Catalog {
    pub(crate) fn info(&self, name: &str) -> Option<TopicInfo> {
        self.topics.get_key_value(name).map(|(name, topic)| topic.info(name))
    }

    pub(crate) fn infos(&self) -> Vec<TopicInfo> {
        self.topics.iter().map(|(name, topic)| topic.info(name)).collect()
    }

    /// Of the wanted places those that have something to read.
    ///
    /// Errors: `Fatal` for an offset beyond the end, where waiting would skip records.
    pub(crate) fn readable(&self, from: &[(TopicPartition, i64)]) -> Result<Vec<Readable>> {
        let mut readable = Vec::new();
        for (wanted, offset) in from {
            let Some(topic) = self.topics.get(&wanted.topic) else { continue };
            let slot = usize::try_from(wanted.partition).unwrap_or(usize::MAX);
            let end = topic.partitions.get(slot).map_or(0, |partition| partition.end_offset);
            if *offset > end {
                return Err(beyond_end(wanted, *offset, end));
            }
            if *offset < end {
                let (topic_id, partition, offset) = (topic.id, wanted.clone(), *offset);
                readable.push(Readable { topic_id, partition, offset, end });
            }
        }
        Ok(readable)
    }
}

fn beyond_end(partition: &TopicPartition, offset: i64, end: i64) -> Error {
    Error::fatal(format!("offset {offset} of {partition} is beyond its end {end}"))
        .with_remedy("reset the connector's offsets; the topic was made anew or the data restored")
}

impl Topic {
    /// A topic without records.
    pub(crate) fn new(id: i64, config: TopicConfig) -> Self {
        let partitions = (0..config.partitions).map(no_records).collect();
        Self { id, config, partitions }
    }

    fn info(&self, name: &Arc<str>) -> TopicInfo {
        TopicInfo {
            name: Arc::clone(name),
            config: self.config.clone(),
            partitions: self.partitions.clone(),
            internal: name.starts_with("__"),
        }
    }
}

fn no_records(partition: i32) -> PartitionInfo {
    PartitionInfo { partition, log_start_offset: 0, end_offset: 0, bytes: 0, records: 0 }
}

/// Reads the catalog from the file.
pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Catalog> {
    let mut catalog = Catalog::default();
    let mut names: BTreeMap<i64, Arc<str>> = BTreeMap::new();
    let mut statement = connection.prepare(
        "SELECT id, name, partitions, cleanup_policy, retention_ms, retention_bytes FROM topics",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name: Arc<str> = row.get::<_, String>(1)?.into();
        let policy: String = row.get(3)?;
        let config = TopicConfig {
            partitions: row.get(2)?,
            cleanup_policy: if policy == CleanupPolicy::Compact.as_str() {
                CleanupPolicy::Compact
            } else {
                CleanupPolicy::Delete
            },
            retention_ms: row.get(4)?,
            retention_bytes: row.get(5)?,
            ..TopicConfig::default()
        };
        let id = row.get(0)?;
        names.insert(id, Arc::clone(&name));
        catalog.topics.insert(name, Topic::new(id, config));
    }
    let mut statement = connection.prepare(
        "SELECT p.topic, p.partition, p.log_start_offset, p.end_offset,
                ifnull(sum(b.size), 0), ifnull(sum(b.records), 0)
         FROM partitions p
         LEFT JOIN batches b ON b.topic = p.topic AND b.partition = p.partition
         GROUP BY p.topic, p.partition",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let partition: i32 = row.get(1)?;
        let info = PartitionInfo {
            partition,
            log_start_offset: row.get(2)?,
            end_offset: row.get(3)?,
            bytes: row.get::<_, i64>(4)?.try_into().unwrap_or(0),
            records: row.get::<_, i64>(5)?.try_into().unwrap_or(0),
        };
        let topic = names.get(&row.get(0)?).and_then(|name| catalog.topics.get_mut(name));
        let index = usize::try_from(partition).unwrap_or(usize::MAX);
        if let Some(slot) = topic.and_then(|topic| topic.partitions.get_mut(index)) {
            *slot = info;
        }
    }
    Ok(catalog)
}

/// Kafka's rules for a topic's name.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let legal = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-');
    let reason = match name {
        "" => "it is empty",
        "." | ".." => "it is \".\" or \"..\"",
        _ if name.len() > 249 => "it is longer than 249 characters",
        _ if !name.chars().all(legal) => "only letters, digits and . _ - are allowed",
        _ => return Ok(()),
    };
    Err(Error::config(format!("\"{}\" cannot be a topic's name: {reason}", name.escape_debug()))
        .with_remedy("choose another topic name, or a topic.prefix of legal characters"))
}

/// Limits that keep a topic's configuration sane.
pub(crate) fn check_config(name: &str, config: &TopicConfig) -> Result<()> {
    if (1..=10_000).contains(&config.partitions) {
        return Ok(());
    }
    let message =
        format!("topic {name} cannot have {} partitions: expected 1 to 10000", config.partitions);
    Err(Error::config(message).with_remedy("set topic.creation.default.partitions"))
}
