//! Reads rows: pgoutput's `TupleData` behind its kind byte. Snapshot rows are brought into the
//! same form, so that snapshot and stream give the same values by construction.

use std::sync::Arc;

use lattice_core::{Error, Result, event::RowDecoder, value::Value};

use crate::{
    protocol::reader::{Malformed, Reader},
    types::{Decoder, change::ColumnChange},
};

/// A column as it comes over the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct WireColumn {
    /// Its name, for errors.
    pub name: Arc<str>,
    /// Its decoder; `None`: it is not captured.
    pub decoder: Option<Decoder>,
    /// What is done to its values.
    pub change: Option<ColumnChange>,
    /// What stands in its place where an old key does not hold it, if it must have a value whose zero its schema does not
    /// tell: a number that is written as text.
    pub missing: Option<&'static str>,
}

/// Reads one table's rows.
///
/// Shape: a kind byte (`N` new, `O` old row, `K` old key), the number of columns (i16), then for
/// each `n` (NULL), `u` (unchanged, out of line) or `t`, a length (i32) and text.
///
/// In an old key (`K`) the columns that are not part of the replica identity come as NULL though
/// they may have a value: they are given as [`Value::Missing`]. `u` is [`Value::Unchanged`]; with
/// replica identity full the real value stands in the event's `before`, from which the codec
/// takes it.
#[derive(Debug, PartialEq)]
pub struct TupleDecoder {
    table: String,
    columns: Vec<WireColumn>,
}

impl TupleDecoder {
    /// A decoder for `table`, which is named in errors.
    #[must_use]
    pub fn new(table: String, columns: Vec<WireColumn>) -> Self {
        Self { table, columns }
    }

    fn malformed(&self) -> Error {
        Error::data(format!("bytes are not a row of {}", self.table))
    }
}

impl RowDecoder for TupleDecoder {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let mut reader = Reader::new(row);
        let malformed = |_| self.malformed();
        let kind = reader.u8().map_err(malformed)?;
        let count = reader.i16().map_err(malformed)?;
        if usize::try_from(count) != Ok(self.columns.len()) {
            return Err(self.malformed());
        }
        for column in &self.columns {
            let value = match reader.u8().map_err(malformed)? {
                b'n' if kind == b'K' => column.missing.map_or(Value::Missing, Value::text),
                b'n' => Value::Null,
                b'u' => Value::Unchanged,
                b't' => {
                    let len = reader.u32().map_err(malformed)? as usize;
                    let raw = reader.take(len).map_err(malformed)?;
                    match &column.decoder {
                        None => continue,
                        Some(decoder) => decoder.decode(raw).map_err(|error| {
                            Error::data(format!(
                                "read column \"{}\" of {}: {}",
                                column.name, self.table, error.0
                            ))
                        })?,
                    }
                }
                _ => return Err(self.malformed()),
            };
            if column.decoder.is_some() {
                out.push(match &column.change {
                    None => value,
                    Some(change) => change.apply(value),
                });
            }
        }
        Ok(())
    }
}

/// A column of a row, not decoded.
#[derive(Debug, PartialEq)]
pub(crate) enum Field<'a> {
    Null,
    Unchanged,
    Text(&'a [u8]),
}

/// The columns of a row.
pub(crate) fn fields(tuple: &[u8]) -> Result<Vec<Field<'_>>, Malformed> {
    let mut reader = Reader::new(tuple);
    reader.u8()?;
    let count = reader.i16()?;
    (0..count)
        .map(|_| {
            Ok(match reader.u8()? {
                b'n' => Field::Null,
                b'u' => Field::Unchanged,
                _ => {
                    let len = reader.u32()? as usize;
                    Field::Text(reader.take(len)?)
                }
            })
        })
        .collect()
}

/// A table without columns: what logical decoding messages belong to.
#[derive(Debug)]
pub struct NoColumns;

impl RowDecoder for NoColumns {
    fn decode<'a>(&self, _row: &'a [u8], _out: &mut Vec<Value<'a>>) -> Result<()> {
        Ok(())
    }
}

