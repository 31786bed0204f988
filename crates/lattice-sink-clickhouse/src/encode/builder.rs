//! One column of a Native block, filled value by value.

use std::sync::Arc;

use lattice_core::{
    schema::{Schema, Type},
    value::Value,
};

use super::{
    form::{Form, form},
    frozen::{Frozen, Layout, text_end},
    moment::Ticks,
    scalar::{put_int, put_padded, put_text, short, uuid},
    text,
};
use crate::{config::OutOfRange, profile::Profile, types::ChType, wide::Wide};

/// Why a value cannot be in its column.
pub(crate) type Refusal = String;

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
    /// The same before the last row.
    coerced_before: u64,
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
            coerced_before: 0,
        })
    }

    /// An empty builder of the same kind with room for what this has.
    pub(super) fn another(&self) -> Self {
        Self {
            form: self.form.clone(),
            nullable: self.nullable,
            policy: self.policy,
            nulls: Vec::with_capacity(self.nulls.len()),
            // A little more: the next set is hardly ever of exactly this size.
            data: Vec::with_capacity(self.data.len() + self.data.len() / 8),
            children: self.children.iter().map(Self::another).collect(),
            rows: 0,
            mark: 0,
            coerced: 0,
            coerced_before: 0,
        }
    }

    /// Memory in use. Units: bytes.
    pub(crate) fn bytes(&self) -> usize {
        let children = self.children.iter().map(Self::bytes);
        self.nulls.len() + self.data.len() + children.sum::<usize>()
    }

    /// Appends a value. On a refusal nothing is appended.
    #[inline]
    pub(crate) fn push(&mut self, value: &Value<'_>) -> Result<(), Refusal> {
        self.begin();
        match value {
            Value::Missing => self.default_row(),
            Value::Null | Value::Unchanged => self.push_null()?,
            value => {
                if !self.append(value)? {
                    return Ok(());
                }
                self.count();
            }
        }
        Ok(())
    }

    /// Appends a whole number, as [`Builder::push`] does.
    #[inline]
    pub(crate) fn push_int(&mut self, number: i64) -> Result<(), Refusal> {
        if let Form::Int { bytes, low, high } = self.form
            && number >= low
            && number <= high
        {
            self.begin();
            put_int(&mut self.data, number, bytes);
            self.count();
            return Ok(());
        }
        self.push(&Value::Int(number))
    }

    /// Appends text, as [`Builder::push`] does; the bytes are UTF-8.
    #[inline]
    pub(crate) fn push_text(&mut self, text: &[u8]) -> Result<(), Refusal> {
        self.begin();
        match &self.form {
            Form::Raw => put_text(&mut self.data, text),
            Form::Moment(moment) => match moment.ticks_of_text(text) {
                Ticks::Exact(ticks) => put_int(&mut self.data, ticks, moment.bytes),
                Ticks::Clamped(_) | Ticks::Unreadable => return self.push_as_value(text),
            },
            Form::Uuid => match uuid(text) {
                Some(bytes) => self.data.extend_from_slice(&bytes),
                None => return self.push_as_value(text),
            },
            _ => return self.push_as_value(text),
        }
        self.count();
        Ok(())
    }

    fn push_as_value(&mut self, text: &[u8]) -> Result<(), Refusal> {
        let text = std::str::from_utf8(text).map_err(|_| "text that is not UTF-8".to_owned())?;
        self.push(&Value::text(text))
    }

    /// Appends bytes, as [`Builder::push`] does.
    #[inline]
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if let Form::Decimal { bytes: width @ 4 | width @ 8, limit, scale, from, .. } = self.form
            && from == scale
            && let Some(number) = short(bytes)
            && number.unsigned_abs() < limit
        {
            self.begin();
            put_int(&mut self.data, number as i64, width); // the limit is of as many digits
            self.count();
            return Ok(());
        }
        self.push(&Value::bytes(bytes))
    }

    /// Notes what taking the row back needs.
    #[inline]
    fn begin(&mut self) {
        self.mark = self.data.len();
        self.coerced_before = self.coerced;
    }

    /// A present value's bytes were appended.
    #[inline]
    fn count(&mut self) {
        if self.nullable {
            self.nulls.push(0);
        }
        self.rows += 1;
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
        self.coerced = self.coerced_before;
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
                if number < low || number > high {
                    return self.outside(|| format!("{number} is outside the column's range"));
                }
                put_int(&mut self.data, *number, *bytes);
            }
            (Form::Int { bytes, .. }, Value::Bool(flag)) => {
                put_int(&mut self.data, i64::from(*flag), *bytes);
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
                    put_int(&mut self.data, ticks, moment.bytes);
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
        let Form::Decimal { bytes, precision, limit, scale, from } = self.form else {
            return Ok(true);
        };
        let too_long = || "a number that the column's digits cannot hold".to_owned();
        if let (Value::Bytes(unscaled), true) = (value, bytes <= 16 && from == scale)
            && let Some(number) = short(unscaled.as_slice())
        {
            if number.unsigned_abs() >= limit {
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
