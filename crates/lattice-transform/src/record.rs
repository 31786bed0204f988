//! A record between source (or sink) and converter: Kafka Connect's `ConnectRecord`.

use std::sync::Arc;

use lattice_core::{
    error::{Error, Result},
    schema::{Schema, Type},
    value::{Text, Value},
};

/// A value with its schema.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Datum {
    /// `None`: there is none. The value then says itself what it is: a [`Value::Map`] from texts
    /// stands for an object.
    pub schema: Option<Arc<Schema>>,
    /// The value, in the form that the schema prescribes.
    pub value: Value<'static>,
}

impl Datum {
    /// A value with a schema.
    pub fn new(schema: impl Into<Arc<Schema>>, value: Value<'static>) -> Self {
        Self { schema: Some(schema.into()), value }
    }

    /// A required text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::new(Schema::new(Type::String), Value::Text(Text::copied(text)))
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.value.is_absent()
    }
}

/// A record's header.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Its name; several headers may have the same.
    pub name: Arc<str>,
    /// Its value.
    pub datum: Datum,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// Which topic it goes to or comes from.
    pub topic: Arc<str>,
    /// Which partition; `None`: by the key.
    pub partition: Option<i32>,
    /// The key.
    pub key: Datum,
    /// The value; no value: a tombstone.
    pub value: Datum,
    /// Units: ms since the Unix epoch; `None`: when it is written.
    pub timestamp_ms: Option<i64>,
    /// The headers, in order.
    pub headers: Vec<Header>,
    /// Sinks: the record's offset in the topic it comes from.
    pub offset: Option<i64>,
}

/// Which part of a record a transformation works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Key,
    Value,
}

impl Record {
    pub(crate) fn side(&self, side: Side) -> &Datum {
        match side {
            Side::Key => &self.key,
            Side::Value => &self.value,
        }
    }

    pub(crate) fn side_mut(&mut self, side: Side) -> &mut Datum {
        match side {
            Side::Key => &mut self.key,
            Side::Value => &mut self.value,
        }
    }

    /// The last header of this name.
    pub(crate) fn header(&self, name: &str) -> Option<&Header> {
        self.headers.iter().rev().find(|header| &*header.name == name)
    }
}

/// A struct's schema and values, or what there is instead.
pub(crate) enum Shape<'r> {
    /// No value.
    Null,
    /// With a schema.
    Struct(&'r Arc<Schema>, &'r [Value<'static>]),
    /// Without.
    Map(&'r [(Value<'static>, Value<'static>)]),
}

impl Datum {
    /// What the value is, for a transformation that works on fields.
    ///
    /// Errors: `Data` for anything without fields.
    pub(crate) fn shape(&self, purpose: &str) -> Result<Shape<'_>> {
        match (&self.schema, &self.value) {
            (_, value) if value.is_absent() => Ok(Shape::Null),
            (Some(schema), Value::Struct(values)) => Ok(Shape::Struct(schema, values)),
            (None, Value::Map(entries)) => Ok(Shape::Map(entries)),
            (Some(_), other) => Err(only_struct(purpose, form(other))),
            (None, other) => Err(only_map(purpose, form(other))),
        }
    }
}

pub(crate) fn only_struct(purpose: &str, found: &str) -> Error {
    Error::data(format!("Only Struct objects supported for [{purpose}], found: {found}"))
        .with_remedy("use a predicate, so that only records with fields are treated")
}

pub(crate) fn only_map(purpose: &str, found: &str) -> Error {
    let message =
        format!("Only Map objects supported in absence of schema for [{purpose}], found: {found}");
    Error::data(message)
        .with_remedy("use a predicate, so that only records with fields are treated")
}

/// What a value is, in a word for people.
pub(crate) fn form(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null | Value::Missing | Value::Unchanged => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) => "an integer",
        Value::Float32(_) | Value::Float64(_) => "a floating point number",
        Value::Text(_) => "a string",
        Value::Bytes(_) => "bytes",
        Value::Array(_) => "an array",
        Value::Map(_) => "a map",
        Value::Struct(_) => "a struct",
    }
}

/// The entry of a map without schema.
pub(crate) fn entry<'m>(
    entries: &'m [(Value<'static>, Value<'static>)],
    name: &str,
) -> Option<&'m Value<'static>> {
    entries.iter().find(|(key, _)| is_named(key, name)).map(|(_, value)| value)
}

/// Sets an entry of a map without schema.
pub(crate) fn set_entry(
    entries: &mut Vec<(Value<'static>, Value<'static>)>,
    name: &str,
    value: Value<'static>,
) {
    match entries.iter_mut().find(|(key, _)| is_named(key, name)) {
        Some((_, slot)) => *slot = value,
        None => entries.push((Value::Text(Text::copied(name)), value)),
    }
}

pub(crate) fn is_named(key: &Value<'_>, name: &str) -> bool {
    matches!(key, Value::Text(text) if text.as_str() == name)
}

/// A name of a map's entry.
pub(crate) fn name_of<'k>(key: &'k Value<'_>) -> &'k str {
    match key {
        Value::Text(text) => text.as_str(),
        _ => "",
    }
}
