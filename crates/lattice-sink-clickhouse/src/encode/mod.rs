//! Rows to Native blocks: a column's name, its type, its values, column after column.

pub(crate) mod builder;
mod form;
mod frozen;
pub(crate) mod moment;
mod open;
pub(crate) mod rows;
mod scalar;
pub(crate) mod step;
mod text;

use bytes::Bytes;

use frozen::Frozen;
use scalar::put_text;

/// A column of a block: name, wire type, values.
#[derive(Debug, Clone)]
pub(crate) struct BlockColumn {
    pub(crate) name: String,
    pub(crate) wire: String,
    pub(crate) values: Frozen,
}

/// Encodes a block of `rows` rows.
///
/// Shape: number of columns and of rows as seven-bit groups; then per column its name and type as
/// length and text, and the values: null map, then offsets, then data.
/// Source: <https://clickhouse.com/docs/interfaces/formats/Native>
pub(crate) fn block(columns: &[BlockColumn], rows: usize) -> Vec<Bytes> {
    let mut head = Vec::new();
    put_number(&mut head, columns.len());
    put_number(&mut head, rows);
    let mut chunks = Vec::with_capacity(columns.len() * 3);
    for column in columns {
        put_text(&mut head, column.name.as_bytes());
        put_text(&mut head, column.wire.as_bytes());
        chunks.push(Bytes::from(std::mem::take(&mut head)));
        column.values.chunks(&mut chunks);
    }
    chunks.retain(|chunk| !chunk.is_empty());
    chunks
}

fn put_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push((number & 0x7F) as u8 | 0x80); // seven bits
        number >>= 7;
    }
    out.push(number as u8); // seven bits are left
}
