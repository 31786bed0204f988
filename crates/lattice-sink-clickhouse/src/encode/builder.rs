//! One column of a Native block, filled value by value.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use lattice_core::{
    schema::{Schema, Type},
    value::Value,
};

use super::{
    moment::{Moment, Ticks},
    text,
};
use crate::{
    config::OutOfRange,
    profile::Profile,
    types::{self, ChType},
    wide::Wide,
};

/// Why a value cannot be in its column.
pub(crate) type Refusal = String;

/// How values become the column's bytes.
#[derive(Debug, Clone)]
enum Form {
    /// Whole numbers of a width, within a range.
    Int {
        bytes: usize,
        low: i128,
        high: i128,
    },
    Float32,
    Float64,
    /// Text and bytes as they are.
    Raw,
    /// Any value as text.
    Text(Arc<Schema>),
    /// Text and bytes of at most this length, filled up with zeros.
    Padded(usize),
    Uuid,
    Moment(Moment),
    Decimal {
        bytes: usize,
        precision: u32,
        scale: i64,
        from: i64,
    },
    Enum {
        bytes: usize,
        labels: HashMap<Box<[u8]>, i16>,
    },
    Array,
    Map,
}

/// A column under construction.
#[derive(Debug, Clone)]
pub(crate) struct Builder {
    form: Form,
    nullable: bool,
    policy: OutOfRange,
    nulls: Vec<u8>,
    data: Vec<u8>,
    /// Element, or key and value.
    children: Vec<Builder>,
    /// Values in this column so far.
    rows: usize,
    /// Where the last row began in `data` and, for arrays, in the children.
    mark: usize,
    /// Values that were changed to fit.
    pub(crate) coerced: u64,
}

impl Builder {
    /// A builder for `schema`'s values in a column of type `target`. `None`: no such conversion.
    pub(crate) fn new(
        schema: &Arc<Schema>,
        target: &ChType,
        profile: &Profile,
        policy: OutOfRange,
    ) -> Option<Self> {
        let (base, nullable) = target.base();
        let mut children = Vec::new();
        let mut child = |schema: &Arc<Schema>, target: &ChType| {
            children.push(Self::new(schema, target, profile, policy)?);
            Some(())
        };
        let form = match base {
            ChType::Array(inner) => {
                child(schema.element.as_ref().filter(|_| schema.kind == Type::Array)?, inner)?;
                Form::Array
            }
            ChType::Map(key, value) => {
                child(schema.key.as_ref()?, key)?;
                child(schema.element.as_ref()?, value)?;
                Form::Map
            }
            _ => form(schema, base, profile)?,
        };
        Some(Self {
            form,
            nullable,
            policy,
            nulls: Vec::new(),
            data: Vec::new(),
            children,
            rows: 0,
            mark: 0,
            coerced: 0,
        })
    }

    /// An empty builder of the same kind.
    pub(crate) fn fresh(&self) -> Self {
        let mut fresh = self.clone();
        fresh.truncate(0);
        fresh.coerced = 0;
        fresh
    }

    /// Appends a value. On a refusal nothing is appended.
    #[inline]
    pub(crate) fn push(&mut self, value: &Value<'_>) -> Result<(), Refusal> {
        self.mark = self.data.len();
        match value {
            Value::Missing => self.default_row(),
            Value::Null | Value::Unchanged => self.push_null()?,
            value => {
                if !self.append(value)? {
                    return Ok(());
                }
                if self.nullable {
                    self.nulls.push(0);
                }
                self.rows += 1;
            }
        }
        Ok(())
    }

    /// Appends NULL, or the type's zero where there is no NULL: a deleted row's other columns.
    pub(crate) fn push_or_default(&mut self, value: &Value<'_>) {
        if self.push(value).is_err() {
            self.default_row();
        }
    }

    /// Takes the last row back.
    pub(crate) fn pop(&mut self) {
        let rows = self.rows.saturating_sub(1);
        match self.form {
            Form::Raw | Form::Text(_) => {
                self.data.truncate(self.mark);
                self.rows = rows;
                self.nulls.truncate(if self.nullable { rows } else { 0 });
            }
            _ => self.truncate(rows),
        }
    }

