//! The log: topics, record batches, offsets and small documents, durable.
//!
//! Comes in: records ([`BatchSetBuilder`] makes batches of them) and source positions, in one
//! [`AppendRequest`]; goes out: stored batches, from any offset ([`Log::fetch`]). Read [`Log`]
//! first, then [`RecordBatchReader`], then [`EmbeddedLog`] and [`KafkaLog`].
//!
//! This room must not know: what is in a record (Avro, JSON, envelopes), connectors, HTTP.

pub mod client_keys;
pub mod embedded;
pub mod kafka;
pub mod log;
pub mod membership;
pub mod record_batch;

pub use embedded::{EmbeddedLog, EmbeddedOptions};
pub use kafka::{GroupOptions, KafkaLog, KafkaOptions};
pub use log::{
    AppendRequest, Broker, CleanupPolicy, EncodedBatch, Log, LogHealth, PartitionInfo,
    SourceOffset, SourceOffsetChange, StoredBatch, TopicConfig, TopicInfo, TopicPartition,
    Transactions,
};
pub use membership::{GroupView, Kept, Member, Membership};
pub use record_batch::{
    BatchSetBuilder, Compression, HeaderView, RawBatch, RecordBatchReader, RecordIndex, RecordSet,
    RecordView, Span,
};
