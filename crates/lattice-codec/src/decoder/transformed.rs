//! Records on their way through transformations to a sink: decoded wholly, changed, and laid down
//! again as rows. A sink without transformations never comes here.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    error::{Error, Result},
    event::{Column, Op, Origin, Span, TableSchema},
    schema::{Schema, Type},
    value::{Text, Value},
};
use lattice_log::{RecordIndex, RecordSet};
use lattice_registry::avro;
use lattice_transform::{Chain, Datum, Header, Record, TransformError};

use super::{
    Event, FetchedRecords, Key, Source,
    avro::{op, snapshot},
    convert::Tables,
    finish,
    laid::{LaidRow, lay},
};
use crate::{
    avro::{Input, Reader, connect_schema},
    decoder::{convert::Part, schema_id},
    json,
    options::ConverterConfig,
};

/// More tables than these of one topic are forgotten and made anew.
const REMEMBERED: usize = 256;

/// How a whole record of one Avro schema is read.
#[derive(Debug)]
pub(super) struct Whole {
    schema: Arc<Schema>,
    reader: Reader,
}

impl Whole {
    pub(super) fn compile(schema: &avro::Schema) -> Result<Self, crate::avro::Damage> {
        Ok(Self {
            schema: Arc::new(connect_schema(schema, schema.root())?),
            reader: Reader::compile(schema, schema.root())?,
        })
    }
}

/// Schemas of rows or keys, and the tables made of them.
type Known = Vec<(Arc<Schema>, Arc<TableSchema>)>;

/// The way through transformations.
pub(super) struct Transformer {
    chain: Chain,
    pub(super) wholes: HashMap<i32, Arc<Whole>>,
    json_schemas: HashMap<Box<str>, Arc<Schema>>,
    /// By topic and the key table's uid.
    tables: HashMap<(Arc<str>, u64), Known>,
    keys: HashMap<Arc<str>, Known>,
    topics: HashMap<Arc<str>, Arc<str>>,
}

/// What became of a record.
pub(super) struct Routed {
    /// The topic that its table is of.
    pub(super) topic: Arc<str>,
    pub(super) event: Event,
}

/// Why there is none.
pub(super) struct Failed {
    pub(super) transform: Option<&'static str>,
    pub(super) error: Error,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { transform: None, error }
    }
}

impl From<TransformError> for Failed {
    fn from(failed: TransformError) -> Self {
        Self { transform: Some(failed.class), error: failed.error }
    }
}

/// What a record is decoded with.
pub(super) struct Forms {
    pub(super) key: ConverterConfig,
    pub(super) value: ConverterConfig,
}

impl Transformer {
    pub(super) fn new(chain: Chain) -> Self {
        Self {
            chain,
            wholes: HashMap::new(),
            json_schemas: HashMap::new(),
            tables: HashMap::new(),
            keys: HashMap::new(),
            topics: HashMap::new(),
        }
    }

    /// Decodes, transforms and lays down one record; its rows are appended to `data`. `None`: it
    /// was dropped.
    pub(super) fn record(
        &mut self,
        fetched: &FetchedRecords,
        index: &RecordIndex,
        forms: &Forms,
        (tables, data): (&mut Tables, &mut Vec<u8>),
    ) -> Result<Option<Routed>, Failed> {
        let bytes = |span: Option<lattice_log::Span>| span.map(|span| span.of(&fetched.data));
        let record = Record {
            topic: Arc::clone(&fetched.topic),
            partition: Some(fetched.partition),
            key: self.datum(forms.key, bytes(index.key), "key")?,
            value: self.datum(forms.value, bytes(index.value), "value")?,
            timestamp_ms: Some(index.timestamp_ms),
            headers: headers(fetched, index),
            offset: Some(index.offset),
        };
        let origin =
            record.value.schema.as_ref().and_then(|schema| origin(schema, &record.value.value));
        let Some(mut record) = self.chain.apply(record)? else { return Ok(None) };
        // One text a topic, so that tables are found by it.
        let topic = match self.topics.get(&record.topic) {
            Some(topic) => Arc::clone(topic),
            None => {
                self.topics.insert(Arc::clone(&record.topic), Arc::clone(&record.topic));
                Arc::clone(&record.topic)
            }
        };
        record.topic = Arc::clone(&topic);
        let event = self.event(&record, origin, tables, data)?;
        Ok(Some(Routed { topic, event }))
    }

