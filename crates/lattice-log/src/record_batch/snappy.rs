//! Snappy as Kafka's clients write it: in the framing of the Java library snappy-java, or bare.
//!
//! Shape of the framing: magic `82 SNAPPY 00`, version i32, oldest version that can read it i32; then blocks of
//! i32 length and that many bytes of raw snappy, to the end. Big-endian. Streams may follow each other.
//! Source: <https://github.com/xerial/snappy-java>, its `SnappyOutputStream`.

use std::io::{Error, Result};

const MAGIC: [u8; 8] = *b"\x82SNAPPY\x00";
/// The magic, and twice version 1.
const HEADER: [u8; 16] = *b"\x82SNAPPY\x00\0\0\0\x01\0\0\0\x01";
/// What a block holds unpacked: as much as Java's producer puts into one.
const BLOCK_BYTES: usize = 32 * 1024;

/// Appends the records, packed and framed.
pub(super) fn pack(records: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&HEADER);
    let mut encoder = snap::raw::Encoder::new();
    let mut packed = vec![0; snap::raw::max_compress_len(BLOCK_BYTES)];
    for block in records.chunks(BLOCK_BYTES) {
        let size = encoder.compress(block, &mut packed).map_err(Error::other)?;
        out.extend_from_slice(&(size as u32).to_be_bytes());
        out.extend_from_slice(&packed[..size]);
    }
    Ok(())
}

/// Appends what the bytes unpack to, and gives how much that is. More than `most` bytes are an error, before room is
/// made for them.
pub(super) fn unpack(packed: &[u8], most: usize, data: &mut Vec<u8>) -> Result<usize> {
    if !packed.starts_with(&MAGIC) {
        // Clients without the Java library write one raw block.
        return block(packed, most, data);
    }
    let (mut rest, mut total) = (packed, 0);
    while !rest.is_empty() {
        if rest.starts_with(&MAGIC) {
            rest = rest.get(HEADER.len()..).ok_or_else(cut_off)?;
            continue;
        }
        let (length, behind) = rest.split_first_chunk().ok_or_else(cut_off)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (packed, behind) = behind.split_at_checked(length).ok_or_else(cut_off)?;
        total += block(packed, most - total, data)?;
        rest = behind;
    }
    Ok(total)
}

fn block(packed: &[u8], most: usize, data: &mut Vec<u8>) -> Result<usize> {
    let length = snap::raw::decompress_len(packed).map_err(Error::other)?;
    // No snappy packs more tightly than 64 bytes into three: whoever says more has made it up.
    if length > most || length / 64 > packed.len() {
        return Err(Error::other(format!("a block says that it unpacks to {length} bytes")));
    }
    let start = data.len();
    data.resize(start + length, 0);
    snap::raw::Decoder::new().decompress(packed, &mut data[start..]).map_err(Error::other)
}

fn cut_off() -> Error {
    Error::other("it is cut off")
}
