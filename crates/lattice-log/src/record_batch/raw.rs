//! A closed batch: compresses it and writes its header.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lattice_core::error::{Error, Result};

use crate::log::EncodedBatch;

use super::{Compression, HEADER_BYTES, at, snappy};

/// Zstandard's level: on change events, 1 costs a third of the default 3 and packs nearly as
/// tightly.
const ZSTD_LEVEL: i32 = 1;

/// Buffers of a builder that were used up and wait to be used again: fresh memory would have to be
/// cleared by the system for every batch.
#[derive(Debug, Clone, Default)]
pub(super) struct Spares(Arc<Mutex<Vec<Vec<u8>>>>);

impl Spares {
    /// As many as are under way at once: one filled, one compressed, one that waits.
    const MOST: usize = 3;
    /// Larger ones are not kept. Units: bytes.
    const LARGEST: usize = 4 << 20;

    pub(super) fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give(&self, mut buffer: Vec<u8>) {
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < Self::MOST && buffer.capacity() <= Self::LARGEST {
            buffer.clear();
            spares.push(buffer);
        }
    }
}

/// A batch of encoded records, not yet compressed. [`RawBatch::compress`] needs only CPU, so it
/// can run on another thread than the encoding.
#[derive(Debug)]
pub struct RawBatch {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    pub(super) records: i32,
    /// Room for the header, then the records.
    pub(super) buffer: Vec<u8>,
    pub(super) base_timestamp_ms: i64,
    pub(super) max_timestamp_ms: i64,
    pub(super) compression: Compression,
    /// Where `buffer` goes when it is compressed.
    pub(super) spares: Spares,
}

impl RawBatch {
    /// The topic it goes to.
    #[must_use]
    pub fn topic(&self) -> &Arc<str> {
        &self.topic
    }

    /// The partition it goes to.
    #[must_use]
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// How many records it has.
    #[must_use]
    pub fn records(&self) -> i32 {
        self.records
    }

    /// Its size before compression. Units: bytes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Compresses the records and completes the header. Records that compression does not make
    /// smaller stay as they are.
    ///
    /// Errors: `Data` when the batch passes the format's 2 GiB.
    pub fn compress(self) -> Result<EncodedBatch> {
        let (bytes, codec) = match self.compressed()? {
            Some(packed) => {
                self.spares.give(self.buffer);
                (packed, self.compression)
            }
            None => (self.buffer, Compression::None),
        };
        let header = Header {
            codec,
            records: self.records,
            last_offset_delta: self.records - 1,
            base_timestamp_ms: self.base_timestamp_ms,
            max_timestamp_ms: self.max_timestamp_ms,
        };
        let bytes = header.complete(bytes, &self.topic)?;
        Ok(EncodedBatch {
            topic: self.topic,
            partition: self.partition,
            records: self.records,
            bytes,
            max_timestamp_ms: self.max_timestamp_ms,
        })
    }

    /// Header room and packed records; `None`: they are better left alone.
    fn compressed(&self) -> Result<Option<Vec<u8>>> {
        let records = self.buffer.get(HEADER_BYTES..).unwrap_or_default();
        let packed = pack(self.compression, records).map_err(|error| {
            Error::fatal(format!("compressing a batch of topic {} failed", self.topic))
                .with_source(error)
        })?;
        Ok(packed.filter(|packed| packed.len() < self.buffer.len()))
    }
}

/// Compresses records behind room for a header; `None`: without compression.
fn pack(codec: Compression, records: &[u8]) -> std::io::Result<Option<Vec<u8>>> {
    use std::io::Write as _;
    if codec == Compression::None {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(HEADER_BYTES + records.len() / 3);
    out.resize(HEADER_BYTES, 0);
    match codec {
        Compression::None => {}
        Compression::Gzip => {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::GzEncoder::new(out, level);
            encoder.write_all(records)?;
            out = encoder.finish()?;
        }
        Compression::Snappy => snappy::pack(records, &mut out)?,
        Compression::Lz4 => pack_lz4(records, &mut out)?,
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
            encoder.write_all(records)?;
            out = encoder.finish()?;
        }
    }
    Ok(Some(out))
}

/// Writes an LZ4 frame of independent blocks, which Java demands, without the copies that a
/// streaming encoder makes: the whole is in memory at both ends.
///
/// Shape: magic, flags (version 1, independent blocks, no checksums, no content size), block size
/// (4: 64 KiB), header checksum; then blocks of u32 length and bytes, where the top bit marks an
/// unpacked one; then a zero length. Little-endian.
/// Source: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>.
fn pack_lz4(records: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    /// The last byte is the second byte of the xxHash-32 of the two before it.
    const FRAME_HEADER: [u8; 7] = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
    const BLOCK_BYTES: usize = 64 * 1024;
    const UNPACKED: u32 = 1 << 31;
    out.extend_from_slice(&FRAME_HEADER);
    let mut packed = vec![0; lz4_flex::block::get_maximum_output_size(BLOCK_BYTES)];
    for block in records.chunks(BLOCK_BYTES) {
        let size =
            lz4_flex::block::compress_into(block, &mut packed).map_err(std::io::Error::other)?;
        let (length, bytes) = if size < block.len() {
            (size as u32, &packed[..size])
        } else {
            (block.len() as u32 | UNPACKED, block)
        };
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(bytes);
    }
    out.extend_from_slice(&[0; 4]);
    Ok(())
}

/// What varies in a batch's header.
pub(crate) struct Header {
    pub(crate) codec: Compression,
    pub(crate) records: i32,
    pub(crate) last_offset_delta: i32,
    pub(crate) base_timestamp_ms: i64,
    pub(crate) max_timestamp_ms: i64,
}

impl Header {
    /// Writes the header into the room before the records.
    pub(crate) fn complete(&self, mut bytes: Vec<u8>, topic: &str) -> Result<Bytes> {
        let length = i32::try_from(bytes.len() - at::LEADER_EPOCH).map_err(|_| {
            Error::data(format!(
                "a record batch of topic {topic} has {} bytes, over the format's limit of 2 GiB",
                bytes.len()
            ))
            .with_remedy("exclude the column that holds the value, or shorten the value")
        })?;
        put(&mut bytes, 0, &0i64.to_be_bytes());
        put(&mut bytes, at::LENGTH, &length.to_be_bytes());
        put(&mut bytes, at::LEADER_EPOCH, &(-1i32).to_be_bytes());
        put(&mut bytes, at::MAGIC, &[2]);
        put(&mut bytes, at::ATTRIBUTES, &self.codec.id().to_be_bytes());
        put(&mut bytes, at::LAST_OFFSET_DELTA, &self.last_offset_delta.to_be_bytes());
        put(&mut bytes, at::BASE_TIMESTAMP, &self.base_timestamp_ms.to_be_bytes());
        put(&mut bytes, at::MAX_TIMESTAMP, &self.max_timestamp_ms.to_be_bytes());
        put(&mut bytes, at::PRODUCER_ID, &(-1i64).to_be_bytes());
        put(&mut bytes, at::PRODUCER_EPOCH, &(-1i16).to_be_bytes());
        put(&mut bytes, at::BASE_SEQUENCE, &(-1i32).to_be_bytes());
        put(&mut bytes, at::RECORDS, &self.records.to_be_bytes());
        let crc = crc32c::crc32c(&bytes[at::ATTRIBUTES..]);
        put(&mut bytes, at::CRC, &crc.to_be_bytes());
        Ok(Bytes::from(bytes))
    }
}

/// Overwrites bytes of the header room.
fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}