    fn datum(&mut self, form: ConverterConfig, bytes: Option<&[u8]>, side: &str) -> Result<Datum> {
        let Some(bytes) = bytes else { return Ok(Datum::default()) };
        match form {
            ConverterConfig::Avro { .. } => self.avro(bytes, side),
            ConverterConfig::Json { schemas: true, .. } => self.json(bytes, side),
            ConverterConfig::Json { .. } => {
                let json = serde_json::from_slice(bytes).map_err(|error| not_json(side, error))?;
                Ok(Datum { schema: None, value: json::schemaless(&json) })
            }
            ConverterConfig::Text | ConverterConfig::Simple => {
                let text = std::str::from_utf8(bytes).map_err(|error| {
                    Error::data(format!("the {side} is not UTF-8")).with_source(error)
                })?;
                let schema = Schema::new(Type::String).optional();
                Ok(Datum::new(schema, Value::Text(Text::copied(text))))
            }
            ConverterConfig::Primitive(one) => {
                Ok(Datum::new(Schema::new(one.kind()).optional(), one.read(bytes)?))
            }
            ConverterConfig::Bytes => Ok(Datum::new(
                Schema::new(Type::Bytes).optional(),
                Value::bytes(bytes).into_owned(),
            )),
        }
    }

    fn avro(&self, bytes: &[u8], side: &str) -> Result<Datum> {
        let Some((id, prefix)) = schema_id(bytes) else {
            return Err(Error::data(format!("the {side} is not Avro with a schema id"))
                .with_remedy(format!(
                    "set \"{side}.converter\" to what the topic was written with"
                )));
        };
        let Some(whole) = self.wholes.get(&id) else {
            return Err(Error::data(format!("the {side}'s schema {id} cannot be used"))
                .with_remedy(
                    "the topic was written with another registry, or the schema was deleted",
                ));
        };
        let mut input = Input::new(bytes.get(prefix as usize..).unwrap_or_default());
        let damaged = |reason: &str| {
            Error::data(format!("the {side}'s Avro bytes of schema {id}: {reason}"))
                .with_remedy("the record was not written with this schema, or is damaged")
        };
        let value = whole.reader.read(&mut input).map_err(|damage| damaged(damage.reason()))?;
        if input.left() > 0 {
            return Err(damaged("bytes follow the value"));
        }
        Ok(Datum { schema: Some(Arc::clone(&whole.schema)), value: value.into_owned() })
    }

    fn json(&mut self, bytes: &[u8], side: &str) -> Result<Datum> {
        let (text, payload) = super::json::split_parts(bytes, side)?;
        let json: serde_json::Value =
            serde_json::from_str(payload).map_err(|error| not_json(side, error))?;
        let Some(text) = text else {
            return Ok(Datum { schema: None, value: json::schemaless(&json) });
        };
        let schema = match self.json_schemas.get(text) {
            Some(schema) => Arc::clone(schema),
            None => {
                let object = serde_json::from_str(text).map_err(|error| not_json(side, error))?;
                let schema = json::connect_schema(&object).map(Arc::new).ok_or_else(|| {
                    Error::data("the record's \"schema\" is not a Kafka Connect schema")
                })?;
                self.json_schemas.insert(text.into(), Arc::clone(&schema));
                schema
            }
        };
        let value = json::to_value(&schema, &json)
            .ok_or_else(|| Error::data(format!("the {side}'s JSON is not of its schema's type")))?;
        Ok(Datum { schema: Some(schema), value })
    }

    fn event(
        &mut self,
        record: &Record,
        origin: Option<Origin>,
        tables: &mut Tables,
        data: &mut Vec<u8>,
    ) -> Result<Event> {
        let key = self.key(record, tables, data)?;
        if record.value.is_null() {
            let Some(key) = key else {
                return Err(Error::data("a record with neither key nor value"));
            };
            let latest = tables.latest(&record.topic);
            return Ok(Event {
                // A delete that a transformation made a tombstone of is still known to be one.
                op: if origin.is_some() { Op::Delete } else { Op::Tombstone },
                table: latest.unwrap_or_else(|| Arc::clone(&key.table)),
                before: Some(key.span),
                after: None,
                origin: origin.unwrap_or_default(),
                key: Some(key.table),
            });
        }
        let Some(schema) = &record.value.schema else {
            let span = append_json(data, &record.value.value)?;
            let source = Source { topic: &record.topic, data };
            let (mut part, table) = tables.json_row(&source, span, false, key.as_ref())?;
            if let Some(origin) = origin {
                part.origin = origin;
            }
            return Ok(finish(part, table, key));
        };
        let (row, mut part) = part(schema, &record.value.value, data)?;
        if let Some(origin) = origin {
            part.origin = origin;
        }
        let beside = key.as_ref().filter(|_| is_beside(&record.key, schema));
        if let Some(key) = beside {
            add_key(&mut part, key, data)?;
        }
        let uid = key.as_ref().map_or(0, |key| key.table.uid);
        let known = self.tables.entry((Arc::clone(&record.topic), uid)).or_default();
        let table = remembered(known, &row, || {
            let mut columns = columns(&row, "value");
            columns.extend(beside.iter().flat_map(|key| key.table.columns.iter().cloned()));
            let decoder = Arc::new(LaidRow::new(&columns, &tables.placeholder));
            super::convert::made(&record.topic, columns, key.as_ref(), decoder)
        });
        tables.set_latest(&record.topic, &table);
        Ok(finish(part, table, key))
    }

