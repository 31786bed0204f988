//! Frames of the server's messages, and the few bodies that matter to us.

use super::reader::{Malformed, Reader};

/// No server message of ours is larger; a larger length means that the stream is out of step.
const MAX_FRAME: usize = (1 << 31) - 1;

/// A message: its tag and where its body lies in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The message's type.
    pub tag: u8,
    /// The body's first byte.
    pub start: usize,
    /// The first byte behind the body.
    pub end: usize,
}

/// Finds the message that starts at `at`. `Ok(None)`: it is not complete yet.
///
/// Errors: a length that cannot be.
pub fn frame(buffer: &[u8], at: usize) -> Result<Option<Frame>, Malformed> {
    let Some(header) = buffer.get(at..).filter(|rest| rest.len() >= 5) else {
        return Ok(None);
    };
    let mut reader = Reader::new(header);
    let tag = reader.u8()?;
    let len = usize::try_from(reader.i32()?).map_err(|_| Malformed("negative length"))?;
    if !(4..=MAX_FRAME).contains(&len) {
        return Err(Malformed("impossible length"));
    }
    let (start, end) = (at + 5, at + 1 + len);
    Ok((end <= buffer.len()).then_some(Frame { tag, start, end }))
}

/// How many bytes the message at `at` needs in all, if its header has come.
#[must_use]
pub fn frame_len(buffer: &[u8], at: usize) -> Option<usize> {
    let len = buffer.get(at + 1..at + 5)?;
    let len = u32::from_be_bytes([len[0], len[1], len[2], len[3]]) as usize;
    (len <= MAX_FRAME).then_some(len + 1)
}

/// What stands in an `ErrorResponse` or `NoticeResponse`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorFields {
    /// `ERROR`, `FATAL`, …
    pub severity: String,
    /// The SQLSTATE.
    pub code: String,
    /// The message.
    pub message: String,
    /// The detail, if any.
    pub detail: Option<String>,
    /// The hint, if any.
    pub hint: Option<String>,
}

/// Reads an error's fields; unreadable parts are left out.
#[must_use]
pub fn error_fields(body: &[u8]) -> ErrorFields {
    let mut fields = ErrorFields::default();
    for part in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = part.split_first() else { continue };
        let text = String::from_utf8_lossy(text).into_owned();
        match kind {
            b'V' => fields.severity = text,
            b'S' if fields.severity.is_empty() => fields.severity = text,
            b'C' => fields.code = text,
            b'M' => fields.message = text,
            b'D' => fields.detail = Some(text),
            b'H' => fields.hint = Some(text),
            _ => {}
        }
    }
    fields
}

/// Reads a `DataRow` in text format.
pub fn data_row(body: &[u8]) -> Result<Vec<Option<String>>, Malformed> {
    let mut reader = Reader::new(body);
    let count = reader.i16()?;
    let mut row = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    for _ in 0..count {
        row.push(match usize::try_from(reader.i32()?) {
            Ok(len) => Some(String::from_utf8_lossy(reader.take(len)?).into_owned()),
            Err(_) => None,
        });
    }
    Ok(row)
}

/// A message of the replication stream, inside `CopyData`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication<'a> {
    /// `XLogData`: a piece of the log.
    Data {
        /// Where the message stands in the log.
        lsn: u64,
        /// Units: µs since 2000-01-01 UTC.
        clock_us: i64,
        /// The plugin's message.
        payload: &'a [u8],
    },
    /// `Primary keepalive`.
    KeepAlive {
        /// Everything before it was sent.
        wal_end: u64,
        /// Whether the server wants an answer now.
        reply: bool,
    },
}

/// How many bytes of `CopyData` stand before the payload of [`Replication::Data`].
pub const DATA_HEADER: usize = 25;

/// Reads a `CopyData` body of the replication stream.
pub fn replication(body: &[u8]) -> Result<Replication<'_>, Malformed> {
    let mut reader = Reader::new(body);
    match reader.u8()? {
        b'w' => {
            let lsn = reader.u64()?;
            let _end = reader.u64()?;
            let clock_us = reader.i64()?;
            Ok(Replication::Data { lsn, clock_us, payload: reader.rest() })
        }
        b'k' => {
            let wal_end = reader.u64()?;
            let _clock = reader.i64()?;
            Ok(Replication::KeepAlive { wal_end, reply: reader.u8()? != 0 })
        }
        _ => Err(Malformed("unknown replication message")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = frame(&bytes, 0);
            let _ = frame_len(&bytes, 0);
            let _ = error_fields(&bytes);
            let _ = data_row(&bytes);
            let _ = replication(&bytes);
        }

        #[test]
        fn a_stream_split_anywhere_gives_the_same_frames(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..8),
            split in any::<proptest::sample::Index>(),
        ) {
            let mut stream = Vec::new();
            for body in &bodies {
                stream.push(b'd');
                stream.extend_from_slice(&u32::try_from(body.len() + 4).unwrap().to_be_bytes());
                stream.extend_from_slice(body);
            }
            let split = split.index(stream.len() + 1);
            let mut found = Vec::new();
            let mut at = 0;
            for end in [split, stream.len()] {
                while let Some(frame) = frame(&stream[..end], at).unwrap() {
                    found.push(stream[frame.start..frame.end].to_vec());
                    at = frame.end;
                }
            }
            prop_assert_eq!(found, bodies);
        }
    }
}
