//! Collects records by topic and partition into batches.

use std::{collections::HashMap, mem, sync::Arc};

use lattice_core::record::{Header, RecordRef, RecordSink, TopicHandle};

use super::{Compression, HEADER_BYTES, RawBatch, partition_of_key, raw::Spares, varint};

/// Where a batch is closed by default: large enough that the log's cost per batch vanishes and
/// compression sees enough, small enough that a reader need not unpack much to get at one record.
const DEFAULT_MAX_BATCH_BYTES: usize = 1024 * 1024;

/// Collects records and gives batches. Make one for a task and use it again and again: it
/// remembers topics and how large their batches become.
pub struct BatchSetBuilder {
    partitions_of: Box<dyn FnMut(&str) -> i32 + Send>,
    compression: Compression,
    max_batch_bytes: usize,
    handles: HashMap<Arc<str>, TopicHandle>,
    topics: Vec<Topic>,
    closed: Vec<RawBatch>,
    closed_bytes: usize,
    open_bytes: usize,
    records: usize,
    spares: Spares,
}

struct Topic {
    name: Arc<str>,
    partitions: i32,
    /// Where records without a key go until the batch is closed.
    sticky: usize,
    open: Vec<OpenBatch>,
}

#[derive(Default)]
struct OpenBatch {
    buffer: Vec<u8>,
    records: i32,
    base_timestamp_ms: i64,
    max_timestamp_ms: i64,
    /// What the last batch needed, so that the buffer need not grow again.
    expected_bytes: usize,
}

impl BatchSetBuilder {
    /// Makes a builder. `partitions_of` is asked once for each topic.
    #[must_use]
    pub fn new(
        partitions_of: Box<dyn FnMut(&str) -> i32 + Send>,
        compression: Compression,
    ) -> Self {
        Self {
            partitions_of,
            compression,
            max_batch_bytes: DEFAULT_MAX_BATCH_BYTES,
            handles: HashMap::new(),
            topics: Vec::new(),
            closed: Vec::new(),
            closed_bytes: 0,
            open_bytes: 0,
            records: 0,
            spares: Spares::default(),
        }
    }

    /// Closes a batch before it passes so many bytes, before compression. A single record may be
    /// larger; it is then a batch of its own.
    #[must_use]
    pub fn with_max_batch_bytes(mut self, bytes: usize) -> Self {
        self.max_batch_bytes = bytes.max(1);
        self
    }

    /// What has been collected since the last [`BatchSetBuilder::finish`], before compression.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.closed_bytes + self.open_bytes
    }

    /// Records collected since the last [`BatchSetBuilder::finish`].
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    /// Gives everything collected and begins anew. Batches of one partition are in order.
    pub fn finish(&mut self) -> Vec<RawBatch> {
        let mut batches = mem::take(&mut self.closed);
        for topic in &mut self.topics {
            for partition in 0..topic.open.len() {
                batches.extend(topic.close(partition, self.compression, &self.spares));
            }
        }
        (self.closed_bytes, self.open_bytes, self.records) = (0, 0, 0);
        batches
    }
}

impl RecordSink for BatchSetBuilder {
    fn topic(&mut self, name: &str) -> TopicHandle {
        if let Some(handle) = self.handles.get(name) {
            return *handle;
        }
        let name: Arc<str> = name.into();
        let partitions = (self.partitions_of)(&name).max(1);
        let handle = TopicHandle(self.topics.len() as u32);
        self.handles.insert(Arc::clone(&name), handle);
        self.topics.push(Topic { name, partitions, sticky: 0, open: Vec::new() });
        handle
    }

    fn append(&mut self, topic: TopicHandle, partition: Option<i32>, record: RecordRef<'_>) {
        let Some(topic) = self.topics.get_mut(topic.0 as usize) else {
            // A handle of another builder: the caller broke the contract, records must not
            // vanish.
            panic!("topic handle {} is not of this builder", topic.0);
        };
        let partition = topic.choose(partition, record.key);
        let Some(open) = topic.open.get(partition) else { return };
        let size = open.buffer.len();
        if open.records > 0 && size.saturating_add(largest(&record)) > self.max_batch_bytes {
            // With this record it would be larger than a batch may be.
            self.open_bytes -= size;
            self.closed_bytes += size;
            self.closed.extend(topic.close(partition, self.compression, &self.spares));
        }
        let Some(open) = topic.open.get_mut(partition) else { return };
        let before = open.buffer.len();
        if open.records == 0 {
            open.buffer = self.spares.take();
        }
        open.append(record);
        let after = open.buffer.len();
        self.records += 1;
        self.open_bytes += after - before;
        if after >= self.max_batch_bytes || open.records == i32::MAX {
            self.open_bytes -= after;
            self.closed_bytes += after;
            self.closed.extend(topic.close(partition, self.compression, &self.spares));
            topic.sticky = (partition + 1) % topic.partitions as usize;
        }
    }
}