    /// Keeps the first `rows` rows; for texts only none or all.
    fn truncate(&mut self, rows: usize) {
        self.rows = rows;
        self.nulls.truncate(if self.nullable { rows } else { 0 });
        match &self.form {
            Form::Raw | Form::Text(_) => self.data.truncate(text_end(&self.data, rows)),
            Form::Array | Form::Map => {
                self.data.truncate(rows * 8);
                let end = self.data.last_chunk().map_or(0, |end| u64::from_le_bytes(*end));
                for child in &mut self.children {
                    child.truncate(usize::try_from(end).unwrap_or(usize::MAX));
                }
            }
            _ => self.data.truncate(rows * self.width()),
        }
    }

    fn push_null(&mut self) -> Result<(), Refusal> {
        if !self.nullable && !matches!(self.form, Form::Array | Form::Map) {
            return Err("NULL, and the column is not Nullable".to_owned());
        }
        self.default_row();
        if self.nullable
            && let Some(null) = self.nulls.last_mut()
        {
            *null = 1;
        }
        Ok(())
    }

    fn default_row(&mut self) {
        match &self.form {
            Form::Raw | Form::Text(_) => self.data.push(0),
            Form::Array | Form::Map => self.close_array(),
            Form::Enum { bytes, labels } => {
                // The zero of an enum is its smallest label.
                let least = labels.values().min().copied().unwrap_or(0);
                let bytes = *bytes;
                self.data.extend_from_slice(&least.to_le_bytes()[..bytes]);
            }
            _ => self.data.resize(self.data.len() + self.width(), 0),
        }
        if self.nullable {
            self.nulls.push(0);
        }
        self.rows += 1;
    }

    fn width(&self) -> usize {
        match &self.form {
            Form::Int { bytes, .. } | Form::Decimal { bytes, .. } | Form::Enum { bytes, .. } => {
                *bytes
            }
            Form::Float32 => 4,
            Form::Float64 | Form::Array | Form::Map => 8,
            Form::Moment(moment) => moment.bytes,
            Form::Uuid => 16,
            Form::Padded(length) => *length,
            Form::Raw | Form::Text(_) => 0,
        }
    }

    /// Appends a present value's bytes. `false`: it became NULL, and the row is complete.
    #[inline]
    fn append(&mut self, value: &Value<'_>) -> Result<bool, Refusal> {
        match (&self.form, value) {
            (Form::Int { bytes, low, high }, Value::Int(number)) => {
                let wide = i128::from(*number);
                if wide < *low || wide > *high {
                    return self.outside(|| format!("{number} is outside the column's range"));
                }
                let bytes = *bytes;
                self.data.extend_from_slice(&number.to_le_bytes()[..bytes]);
            }
            (Form::Int { bytes, .. }, Value::Bool(flag)) => {
                let bytes = *bytes;
                self.data.extend_from_slice(&i64::from(*flag).to_le_bytes()[..bytes]);
            }
            (Form::Float64, Value::Float64(number)) => {
                self.data.extend_from_slice(&number.to_le_bytes());
            }
            (Form::Float64, Value::Float32(number)) => {
                self.data.extend_from_slice(&f64::from(*number).to_le_bytes());
            }
            (Form::Float64, Value::Int(number)) => {
                self.data.extend_from_slice(&(*number as f64).to_le_bytes());
            }
            (Form::Float32, Value::Float32(number)) => {
                self.data.extend_from_slice(&number.to_le_bytes());
            }
            (Form::Raw, Value::Text(text)) => put_text(&mut self.data, text.as_bytes()),
            (Form::Raw, Value::Bytes(bytes)) => put_text(&mut self.data, bytes.as_slice()),
            (Form::Moment(moment), value) => match moment.ticks(value) {
                Ticks::Exact(ticks) => {
                    self.data.extend_from_slice(&ticks.to_le_bytes()[..moment.bytes]);
                }
                Ticks::Clamped(ticks) => {
                    if self.policy != OutOfRange::Clamp {
                        return self.outside(|| "a time outside the column's range".to_owned());
                    }
                    self.coerced += 1;
                    self.data.extend_from_slice(&ticks.to_le_bytes()[..moment.bytes]);
                }
                Ticks::Unreadable => return Err("not a date or time that can be read".to_owned()),
            },
            _ => return self.append_rare(value),
        }
        Ok(true)
    }

