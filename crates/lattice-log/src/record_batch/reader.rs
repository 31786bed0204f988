//! Reads a stored batch.

use std::{
    io::{BufRead, Read as _},
    ops::Range,
};

use bytes::Bytes;
use lattice_core::error::{Error, Result};

use super::{Compression, HEADER_BYTES, at, snappy, varint};

/// A record's least size: length, attributes, two deltas, two fields and a header count, a byte each.
const LEAST_RECORD_BYTES: usize = 7;

/// What a batch may unpack to; the format's own limit. Units: bytes.
const MAX_UNPACKED_BYTES: u64 = i32::MAX as u64;

/// A batch whose header and checksum were found right.
#[derive(Debug, Clone)]
pub struct RecordBatchReader {
    batch: Bytes,
    codec: Compression,
    base_offset: i64,
    base_timestamp_ms: i64,
    max_timestamp_ms: i64,
    last_offset_delta: i32,
    records: i32,
    /// All records bear the batch's max timestamp (`message.timestamp.type=LogAppendTime`).
    log_append_time: bool,
    control: bool,
}

/// A range of the unpacked records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Where it begins.
    pub start: u32,
    /// Units: bytes.
    pub len: u32,
}

impl Span {
    /// As a range of indexes.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }

    /// The bytes; empty if the span is not of these bytes.
    #[must_use]
    pub fn of(self, data: &[u8]) -> &[u8] {
        data.get(self.range()).unwrap_or_default()
    }
}

/// Where the parts of a record stand in [`RecordSet::data`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordIndex {
    /// The record's offset in its partition.
    pub offset: i64,
    /// Units: ms since the Unix epoch.
    pub timestamp_ms: i64,
    /// `None`: null.
    pub key: Option<Span>,
    /// `None`: null, a tombstone.
    pub value: Option<Span>,
    /// The headers as they stand on the wire; [`RecordView::headers`] reads them.
    pub headers: Span,
    /// How many headers there are.
    pub header_count: u32,
}

/// The records of a batch: one buffer and an index into it.
#[derive(Debug, Clone, Default)]
pub struct RecordSet {
    /// The unpacked records.
    pub data: Bytes,
    /// In offset order.
    pub records: Vec<RecordIndex>,
}

/// A record, borrowed from a [`RecordSet`].
#[derive(Debug, Clone, Copy)]
pub struct RecordView<'a> {
    data: &'a Bytes,
    index: &'a RecordIndex,
}

/// A record header, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderView<'a> {
    /// Its name; UTF-8 unless somebody else wrote it.
    pub key: &'a [u8],
    /// `None`: null.
    pub value: Option<&'a [u8]>,
}

impl RecordBatchReader {
    /// Checks a batch's header and checksum.
    ///
    /// Errors: `Fatal` for bytes that are not one whole v2 batch: the log is damaged there.
    pub fn new(batch: &Bytes) -> Result<Self> {
        let header: &[u8; HEADER_BYTES] = batch
            .first_chunk()
            .ok_or_else(|| damaged(format!("it has {} bytes, less than a header", batch.len())))?;
        let length = i32_at(header, at::LENGTH);
        if usize::try_from(length).ok() != Some(batch.len() - at::LEADER_EPOCH) {
            return Err(damaged(format!(
                "its header says {length} bytes, {} are there",
                batch.len() - at::LEADER_EPOCH
            )));
        }
        if header[at::MAGIC] != 2 {
            return Err(damaged(format!("its magic byte is {}, not 2", header[at::MAGIC])));
        }
        let stated = i32_at(header, at::CRC) as u32;
        let found = crc32c::crc32c(batch.get(at::ATTRIBUTES..).unwrap_or_default());
        if stated != found {
            return Err(damaged(format!("its checksum is {stated:08x}, the bytes' {found:08x}")));
        }
        let attributes = i16::from_be_bytes([header[at::ATTRIBUTES], header[at::ATTRIBUTES + 1]]);
        let records = i32_at(header, at::RECORDS);
        let last_offset_delta = i32_at(header, at::LAST_OFFSET_DELTA);
        if records < 0 || last_offset_delta < 0 {
            return Err(damaged(format!("it says to have {records} records")));
        }
        Ok(Self {
            batch: batch.clone(),
            codec: codec_of(attributes)?,
            base_offset: i64_at(header, 0),
            base_timestamp_ms: i64_at(header, at::BASE_TIMESTAMP),
            max_timestamp_ms: i64_at(header, at::MAX_TIMESTAMP),
            last_offset_delta,
            records,
            log_append_time: attributes & 0x08 != 0,
            control: attributes & 0x20 != 0,
        })
    }

