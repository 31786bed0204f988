//! Kafka's record batch, version 2: written by [`BatchSetBuilder`], read by
//! [`RecordBatchReader`].
//!
//! Shape of the header (big-endian): base offset i64, length i32 (of what follows), partition
//! leader epoch i32, magic i8 = 2, CRC-32C u32 (of what follows), attributes i16, last offset
//! delta i32, base timestamp i64, max timestamp i64, producer id i64, producer epoch i16, base
//! sequence i32, record count i32. The records follow, compressed together.
//!
//! Source: <https://kafka.apache.org/documentation/#recordbatch>.

mod builder;
mod partitioner;
mod raw;
mod reader;
mod snappy;
mod stamp;
mod varint;

#[cfg(test)]
mod tests;

pub use builder::BatchSetBuilder;
pub use partitioner::{murmur2, partition_of_key};
pub use raw::RawBatch;
pub use reader::{HeaderView, RecordBatchReader, RecordIndex, RecordSet, RecordView, Span};

pub(crate) use stamp::{Head, Stamp, checksum, stamped, withheld};

/// Bytes of a batch before its records.
pub const HEADER_BYTES: usize = 61;

/// Where the header's fields stand.
pub(crate) mod at {
    pub(crate) const LENGTH: usize = 8;
    pub(crate) const LEADER_EPOCH: usize = 12;
    pub(crate) const MAGIC: usize = 16;
    pub(crate) const CRC: usize = 17;
    /// The checksum covers everything from here on.
    pub(crate) const ATTRIBUTES: usize = 21;
    pub(crate) const LAST_OFFSET_DELTA: usize = 23;
    pub(crate) const BASE_TIMESTAMP: usize = 27;
    pub(crate) const MAX_TIMESTAMP: usize = 35;
    pub(crate) const PRODUCER_ID: usize = 43;
    pub(crate) const PRODUCER_EPOCH: usize = 51;
    pub(crate) const BASE_SEQUENCE: usize = 53;
    pub(crate) const RECORDS: usize = 57;
}

/// How the records of a batch are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
    None,
    /// Gzip, level 6 as Kafka's own producer takes.
    Gzip,
    /// Snappy in the framing of Java's library.
    Snappy,
    /// LZ4 frames of independent blocks, as Kafka demands.
    #[default]
    Lz4,
    /// Zstandard, level 1.
    Zstd,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The codec's number in the batch's attributes.
    #[must_use]
    pub fn id(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// Kafka's word for it (`compression.type`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Parses Kafka's word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.as_str() == word)
    }
}
