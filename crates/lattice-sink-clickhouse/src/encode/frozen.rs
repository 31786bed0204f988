//! A finished column of a Native block.

use bytes::Bytes;

/// How a finished column's rows lie in its data.
#[derive(Debug, Clone, Copy)]
pub(super) enum Layout {
    Fixed(usize),
    Text,
    /// Ends of arrays, 8 bytes each; the elements are in the children.
    Array,
}

/// A finished column. Cheap to clone and to slice.
#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    pub(super) layout: Layout,
    pub(super) nulls: Option<Bytes>,
    pub(super) data: Bytes,
    pub(super) children: Vec<Frozen>,
}

impl Frozen {
    /// The rows from `start` up to `end`.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        let nulls = self.nulls.as_ref().map(|nulls| nulls.slice(start..end));
        let (data, children) = match self.layout {
            Layout::Fixed(width) => (self.data.slice(start * width..end * width), Vec::new()),
            Layout::Text => {
                let (start, end) = (text_end(&self.data, start), text_end(&self.data, end));
                (self.data.slice(start..end), Vec::new())
            }
            Layout::Array => {
                let ends: Vec<u64> = self
                    .data
                    .chunks_exact(8)
                    .map(|end| end.iter().rev().fold(0, |all, byte| (all << 8) | u64::from(*byte)))
                    .collect();
                let first = start.checked_sub(1).and_then(|at| ends.get(at)).copied().unwrap_or(0);
                let last = end.checked_sub(1).and_then(|at| ends.get(at)).copied().unwrap_or(0);
                let kept = ends.iter().take(end).skip(start);
                let data: Vec<u8> = kept.flat_map(|at| (at - first).to_le_bytes()).collect();
                let range = (first as usize, last as usize); // lengths of what is in memory
                let children = self.children.iter().map(|child| child.slice(range.0, range.1));
                (data.into(), children.collect())
            }
        };
        Self { layout: self.layout, nulls, data, children }
    }

    /// Appends the column's bytes, in the order a Native block has them, to `chunks`.
    pub(crate) fn chunks(&self, chunks: &mut Vec<Bytes>) {
        if let Some(nulls) = &self.nulls {
            chunks.push(nulls.clone());
        }
        chunks.push(self.data.clone());
        for child in &self.children {
            child.chunks(chunks);
        }
    }
}

/// Where the first `rows` texts end.
pub(super) fn text_end(data: &[u8], rows: usize) -> usize {
    let mut at = 0;
    for _ in 0..rows {
        let (mut length, mut shift) = (0usize, 0);
        while let Some(byte) = data.get(at) {
            at += 1;
            length |= usize::from(byte & 0x7F) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        at = at.saturating_add(length);
    }
    at.min(data.len())
}