/// Appends a row of `COPY`'s text format to `out` in the stream's form.
///
/// Errors: a row that has not `columns` columns or is not `COPY`'s.
pub fn append_copy_row(row: &[u8], columns: usize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    out.push(b'N');
    let count = u16::try_from(columns).map_err(|_| "more than 65535 columns")?;
    out.extend_from_slice(&count.to_be_bytes());
    if columns == 0 {
        return Ok(());
    }
    let (mut rest, mut found) = (row, 0);
    while let Some(next) = append_field(rest, out)? {
        rest = next;
        found += 1;
    }
    if found + 1 == columns { Ok(()) } else { Err("the number of columns differs") }
}

/// Appends the first field of `row`; gives what stands behind its tab, `None` after the last.
///
/// By hand and in one pass: most fields are shorter than a search function's preparations.
fn append_field<'a>(row: &'a [u8], out: &mut Vec<u8>) -> Result<Option<&'a [u8]>, &'static str> {
    if let Some(rest) = row.strip_prefix(b"\\N") {
        out.push(b'n');
        return match rest.split_first() {
            None => Ok(None),
            Some((b'\t', rest)) => Ok(Some(rest)),
            Some(_) => Err("a NULL with something behind it"),
        };
    }
    let at = out.len();
    out.extend_from_slice(b"t\0\0\0\0");
    let mut rest = row;
    let next = loop {
        let special = rest.iter().position(|byte| *byte == b'\t' || *byte == b'\\');
        let Some(special) = special else {
            out.extend_from_slice(rest);
            break None;
        };
        let (plain, behind) = rest.split_at(special);
        out.extend_from_slice(plain);
        match behind {
            [b'\t', behind @ ..] => break Some(behind),
            [_, escaped, behind @ ..] => {
                out.push(unescaped(*escaped));
                rest = behind;
            }
            _ => return Err("a backslash at the end"),
        }
    };
    let len = u32::try_from(out.len() - at - 5).map_err(|_| "a value of more than 4 GiB")?;
    if let Some(place) = out.get_mut(at + 1..at + 5) {
        place.copy_from_slice(&len.to_be_bytes());
    }
    Ok(next)
}

fn unescaped(escaped: u8) -> u8 {
    match escaped {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoder(names: &[&str]) -> TupleDecoder {
        let column = |name: &&str| WireColumn {
            name: (*name).into(),
            decoder: Some(Decoder::Text),
            change: None,
            missing: None,
        };
        TupleDecoder::new("public.t".to_owned(), names.iter().map(column).collect())
    }

    #[test]
    fn copy_rows_become_rows_of_the_stream() {
        let mut row = Vec::new();
        append_copy_row(b"a\\tb\\\\\t\\N\t\n", 3, &mut row).unwrap();
        let mut values = Vec::new();
        decoder(&["x", "y", "z"]).decode(&row, &mut values).unwrap();
        assert_eq!(values, [Value::text("a\tb\\"), Value::Null, Value::text("")]);
        for bad in [&b"a\tb"[..], b"a\tb\tc\td", b"a\tb\t\\", b"a\t\\Nb\tc"] {
            assert!(append_copy_row(bad, 3, &mut Vec::new()).is_err());
        }
        let mut row = Vec::new();
        append_copy_row(b"\\\\N\t\t\\t\\n\\r\\b\\f\\v\\x\n", 3, &mut row).unwrap();
        let mut values = Vec::new();
        decoder(&["x", "y", "z"]).decode(&row, &mut values).unwrap();
        let last = Value::text("\t\n\r\u{8}\u{c}\u{b}x");
        assert_eq!(values, [Value::text("\\N"), Value::text(""), last]);
    }

    #[test]
    fn what_an_old_key_does_not_hold_is_missing_and_not_null() {
        let mut values = Vec::new();
        decoder(&["id", "x"]).decode(b"K\0\x02t\0\0\0\x011n", &mut values).unwrap();
        assert_eq!(values, [Value::text("1"), Value::Missing]);
    }

    #[test]
    fn a_bad_value_names_its_column() {
        let column = WireColumn {
            name: "n".into(),
            decoder: Some(Decoder::Int),
            change: None,
            missing: None,
        };
        let decoder = TupleDecoder::new("public.t".to_owned(), vec![column]);
        let error = decoder.decode(b"N\0\x01t\0\0\0\x01x", &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("column \"n\" of public.t"), "{error}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = decoder(&["x", "y"]).decode(&bytes, &mut Vec::new());
            let _ = append_copy_row(&bytes, 2, &mut Vec::new());
        }
    }
}
