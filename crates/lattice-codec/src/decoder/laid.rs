//! Rows of values that are laid down in a form of their own, for transformed records: a byte that
//! says what follows, then the value.

use lattice_core::{
    error::{Error, Result},
    event::{Column, RowDecoder},
    value::Value,
};

use crate::{
    avro::{Damage, Input, write_bytes, write_long},
    filler,
};

const NULL: u8 = 0;
const MISSING: u8 = 1;
const UNCHANGED: u8 = 2;
const FALSE: u8 = 3;
const TRUE: u8 = 4;
const INT: u8 = 5;
const FLOAT32: u8 = 6;
const FLOAT64: u8 = 7;
const TEXT: u8 = 8;
const BYTES: u8 = 9;
const ARRAY: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Lays a value down.
pub(super) fn lay(value: &Value<'_>, out: &mut Vec<u8>) {
    let count = |tag: u8, count: usize, out: &mut Vec<u8>| {
        out.push(tag);
        write_long(i64::try_from(count).unwrap_or(i64::MAX), out);
    };
    match value {
        Value::Null => out.push(NULL),
        Value::Missing => out.push(MISSING),
        Value::Unchanged => out.push(UNCHANGED),
        Value::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Value::Int(value) => {
            out.push(INT);
            write_long(*value, out);
        }
        Value::Float32(value) => {
            out.push(FLOAT32);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Float64(value) => {
            out.push(FLOAT64);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Text(text) => {
            out.push(TEXT);
            write_bytes(text.as_bytes(), out);
        }
        Value::Bytes(bytes) => {
            out.push(BYTES);
            write_bytes(bytes.as_slice(), out);
        }
        Value::Array(items) => {
            count(ARRAY, items.len(), out);
            items.iter().for_each(|item| lay(item, out));
        }
        Value::Map(items) => {
            count(MAP, items.len(), out);
            for (key, item) in items {
                lay(key, out);
                lay(item, out);
            }
        }
        Value::Struct(items) => {
            count(STRUCT, items.len(), out);
            items.iter().for_each(|item| lay(item, out));
        }
    }
}

fn take<'a>(input: &mut Input<'a>) -> Result<Value<'a>, Damage> {
    let tag = input.take(1)?.first().copied().unwrap_or(NULL);
    Ok(match tag {
        NULL => Value::Null,
        MISSING => Value::Missing,
        UNCHANGED => Value::Unchanged,
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        INT => Value::Int(input.long()?),
        FLOAT32 => Value::Float32(f32::from_le_bytes(fixed(input)?)),
        FLOAT64 => Value::Float64(f64::from_le_bytes(fixed(input)?)),
        TEXT => Value::text(input.text()?),
        BYTES => Value::bytes(input.bytes()?),
        ARRAY => Value::Array(many(input, take)?),
        MAP => Value::Map(many(input, |input| Ok((take(input)?, take(input)?)))?),
        STRUCT => Value::Struct(many(input, take)?),
        _ => return Err("an unknown kind of value".into()),
    })
}

fn fixed<const N: usize>(input: &mut Input<'_>) -> Result<[u8; N], Damage> {
    input.take(N)?.first_chunk().copied().ok_or_else(|| "too short".into())
}

fn many<'a, T>(
    input: &mut Input<'a>,
    one: impl Fn(&mut Input<'a>) -> Result<T, Damage>,
) -> Result<Vec<T>, Damage> {
    let count = input.long()?;
    (0..count).map(|_| one(input)).collect()
}

/// Reads rows that were laid down.
#[derive(Debug)]
pub(super) struct LaidRow {
    /// What stands for an unchanged value in each column.
    placeholders: Vec<Option<Value<'static>>>,
}

impl LaidRow {
    pub(super) fn new(columns: &[Column], placeholder: &[u8]) -> Self {
        let of = |column: &Column| filler::placeholder(&column.schema, placeholder);
        Self { placeholders: columns.iter().map(of).collect() }
    }
}

impl RowDecoder for LaidRow {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let mut input = Input::new(row);
        for placeholder in &self.placeholders {
            let value = take(&mut input).map_err(|damage| {
                Error::data(format!("read a transformed row: {}", damage.reason()))
            })?;
            let unchanged = placeholder.as_ref().is_some_and(|placeholder| *placeholder == value);
            out.push(if unchanged { Value::Unchanged } else { value });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lattice_core::value::Text;

    use super::*;

    #[test]
    fn what_is_laid_down_is_read_again() {
        let values = vec![
            Value::Null,
            Value::Bool(true),
            Value::Int(-7),
            Value::Float32(1.5),
            Value::Float64(f64::MIN),
            Value::Text(Text::copied("é")),
            Value::bytes(&[0, 255]),
            Value::Array(vec![Value::Int(1), Value::Null]),
            Value::Map(vec![(Value::text("a"), Value::Struct(vec![Value::Missing]))]),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|value| lay(value, &mut bytes));
        let row = LaidRow { placeholders: vec![None; values.len()] };
        let mut read = Vec::new();
        row.decode(&bytes, &mut read).unwrap();
        assert_eq!(read, values);
        assert!(row.decode(&bytes[..4], &mut Vec::new()).is_err());
    }
}