    fn append_rare(&mut self, value: &Value<'_>) -> Result<bool, Refusal> {
        match (&self.form, value) {
            (Form::Text(schema), value) => {
                let text = text::render(schema, value);
                put_text(&mut self.data, text.as_bytes());
            }
            (Form::Padded(length), Value::Text(text)) => {
                let end = self.data.len() + length;
                put_padded(&mut self.data, text.as_bytes(), end)?;
            }
            (Form::Padded(length), Value::Bytes(bytes)) => {
                let end = self.data.len() + length;
                put_padded(&mut self.data, bytes.as_slice(), end)?;
            }
            (Form::Uuid, Value::Text(text)) => match uuid(text.as_bytes()) {
                Some(bytes) => self.data.extend_from_slice(&bytes),
                None => return Err("not a UUID".to_owned()),
            },
            (Form::Decimal { .. }, value) => return self.append_decimal(value),
            (Form::Enum { bytes, labels }, Value::Text(text)) => {
                match labels.get(text.as_bytes()) {
                    Some(number) => {
                        let bytes = *bytes;
                        self.data.extend_from_slice(&number.to_le_bytes()[..bytes]);
                    }
                    None => return Err("no label of the column's Enum".to_owned()),
                }
            }
            (Form::Array, Value::Array(items)) => {
                self.append_items(items.iter().map(std::slice::from_ref))?;
            }
            (Form::Map, Value::Map(items)) => {
                let pairs: Vec<[Value<'_>; 2]> =
                    items.iter().map(|(key, item)| [key.clone(), item.clone()]).collect();
                self.append_items(pairs.iter().map(<[Value<'_>; 2]>::as_slice))?;
            }
            _ => return Err("a value of another kind than its schema says".to_owned()),
        }
        Ok(true)
    }

    fn append_items<'v>(
        &mut self,
        items: impl Iterator<Item = &'v [Value<'v>]>,
    ) -> Result<(), Refusal> {
        let before: Vec<usize> = self.children.iter().map(|child| child.rows).collect();
        for item in items {
            for (at, value) in item.iter().enumerate() {
                if let Err(refusal) = self.children[at].push(value) {
                    for (child, rows) in self.children.iter_mut().zip(before) {
                        child.truncate(rows);
                    }
                    return Err(format!("an element is {refusal}"));
                }
            }
        }
        self.close_array();
        Ok(())
    }

    fn close_array(&mut self) {
        let end = self.children.first().map_or(0, |child| child.rows) as u64;
        self.data.extend_from_slice(&end.to_le_bytes());
    }

    fn append_decimal(&mut self, value: &Value<'_>) -> Result<bool, Refusal> {
        let Form::Decimal { bytes, precision, scale, from } = self.form else { return Ok(true) };
        let too_long = || "a number that the column's digits cannot hold".to_owned();
        if let (Value::Bytes(unscaled), true) = (value, bytes <= 16 && from == scale)
            && let Some(number) = short(unscaled.as_slice())
        {
            if number.unsigned_abs() >= 10u128.pow(precision.min(38)) {
                return self.outside(too_long);
            }
            self.data.extend_from_slice(&number.to_le_bytes()[..bytes]);
            return Ok(true);
        }
        let read = match value {
            Value::Bytes(unscaled) => {
                Wide::from_bytes(unscaled.as_slice()).map(|wide| (wide, from))
            }
            Value::Int(number) => Wide::from_bytes(&number.to_be_bytes()).map(|wide| (wide, 0)),
            Value::Text(text) => Wide::from_text(text.as_str()),
            Value::Struct(fields) => match fields.as_slice() {
                [Value::Int(scale), Value::Bytes(unscaled), ..] => {
                    Wide::from_bytes(unscaled.as_slice()).map(|wide| (wide, *scale))
                }
                _ => None,
            },
            _ => None,
        };
        let fits = read
            .and_then(|(wide, from)| wide.rescaled(scale - from))
            .filter(|wide| wide.digits() <= precision as usize)
            .and_then(Wide::to_le_bytes);
        let Some(fits) = fits else { return self.outside(too_long) };
        self.data.extend_from_slice(&fits[..bytes]);
        Ok(true)
    }

    /// A value that its column cannot hold: NULL where that is possible, unless told otherwise.
    #[cold]
    fn outside(&mut self, why: impl FnOnce() -> Refusal) -> Result<bool, Refusal> {
        if self.policy == OutOfRange::Reject || !self.nullable {
            return Err(why());
        }
        self.push_null()?;
        self.coerced += 1;
        Ok(false)
    }

    /// The finished column.
    pub(crate) fn freeze(self) -> Frozen {
        let layout = match self.form {
            Form::Raw | Form::Text(_) => Layout::Text,
            Form::Array | Form::Map => Layout::Array,
            _ => Layout::Fixed(self.width()),
        };
        Frozen {
            layout,
            nulls: self.nullable.then(|| self.nulls.into()),
            data: self.data.into(),
            children: self.children.into_iter().map(Self::freeze).collect(),
        }
    }
}

/// How a finished column's rows lie in its data.
#[derive(Debug, Clone, Copy)]
enum Layout {
    Fixed(usize),
    Text,
    /// Ends of arrays, 8 bytes each; the elements are in the children.
    Array,
}

/// A finished column. Cheap to clone and to slice.
#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    layout: Layout,
    nulls: Option<Bytes>,
    data: Bytes,
    children: Vec<Frozen>,
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

fn form(schema: &Arc<Schema>, target: &ChType, profile: &Profile) -> Option<Form> {
    let whole = matches!(schema.kind, Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64);
    if let Some(moment) = Moment::new(schema, target, profile) {
        return Some(Form::Moment(moment));
    }
    let decimal = schema.semantic() == "org.apache.kafka.connect.data.Decimal";
    Some(match target {
        ChType::Bool if schema.kind == Type::Boolean => Form::Int { bytes: 1, low: 0, high: 1 },
        ChType::Bool if whole => Form::Int { bytes: 1, low: 0, high: 1 },
        ChType::Int { bytes, signed } if whole || schema.kind == Type::Boolean => {
            let bits = bytes * 8;
            let (low, high) = match signed {
                true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                false => (0, (1i128 << bits) - 1),
            };
            Form::Int { bytes: *bytes, low, high }
        }
        ChType::Float32 if schema.kind == Type::Float32 => Form::Float32,
        ChType::Float64 if whole || matches!(schema.kind, Type::Float32 | Type::Float64) => {
            Form::Float64
        }
        ChType::String | ChType::Other => string_form(schema),
        ChType::FixedString(length) if matches!(schema.kind, Type::String | Type::Bytes) => {
            Form::Padded(*length)
        }
        ChType::Uuid if schema.kind == Type::String => Form::Uuid,
        ChType::Decimal { precision, scale } if *precision >= 1 => {
            let variable = schema.semantic() == "io.debezium.data.VariableScaleDecimal";
            if !(decimal || variable || whole || schema.kind == Type::String) {
                return None;
            }
            let bytes = match precision {
                ..=9 => 4,
                10..=18 => 8,
                19..=38 => 16,
                _ => 32,
            };
            let from = if decimal { types::scale(schema) } else { 0 };
            Form::Decimal { bytes, precision: *precision, scale: i64::from(*scale), from }
        }
        ChType::Enum { bytes, labels } if schema.kind == Type::String => {
            let labels = labels.iter().map(|(label, number)| (label.as_bytes().into(), *number));
            Form::Enum { bytes: *bytes, labels: labels.collect() }
        }
        _ => return None,
    })
}

fn string_form(schema: &Arc<Schema>) -> Form {
    let bits = schema.semantic() == "io.debezium.data.Bits";
    let decimal = schema.semantic() == "org.apache.kafka.connect.data.Decimal";
    match schema.kind {
        Type::String => Form::Raw,
        Type::Bytes if !bits && !decimal => Form::Raw,
        _ => Form::Text(Arc::clone(schema)),
    }
}

fn put_padded(out: &mut Vec<u8>, bytes: &[u8], end: usize) -> Result<(), Refusal> {
    if out.len() + bytes.len() > end {
        return Err(format!("{} bytes are too many for the column", bytes.len()));
    }
    out.extend_from_slice(bytes);
    out.resize(end, 0);
    Ok(())
}

/// A length in seven-bit groups, then the bytes.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len();
    while length >= 0x80 {
        out.push((length & 0x7F) as u8 | 0x80); // seven bits
        length >>= 7;
    }
    out.push(length as u8); // seven bits are left
    out.extend_from_slice(text);
}

/// Where the first `rows` texts end.
fn text_end(data: &[u8], rows: usize) -> usize {
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

/// Big-endian two's complement of at most 16 bytes.
fn short(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    if bytes.len() > 16 {
        return None;
    }
    let fill = if first & 0x80 != 0 { -1 } else { 0 };
    Some(bytes.iter().fold(fill, |number: i128, byte| (number << 8) | i128::from(*byte)))
}

/// Two little-endian halves, the high one first.
fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut number = 0u128;
    let mut digits = 0;
    for byte in text {
        if *byte == b'-' {
            continue;
        }
        number = (number << 4) | u128::from(char::from(*byte).to_digit(16)?);
        digits += 1;
    }
    if digits != 32 {
        return None;
    }
    let mut bytes = number.to_be_bytes();
    bytes[..8].reverse();
    bytes[8..].reverse();
    Some(bytes)
}
