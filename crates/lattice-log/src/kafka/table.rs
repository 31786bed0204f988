//! A compacted topic as the map that it is: the newest value of each key.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use lattice_core::{
    Error, Result,
    record::{RecordRef, RecordSink},
};

use super::{
    cluster::Cluster,
    fetch::Fetcher,
    offsets::{self, Isolation},
    producer::Producer,
    topics::{Copies, Topics},
};
use crate::{
    log::{CleanupPolicy, EncodedBatch, TopicConfig, TopicPartition},
    record_batch::{BatchSetBuilder, Compression, RecordBatchReader},
};

/// Copies of the platform's own topics, as Kafka Connect makes them.
pub(super) const COPIES: usize = 3;

/// Reading to the end makes no progress for so long at most.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much of a topic is fetched at once. Units: bytes.
const FETCH_BYTES: usize = 1 << 20;

/// A key and its new value; `None` removes it.
pub(crate) type Change = (Vec<u8>, Option<Vec<u8>>);

/// A compacted topic, read as far as somebody asked.
pub(crate) struct Table {
    topic: Arc<str>,
    cluster: Arc<Cluster>,
    fetcher: Arc<Fetcher>,
    producer: Arc<Producer>,
    partitions: i32,
    read: tokio::sync::Mutex<Read>,
}

#[derive(Default)]
struct Read {
    next: BTreeMap<TopicPartition, i64>,
    values: BTreeMap<Vec<u8>, Bytes>,
}

/// What a table is made on.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) fetcher: Arc<Fetcher>,
    pub(crate) producer: Arc<Producer>,
    pub(crate) topics: Arc<Topics>,
}

impl Table {
    /// Finds the topic, or makes it with so many partitions.
    ///
    /// Errors: `Config` when it is there and not compacted: it would lose what it must keep.
    pub(crate) async fn open(ground: &Ground, topic: &str, partitions: i32) -> Result<Self> {
        let config = TopicConfig {
            partitions,
            cleanup_policy: CleanupPolicy::Compact,
            retention_ms: None,
            retention_bytes: None,
            ..TopicConfig::default()
        };
        ground.topics.create(topic, &config, Copies::UpTo(COPIES)).await?;
        let found = ground.topics.list(Some(topic)).await?.pop();
        let found = found.ok_or_else(|| Error::transient(format!("find topic {topic}")))?;
        if found.config.cleanup_policy != CleanupPolicy::Compact {
            return Err(Error::config(format!(
                "topic {topic} has cleanup.policy={}, it must be compact",
                found.config.cleanup_policy.as_str()
            ))
            .with_remedy(format!(
                "alter it (kafka-configs --alter --entity-type topics --entity-name {topic} \
                 --add-config cleanup.policy=compact), or name another topic"
            )));
        }
        Ok(Self {
            topic: Arc::from(topic),
            cluster: Arc::clone(&ground.cluster),
            fetcher: Arc::clone(&ground.fetcher),
            producer: Arc::clone(&ground.producer),
            partitions: found.config.partitions,
            read: tokio::sync::Mutex::default(),
        })
    }

    /// Reads to the end and gives what `choose` takes, ordered by key.
    pub(crate) async fn read<T>(
        &self,
        mut choose: impl FnMut(&[u8], &Bytes) -> Option<T>,
    ) -> Result<Vec<T>> {
        let mut read = self.read.lock().await;
        self.read_to_end(&mut read).await?;
        Ok(read.values.iter().filter_map(|(key, value)| choose(key, value)).collect())
    }

    /// Waits until there is something that nobody has read, at most so long.
    pub(crate) async fn unread(&self, wait: Duration) -> Result<bool> {
        let from: Vec<_> = {
            let read = self.read.lock().await;
            read.next.iter().map(|(place, next)| (place.clone(), *next)).collect()
        };
        Ok(!self.fetcher.fetch(from, 1, wait).await?.is_empty())
    }

    /// A batch with changes of keys of one partition, to be written with others.
    pub(crate) fn batch(&self, change: &Change) -> Result<EncodedBatch> {
        let batches = self.batches(std::slice::from_ref(change))?;
        let batch = batches.into_iter().next();
        batch.ok_or_else(|| Error::fatal("a record batch without records"))
    }

    /// Writes changes; those of one partition all or none.
    pub(crate) async fn write(&self, changes: &[Change]) -> Result<()> {
        let batches = self.batches(changes)?;
        self.producer.append(&batches, None).await.map(drop)
    }

    fn batches(&self, changes: &[Change]) -> Result<Vec<EncodedBatch>> {
        let partitions = self.partitions;
        // What is put together is one batch, whatever its size: it must be there wholly.
        let mut builder = BatchSetBuilder::new(Box::new(move |_| partitions), Compression::None)
            .with_max_batch_bytes(usize::MAX);
        let topic = builder.topic(&self.topic);
        let timestamp_ms = now_ms();
        for (key, value) in changes {
            builder.append(
                topic,
                None,
                RecordRef { key: Some(key), value: value.as_deref(), headers: &[], timestamp_ms },
            );
        }
        builder.finish().into_iter().map(crate::RawBatch::compress).collect()
    }

    async fn read_to_end(&self, read: &mut Read) -> Result<()> {
        let places: Vec<_> = (0..self.partitions)
            .map(|partition| TopicPartition::new(Arc::clone(&self.topic), partition))
            .collect();
        // The end of what is written, not of what is committed: behind a transaction that is still open there
        // may be newer values of others, which must be waited for.
        let bounds = offsets::bounds(&self.cluster, &places, Isolation::Written).await?;
        let mut deadline = Instant::now() + PATIENCE;
        loop {
            let mut missing = Vec::new();
            for (place, (start, end)) in &bounds {
                let next = read.next.entry(place.clone()).or_insert(*start);
                *next = (*next).max(*start);
                if *next < *end {
                    missing.push((place.clone(), *next));
                }
            }
            if missing.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Error::transient(format!("read topic {} to its end", self.topic)));
            }
            let wait = Duration::from_millis(500);
            for batch in self.fetcher.fetch(missing, FETCH_BYTES, wait).await? {
                deadline = Instant::now() + PATIENCE;
                read.next.insert(batch.partition.clone(), batch.last_offset + 1);
                let reader = RecordBatchReader::new(&batch.bytes)?;
                if !reader.is_control() {
                    read.take(&reader)?;
                }
            }
        }
    }
}

impl Read {
    fn take(&mut self, reader: &RecordBatchReader) -> Result<()> {
        for record in reader.read()?.iter() {
            let Some(key) = record.key() else { continue };
            match record.value() {
                // A copy: a slice would keep its whole batch.
                Some(value) => {
                    self.values.insert(key.to_vec(), Bytes::copy_from_slice(value));
                }
                None => {
                    self.values.remove(key);
                }
            }
        }
        Ok(())
    }
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.ok().and_then(|now| i64::try_from(now.as_millis()).ok()).unwrap_or_default()
}
