//! Buffers of batches that were handed over and are used again once nobody reads them: fresh
//! memory would have to be cleared by the system for every batch.

use bytes::{Bytes, BytesMut};

/// As many as are under way at once: one filled, one encoded, one that waits.
const MOST: usize = 3;

/// Larger ones are not kept. Units: bytes.
const LARGEST: usize = 4 << 20;

/// Handles on what was handed over.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    given: Vec<Bytes>,
}

impl Buffers {
    /// An empty buffer.
    pub(crate) fn take(&mut self) -> BytesMut {
        let Some(free) = self.given.iter().position(Bytes::is_unique) else {
            return BytesMut::new();
        };
        let mut buffer = self.given.swap_remove(free).try_into_mut().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// An empty buffer, as a vector.
    pub(crate) fn take_vec(&mut self) -> Vec<u8> {
        self.take().into()
    }

    /// Remembers a buffer that was handed over.
    pub(crate) fn remember(&mut self, data: &Bytes) {
        if self.given.len() < MOST && data.len() <= LARGEST {
            self.given.push(data.clone());
        }
    }

    /// Gives all memory back.
    pub(crate) fn forget(&mut self) {
        self.given.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_only_when_nobody_reads_it() {
        let mut buffers = Buffers::default();
        let mut first = BytesMut::with_capacity(10_000);
        first.extend_from_slice(b"rows");
        let first = first.freeze();
        buffers.remember(&first);
        assert_eq!(buffers.take().capacity(), 0);
        assert_eq!(first, "rows");
        drop(first);
        let again = buffers.take();
        assert!(again.is_empty() && again.capacity() >= 10_000);
        assert_eq!(buffers.take().capacity(), 0);
        let mut vector = Vec::with_capacity(10_000);
        vector.push(1);
        buffers.remember(&Bytes::from(vector));
        let again = buffers.take_vec();
        assert!(again.is_empty() && again.capacity() >= 10_000);
    }
}