    fn key(
        &mut self,
        record: &Record,
        tables: &mut Tables,
        data: &mut Vec<u8>,
    ) -> Result<Option<Key>> {
        if record.key.is_null() {
            return Ok(None);
        }
        let Some(schema) = &record.key.schema else {
            let span = append_json(data, &record.key.value)?;
            let source = Source { topic: &record.topic, data };
            return tables.json_key(&source, span, false).map(Some);
        };
        let span = lay_row(schema, &record.key.value, data)?;
        let known = self.keys.entry(Arc::clone(&record.topic)).or_default();
        let table = remembered(known, schema, || {
            let columns = columns(schema, "key");
            let decoder = Arc::new(LaidRow::new(&columns, &tables.placeholder));
            super::convert::key_table(&record.topic, columns, decoder)
        });
        Ok(Some(Key { table, span }))
    }
}

fn remembered(
    known: &mut Known,
    schema: &Arc<Schema>,
    make: impl FnOnce() -> Arc<TableSchema>,
) -> Arc<TableSchema> {
    let same = known.iter().find(|(known, _)| Arc::ptr_eq(known, schema));
    if let Some((_, table)) = same.or_else(|| known.iter().find(|(known, _)| known == schema)) {
        return Arc::clone(table);
    }
    if known.len() >= REMEMBERED {
        known.clear();
    }
    let table = make();
    known.push((Arc::clone(schema), Arc::clone(&table)));
    table
}

/// Whether a key's fields are none of a row's, as MongoDB's `id` is none of the document's.
fn is_beside(key: &Datum, row: &Schema) -> bool {
    let Some(key) = key.schema.as_ref().filter(|key| key.kind == Type::Struct) else {
        return false;
    };
    row.kind == Type::Struct
        && envelope(row).is_none()
        && !key.fields.iter().any(|field| row.field_index(&field.name).is_some())
}

/// Puts the key's columns behind the row, which was laid down last.
fn add_key(part: &mut Part, key: &Key, data: &mut Vec<u8>) -> Result<()> {
    let Some(row) = part.after.as_mut().or(part.before.as_mut()) else { return Ok(()) };
    let start = row.start as usize;
    if start + row.len as usize != data.len() {
        return Ok(());
    }
    let bytes = key.span.of(data).to_vec();
    data.extend_from_slice(&bytes);
    *row = span(start, data.len())?;
    Ok(())
}

fn columns(row: &Schema, whole: &str) -> Vec<Column> {
    if row.kind != Type::Struct {
        return vec![Column { name: whole.into(), schema: Arc::new(row.clone()) }];
    }
    let column = |field: &lattice_core::schema::Field| Column {
        name: Arc::clone(&field.name),
        schema: Arc::clone(&field.schema),
    };
    row.fields.iter().map(column).collect()
}

fn lay_row(schema: &Schema, value: &Value<'static>, data: &mut Vec<u8>) -> Result<Span> {
    let start = data.len();
    match value {
        Value::Struct(values) if schema.kind == Type::Struct => {
            values.iter().for_each(|value| lay(value, data));
        }
        other => lay(other, data),
    }
    span(start, data.len())
}

fn append_json(data: &mut Vec<u8>, value: &Value<'static>) -> Result<Span> {
    let start = data.len();
    serde_json::to_writer(&mut *data, &json::schemaless_json(value))
        .map_err(|error| Error::data("write a value as JSON").with_source(error))?;
    span(start, data.len())
}

fn span(start: usize, end: usize) -> Result<Span> {
    match (u32::try_from(start), u32::try_from(end - start)) {
        (Ok(start), Ok(len)) if u32::try_from(end).is_ok() => Ok(Span { start, len }),
        _ => Err(Error::fatal("more than 4 GiB of records were to be decoded at once")),
    }
}

