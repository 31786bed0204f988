//! A producer's marks in a finished batch.

use bytes::{Bytes, BytesMut};

use super::{HEADER_BYTES, at};

/// The bit of the attributes that says: part of a transaction.
const TRANSACTIONAL: u8 = 0x10;
/// The bit of the attributes that says: a transaction's marker, nothing for readers.
const CONTROL: u8 = 0x20;

/// What a producer writes into a batch's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    /// The number of the first record.
    pub(crate) sequence: i32,
    pub(crate) transactional: bool,
}

/// The batch with a producer's marks and a checksum over them.
pub(crate) fn stamped(batch: &Bytes, stamp: Stamp) -> Bytes {
    let mut bytes = BytesMut::from(&batch[..]);
    if let Some(header) = bytes.first_chunk_mut::<HEADER_BYTES>() {
        header[at::PRODUCER_ID..at::PRODUCER_EPOCH].copy_from_slice(&stamp.id.to_be_bytes());
        header[at::PRODUCER_EPOCH..at::BASE_SEQUENCE].copy_from_slice(&stamp.epoch.to_be_bytes());
        header[at::BASE_SEQUENCE..at::RECORDS].copy_from_slice(&stamp.sequence.to_be_bytes());
        if stamp.transactional {
            header[at::ATTRIBUTES + 1] |= TRANSACTIONAL;
        }
    }
    renew_checksum(&mut bytes);
    bytes.freeze()
}

/// The batch as one that has nothing for readers, as a transaction's marker has.
pub(crate) fn withheld(batch: &Bytes) -> Bytes {
    let mut bytes = BytesMut::from(&batch[..]);
    if let Some(attributes) = bytes.get_mut(at::ATTRIBUTES + 1) {
        *attributes |= CONTROL;
    }
    renew_checksum(&mut bytes);
    bytes.freeze()
}

fn renew_checksum(bytes: &mut BytesMut) {
    let checksum = crc32c::crc32c(bytes.get(at::ATTRIBUTES..).unwrap_or_default());
    if let Some(field) = bytes.get_mut(at::CRC..at::ATTRIBUTES) {
        field.copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The checksum in a batch's header; 0 when it has none.
pub(crate) fn checksum(batch: &[u8]) -> u32 {
    let field = batch.get(at::CRC..at::ATTRIBUTES);
    field.and_then(|field| field.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// What a batch's header says, its checksum not looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) base_offset: i64,
    pub(crate) last_offset: i64,
    /// Header included.
    pub(crate) bytes: usize,
    pub(crate) magic: u8,
    pub(crate) records: i32,
    pub(crate) producer_id: i64,
    pub(crate) transactional: bool,
    pub(crate) control: bool,
}

impl Head {
    /// The header of the first batch; `None`: there are fewer bytes than one has.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let base_offset = long(header, 0);
        let attributes = header[at::ATTRIBUTES + 1];
        let length = usize::try_from(int(header, at::LENGTH)).ok()?;
        Some(Self {
            base_offset,
            last_offset: base_offset.saturating_add(int(header, at::LAST_OFFSET_DELTA).into()),
            bytes: length.checked_add(at::LEADER_EPOCH)?,
            magic: header[at::MAGIC],
            records: int(header, at::RECORDS),
            producer_id: long(header, at::PRODUCER_ID),
            transactional: attributes & TRANSACTIONAL != 0,
            control: attributes & CONTROL != 0,
        })
    }

    /// Whether a control batch says that its producer's transaction was aborted. Its record's key
    /// is a version (i16) and a type (i16; 0: abort), after the record's length, attributes, two
    /// deltas and the key's length, each one byte.
    pub(crate) fn is_abort(&self, bytes: &[u8]) -> bool {
        self.control && bytes.get(HEADER_BYTES + 7..HEADER_BYTES + 9) == Some(&[0, 0])
    }
}

fn int(header: &[u8; HEADER_BYTES], at: usize) -> i32 {
    let mut field = [0; 4];
    field.copy_from_slice(&header[at..at + 4]);
    i32::from_be_bytes(field)
}

fn long(header: &[u8; HEADER_BYTES], at: usize) -> i64 {
    let mut field = [0; 8];
    field.copy_from_slice(&header[at..at + 8]);
    i64::from_be_bytes(field)
}