/// What a record takes at most.
fn largest(record: &RecordRef<'_>) -> usize {
    // Its length and six numbers, the longest of ten bytes.
    const NUMBERS: usize = 40;
    let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let header = |(name, value): &(&str, Option<&[u8]>)| name.len() + length(*value) + 10;
    let headers: usize = record.headers.iter().map(header).sum();
    NUMBERS + length(record.key) + length(record.value) + headers
}

impl Topic {
    /// The record's partition, and room for it.
    fn choose(&mut self, partition: Option<i32>, key: Option<&[u8]>) -> usize {
        let chosen = match (partition.and_then(|wanted| usize::try_from(wanted).ok()), key) {
            (Some(wanted), _) => wanted,
            (None, Some(key)) => partition_of_key(key, self.partitions) as usize,
            (None, None) => self.sticky,
        };
        if chosen >= self.open.len() {
            self.open.resize_with(chosen + 1, OpenBatch::default);
        }
        chosen
    }

    /// Takes a partition's batch, if it has records.
    fn close(
        &mut self,
        partition: usize,
        compression: Compression,
        spares: &Spares,
    ) -> Option<RawBatch> {
        let open = self.open.get_mut(partition)?;
        if open.records == 0 {
            return None;
        }
        let buffer = mem::take(&mut open.buffer);
        // Follows the need down again slowly, so that one huge record is not reserved for ever.
        open.expected_bytes = buffer.len().min(2 * DEFAULT_MAX_BATCH_BYTES);
        if self.sticky == partition {
            self.sticky = (partition + 1) % self.partitions as usize;
        }
        Some(RawBatch {
            topic: Arc::clone(&self.name),
            partition: partition as i32,
            records: mem::take(&mut open.records),
            buffer,
            base_timestamp_ms: open.base_timestamp_ms,
            max_timestamp_ms: open.max_timestamp_ms,
            compression,
            spares: spares.clone(),
        })
    }
}

impl OpenBatch {
    fn append(&mut self, record: RecordRef<'_>) {
        if self.records == 0 {
            self.buffer.reserve(self.expected_bytes.max(HEADER_BYTES));
            self.buffer.resize(HEADER_BYTES, 0);
            self.base_timestamp_ms = record.timestamp_ms;
            self.max_timestamp_ms = record.timestamp_ms;
        }
        self.max_timestamp_ms = self.max_timestamp_ms.max(record.timestamp_ms);
        let timestamp_delta = record.timestamp_ms.wrapping_sub(self.base_timestamp_ms);
        put_record(&mut self.buffer, timestamp_delta, i64::from(self.records), &record);
        self.records += 1;
    }
}

/// Appends a record: its length, attributes, deltas, key, value and headers.
pub(super) fn put_record(
    out: &mut Vec<u8>,
    timestamp_delta: i64,
    offset_delta: i64,
    record: &RecordRef<'_>,
) {
    let length = 1
        + varint::len(timestamp_delta)
        + varint::len(offset_delta)
        + field_len(record.key)
        + field_len(record.value)
        + varint::len(record.headers.len() as i64)
        + record.headers.iter().map(header_len).sum::<usize>();
    out.reserve(length + varint::len(length as i64));
    varint::put(out, length as i64);
    out.push(0);
    varint::put(out, timestamp_delta);
    varint::put(out, offset_delta);
    put_field(out, record.key);
    put_field(out, record.value);
    varint::put(out, record.headers.len() as i64);
    for (name, value) in record.headers {
        put_field(out, Some(name.as_bytes()));
        put_field(out, *value);
    }
}

fn header_len(header: &Header<'_>) -> usize {
    field_len(Some(header.0.as_bytes())) + field_len(header.1)
}

fn field_len(field: Option<&[u8]>) -> usize {
    field.map_or(1, |bytes| varint::len(bytes.len() as i64) + bytes.len())
}

fn put_field(out: &mut Vec<u8>, field: Option<&[u8]>) {
    match field {
        Some(bytes) => {
            varint::put(out, bytes.len() as i64);
            out.extend_from_slice(bytes);
        }
        None => varint::put(out, -1),
    }
}