    /// How many records it says to have.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records as usize
    }

    /// Whether it has no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The offset of its first record.
    #[must_use]
    pub fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// The offset of its last record.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        self.base_offset.saturating_add(i64::from(self.last_offset_delta))
    }

    /// Units: ms since the Unix epoch.
    #[must_use]
    pub fn max_timestamp_ms(&self) -> i64 {
        self.max_timestamp_ms
    }

    /// How its records are compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.codec
    }

    /// A transaction's marker, with nothing in it for readers.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.control
    }

    /// Unpacks and indexes the records. CPU only; a batch may unpack to many MiB.
    ///
    /// Errors: `Fatal` when they are damaged.
    pub fn read(&self) -> Result<RecordSet> {
        let data = self.unpack()?;
        let expected = self.len().min(data.len() / LEAST_RECORD_BYTES);
        let mut records = Vec::with_capacity(expected);
        let mut position = 0;
        for number in 0..self.records {
            let record = self.record(&data, &mut position).ok_or_else(|| {
                damaged(format!("record {number} of {} does not end in it", self.records))
            })?;
            records.push(record);
        }
        if position != data.len() {
            return Err(damaged(format!(
                "{} bytes follow its {} records",
                data.len() - position,
                self.records
            )));
        }
        Ok(RecordSet { data, records })
    }

    fn unpack(&self) -> Result<Bytes> {
        let packed = self.batch.slice(HEADER_BYTES..);
        let mut data = Vec::new();
        let unpacked = match self.codec {
            Compression::None => return Ok(packed),
            Compression::Gzip => flate2::bufread::MultiGzDecoder::new(&packed[..])
                .take(MAX_UNPACKED_BYTES + 1)
                .read_to_end(&mut data),
            Compression::Snappy => snappy::unpack(&packed, MAX_UNPACKED_BYTES as usize, &mut data),
            Compression::Lz4 => {
                data.reserve(packed.len().saturating_mul(3).min(8 << 20));
                gather(lz4_flex::frame::FrameDecoder::new(&packed[..]), &mut data)
            }
            Compression::Zstd => {
                data.reserve(packed.len().saturating_mul(4).min(8 << 20));
                zstd::stream::read::Decoder::with_buffer(&packed[..])
                    .and_then(|decoder| decoder.take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut data))
            }
        };
        unpacked.map_err(|error| {
            damaged(format!("its {} frame cannot be unpacked", self.codec.as_str()))
                .with_source(error)
        })?;
        if data.len() as u64 > MAX_UNPACKED_BYTES {
            return Err(damaged("it unpacks to over 2 GiB".to_owned()));
        }
        Ok(Bytes::from(data))
    }

    /// Indexes the record at `*position` and moves behind it; `None`: damaged.
    fn record(&self, data: &[u8], position: &mut usize) -> Option<RecordIndex> {
        let mut at = *position;
        let length = usize::try_from(varint::get(data, &mut at)?).ok()?;
        let end = at.checked_add(length)?;
        let body = data.get(..end)?;
        at += 1;
        let timestamp_delta = varint::get(body, &mut at)?;
        let offset_delta = i32::try_from(varint::get(body, &mut at)?).ok()?;
        let key = field(body, &mut at)?;
        let value = field(body, &mut at)?;
        let header_count = u32::try_from(varint::get(body, &mut at)?).ok()?;
        let headers = at;
        for _ in 0..header_count {
            field(body, &mut at)??;
            field(body, &mut at)?;
        }
        if at != end {
            return None;
        }
        *position = end;
        Some(RecordIndex {
            offset: self.base_offset.wrapping_add(i64::from(offset_delta)),
            timestamp_ms: if self.log_append_time {
                self.max_timestamp_ms
            } else {
                self.base_timestamp_ms.wrapping_add(timestamp_delta)
            },
            key,
            value,
            headers: span(headers, end - headers)?,
            header_count,
        })
    }
}