/// The rows of a value and what happened to them; the first: the row's schema.
fn part(
    schema: &Arc<Schema>,
    value: &Value<'static>,
    data: &mut Vec<u8>,
) -> Result<(Arc<Schema>, Part)> {
    if let (Some((row, before, after)), Value::Struct(values)) = (envelope(schema), value) {
        let mut lay_at = |at: Option<usize>| match at.and_then(|at| values.get(at)) {
            Some(value @ Value::Struct(_)) => lay_row(&row, value, data).map(Some),
            _ => Ok(None),
        };
        let (before, after) = (lay_at(before)?, lay_at(after)?);
        let word = field(schema, values, "op").and_then(text).unwrap_or_default();
        let op = op(word).ok_or_else(|| Error::data(format!("unknown operation \"{word}\"")))?;
        let origin = origin(schema, value).unwrap_or_default();
        return Ok((row, Part { op, before, after, origin }));
    }
    let mut part = Part::plain(lay_row(schema, value, data)?);
    if let Value::Struct(values) = value {
        let get = |name: &str| field(schema, values, name);
        let number = |name: &str| get(name).and_then(int);
        let deleted = get("__deleted").and_then(text) == Some("true")
            || get("__deleted") == Some(&Value::Bool(true))
            || get("__op").and_then(text) == Some("d");
        if deleted {
            part.op = Op::Delete;
            part.before = part.after.take();
        }
        part.origin.lsn =
            number("__lsn").or_else(|| number("__source_lsn")).map(i64::cast_unsigned);
        let ts_ms = number("__source_ts_ms").or_else(|| number("__ts_ms"));
        part.origin.ts_us = ts_ms.unwrap_or(0).saturating_mul(1000);
    }
    Ok((Arc::clone(schema), part))
}

/// Of an envelope: the row's schema and where before and after stand.
fn envelope(schema: &Schema) -> Option<(Arc<Schema>, Option<usize>, Option<usize>)> {
    let (before, after) = (schema.field_index("before"), schema.field_index("after"));
    let row = &schema.fields.get(after.or(before)?)?.schema;
    let whole = schema.field_index("op").is_some() && schema.field_index("source").is_some();
    (whole && row.kind == Type::Struct).then(|| (Arc::clone(row), before, after))
}

fn field<'v>(
    schema: &Schema,
    values: &'v [Value<'static>],
    name: &str,
) -> Option<&'v Value<'static>> {
    values.get(schema.field_index(name)?)
}

fn text<'v>(value: &'v Value<'static>) -> Option<&'v str> {
    match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    }
}

fn int(value: &Value<'static>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

/// What an envelope's `source` says.
fn origin(schema: &Schema, value: &Value<'static>) -> Option<Origin> {
    let Value::Struct(values) = value else { return None };
    // Documents have a description of their updates, tables have rows.
    envelope(schema).map(drop).or_else(|| schema.field_index("updateDescription").map(drop))?;
    let at = schema.field_index("source")?;
    let (source, Value::Struct(values)) = (&schema.fields.get(at)?.schema, values.get(at)?) else {
        return None;
    };
    let number = |name: &str| field(source, values, name).and_then(int);
    let word = |name: &str| field(source, values, name).and_then(text);
    let file = word("file").and_then(|file| file.rsplit('.').next()?.parse::<u64>().ok());
    let position = file.zip(number("pos")).map(|(file, pos)| file << 32 | pos.cast_unsigned());
    Some(Origin {
        ts_us: number("ts_us")
            .or_else(|| number("ts_ms").map(|ms| ms.saturating_mul(1000)))
            .unwrap_or(0),
        tx_id: number("txId").map(i64::cast_unsigned),
        lsn: number("lsn").map(i64::cast_unsigned).or(position),
        snapshot: word("snapshot").map(snapshot).unwrap_or_default(),
        ..Origin::default()
    })
}

/// Headers as the simple header converter reads texts: what is no text is bytes.
fn headers(fetched: &FetchedRecords, index: &RecordIndex) -> Vec<Header> {
    if index.header_count == 0 {
        return Vec::new();
    }
    let set = RecordSet { data: fetched.data.clone(), records: vec![*index] };
    let mut headers = Vec::new();
    for record in set.iter() {
        headers.extend(record.headers().map(|header| Header {
            name: String::from_utf8_lossy(header.key).into(),
            datum: match header.value.map(std::str::from_utf8) {
                None => Datum::default(),
                Some(Ok(text)) => Datum::text(text),
                Some(Err(_)) => Datum::new(
                    Schema::new(Type::Bytes),
                    Value::bytes(header.value.unwrap_or_default()).into_owned(),
                ),
            },
        }));
    }
    headers
}

fn not_json(side: &str, error: serde_json::Error) -> Error {
    Error::data(format!("the {side} is not JSON"))
        .with_remedy("set the converter to what the topic was written with")
        .with_source(error)
}