impl RecordSet {
    /// The records, in offset order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RecordView<'_>> {
        self.records.iter().map(|index| RecordView { data: &self.data, index })
    }
}

impl<'a> RecordView<'a> {
    /// A record by its parts.
    #[must_use]
    pub fn new(data: &'a Bytes, index: &'a RecordIndex) -> Self {
        Self { data, index }
    }

    /// The record's offset in its partition.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.index.offset
    }

    /// Units: ms since the Unix epoch.
    #[must_use]
    pub fn timestamp_ms(&self) -> i64 {
        self.index.timestamp_ms
    }

    /// `None`: null.
    #[must_use]
    pub fn key(&self) -> Option<&'a [u8]> {
        self.index.key.map(|span| span.of(self.data))
    }

    /// `None`: null, a tombstone.
    #[must_use]
    pub fn value(&self) -> Option<&'a [u8]> {
        self.index.value.map(|span| span.of(self.data))
    }

    /// The headers, in order.
    pub fn headers(&self) -> impl Iterator<Item = HeaderView<'a>> + use<'a> {
        let bytes = self.index.headers.of(self.data);
        let mut at = 0;
        (0..self.index.header_count).map_while(move |_| {
            let key = field(bytes, &mut at)??.of(bytes);
            let value = field(bytes, &mut at)?.map(|span| span.of(bytes));
            Some(HeaderView { key, value })
        })
    }
}

/// Reads a field's length and skips it; outer `None`: damaged, inner: null.
#[inline]
#[allow(clippy::option_option, reason = "a null field and a damaged one are two things")]
fn field(bytes: &[u8], at: &mut usize) -> Option<Option<Span>> {
    let length = varint::get(bytes, at)?;
    if length == -1 {
        return Some(None);
    }
    let length = usize::try_from(length).ok()?;
    let start = *at;
    let end = start.checked_add(length)?;
    if end > bytes.len() {
        return None;
    }
    *at = end;
    span(start, length).map(Some)
}

#[inline]
fn span(start: usize, len: usize) -> Option<Span> {
    Some(Span { start: u32::try_from(start).ok()?, len: u32::try_from(len).ok()? })
}

fn codec_of(attributes: i16) -> Result<Compression> {
    match attributes & 0x07 {
        0 => Ok(Compression::None),
        1 => Ok(Compression::Gzip),
        2 => Ok(Compression::Snappy),
        3 => Ok(Compression::Lz4),
        4 => Ok(Compression::Zstd),
        other => Err(damaged(format!("its codec number is {other}"))),
    }
}

/// Everything that a decoder unpacks, a little more than is allowed at most. A block is copied once,
/// out of the decoder's own buffer.
fn gather(mut decoder: impl BufRead, data: &mut Vec<u8>) -> std::io::Result<usize> {
    loop {
        let block = decoder.fill_buf()?;
        let length = block.len();
        if length == 0 || data.len() as u64 > MAX_UNPACKED_BYTES {
            return Ok(data.len());
        }
        data.extend_from_slice(block);
        decoder.consume(length);
    }
}

fn damaged(what: String) -> Error {
    Error::fatal(format!("a record batch is damaged: {what}"))
}

fn i32_at(header: &[u8; HEADER_BYTES], at: usize) -> i32 {
    let mut field = [0; 4];
    field.copy_from_slice(&header[at..at + 4]);
    i32::from_be_bytes(field)
}

fn i64_at(header: &[u8; HEADER_BYTES], at: usize) -> i64 {
    let mut field = [0; 8];
    field.copy_from_slice(&header[at..at + 8]);
    i64::from_be_bytes(field)
}
