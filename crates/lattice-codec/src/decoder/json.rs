//! JSON records, taken apart: with schemas and without.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    error::{Error, Result},
    event::{Column, Op, Origin, Span, TableSchema},
    schema::{Schema, Type},
};
use serde::Deserialize;
use serde_json::{Value as Json, value::RawValue};

use super::{
    Key, Source,
    avro::{op, snapshot},
    convert::{Part, key_table, made},
};
use crate::json::{JsonRow, connect_schema, infer};

/// The JsonConverter's envelope.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped<'a> {
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// Debezium's envelope, as far as it matters here.
#[derive(Deserialize)]
struct Change<'a> {
    #[serde(borrow, default)]
    before: Option<&'a RawValue>,
    #[serde(borrow, default)]
    after: Option<&'a RawValue>,
    op: String,
    source: Block,
}

#[derive(Deserialize)]
struct Block {
    #[serde(default)]
    ts_ms: Option<i64>,
    #[serde(default)]
    ts_us: Option<i64>,
    #[serde(default)]
    lsn: Option<i64>,
    #[serde(default, rename = "txId")]
    tx_id: Option<Json>,
    #[serde(default)]
    snapshot: Option<Json>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    pos: Option<u64>,
}

/// Tables of JSON records.
#[derive(Default)]
pub(super) struct JsonTables {
    /// By topic, the key table's uid and the schema's text.
    with_schema: HashMap<(Arc<str>, u64, Box<str>), Arc<TableSchema>>,
    /// By topic and whether it is the key; grows when a record has more.
    inferred: HashMap<(Arc<str>, bool), Arc<TableSchema>>,
}

impl JsonTables {
    pub(super) fn row(
        &mut self,
        source: &Source<'_>,
        span: Span,
        schemas: bool,
        key: Option<&Key>,
        placeholder: &[u8],
    ) -> Result<(Part, Arc<TableSchema>)> {
        let (schema, payload) = split(source, span, schemas, "value")?;
        let (part, nested) = locate(source, payload)?;
        let table = match schema {
            Some(text) => self.by_schema(source, text, nested, key, placeholder)?,
            None => {
                let row = part.after.or(part.before);
                self.by_content(source, row, Inferred { key, is_key: false }, placeholder)?
            }
        };
        Ok((part, table))
    }

    pub(super) fn key(
        &mut self,
        source: &Source<'_>,
        span: Span,
        schemas: bool,
        placeholder: &[u8],
    ) -> Result<Key> {
        let (schema, payload) = split(source, span, schemas, "key")?;
        let table = match schema {
            Some(text) => {
                let name = (Arc::clone(source.topic), u64::MAX, Box::from(text));
                match self.with_schema.get(&name) {
                    Some(table) => Arc::clone(table),
                    None => {
                        let columns = columns_of(text, false, "key")?;
                        let decoder = Arc::new(JsonRow::new(columns.clone(), placeholder));
                        let table = key_table(source.topic, columns, decoder);
                        self.with_schema.insert(name, Arc::clone(&table));
                        table
                    }
                }
            }
            None => {
                let inferred = Inferred { key: None, is_key: true };
                self.by_content(source, Some(payload), inferred, placeholder)?
            }
        };
        Ok(Key { table, span: payload })
    }

    fn by_schema(
        &mut self,
        source: &Source<'_>,
        text: &str,
        nested: bool,
        key: Option<&Key>,
        placeholder: &[u8],
    ) -> Result<Arc<TableSchema>> {
        let uid = key.map_or(0, |key| key.table.uid);
        let name = (Arc::clone(source.topic), uid, Box::from(text));
        if let Some(table) = self.with_schema.get(&name) {
            return Ok(Arc::clone(table));
        }
        let columns = columns_of(text, nested, "value")?;
        let decoder = Arc::new(JsonRow::new(columns.clone(), placeholder));
        let table = made(source.topic, columns, key, decoder);
        self.with_schema.insert(name, Arc::clone(&table));
        Ok(table)
    }

    /// The table of a topic without schemas. Columns are added as records show them; a column
    /// whose type changes becomes text.
    fn by_content(
        &mut self,
        source: &Source<'_>,
        row: Option<Span>,
        inferred: Inferred<'_>,
        placeholder: &[u8],
    ) -> Result<Arc<TableSchema>> {
        let name = (Arc::clone(source.topic), inferred.is_key);
        let known = self.inferred.get(&name);
        let json: Json = match row {
            Some(row) => serde_json::from_slice(row.of(source.data)).map_err(not_json)?,
            None => Json::Null,
        };
        let mut columns = known.map(|table| table.columns.clone()).unwrap_or_default();
        let mut grown = known.is_none();
        let whole = if inferred.is_key { "key" } else { "value" };
        match &json {
            Json::Object(members) => {
                for (name, member) in members {
                    grown |= extend(&mut columns, (name, member));
                }
            }
            _ => grown |= extend(&mut columns, (whole, &json)),
        }
        if let Some(table) = known.filter(|_| !grown) {
            return Ok(Arc::clone(table));
        }
        let decoder = Arc::new(JsonRow::new(columns.clone(), placeholder));
        let table = if inferred.is_key {
            key_table(source.topic, columns, decoder)
        } else {
            made(source.topic, columns, inferred.key, decoder)
        };
        self.inferred.insert(name, Arc::clone(&table));
        Ok(table)
    }
}

struct Inferred<'k> {
    key: Option<&'k Key>,
    is_key: bool,
}

/// Adds or widens a column. True: something changed.
fn extend(columns: &mut Vec<Column>, (name, member): (&str, &Json)) -> bool {
    let Some(schema) = infer(member) else { return false };
    let Some(column) = columns.iter_mut().find(|column| &*column.name == name) else {
        columns.push(Column { name: name.into(), schema: Arc::new(schema) });
        return true;
    };
    let wider = match (column.schema.kind, schema.kind) {
        (old, new) if old == new => return false,
        (Type::String, _) | (Type::Float64, Type::Int64) => return false,
        (Type::Int64, Type::Float64) => schema,
        _ => Schema::new(Type::String).optional(),
    };
    column.schema = Arc::new(wider);
    true
}

/// Schema text and payload of a record.
fn split<'a>(
    source: &Source<'a>,
    span: Span,
    schemas: bool,
    side: &str,
) -> Result<(Option<&'a str>, Span)> {
    if !schemas {
        return Ok((None, span));
    }
    let bytes = span.of(source.data);
    let wrapped: Wrapped<'a> =
        serde_json::from_slice(bytes).map_err(|error| not_wrapped(side, error))?;
    let payload = part_of(source.data, wrapped.payload);
    Ok(((wrapped.schema.get() != "null").then(|| wrapped.schema.get()), payload))
}

/// Schema text, if there is one, and payload text of a record with schemas.
pub(super) fn split_parts<'a>(bytes: &'a [u8], side: &str) -> Result<(Option<&'a str>, &'a str)> {
    let wrapped: Wrapped<'a> =
        serde_json::from_slice(bytes).map_err(|error| not_wrapped(side, error))?;
    let schema = wrapped.schema.get();
    Ok(((schema != "null").then_some(schema), wrapped.payload.get()))
}

fn not_wrapped(side: &str, error: serde_json::Error) -> Error {
    Error::data(format!("the {side} is not JSON of exactly \"schema\" and \"payload\""))
        .with_remedy(format!(
            "set \"{side}.converter.schemas.enable\": \"false\" if the topic is plain JSON"
        ))
        .with_source(error)
}

/// Where a raw value stands in the buffer that it borrows from.
fn part_of(data: &[u8], raw: &RawValue) -> Span {
    let text = raw.get();
    let start = (text.as_ptr() as usize).wrapping_sub(data.as_ptr() as usize);
    match (u32::try_from(start), u32::try_from(text.len())) {
        (Ok(start), Ok(len)) => Span { start, len },
        _ => Span::default(),
    }
}

/// Finds rows and origin. The second: whether it is an envelope.
fn locate(source: &Source<'_>, payload: Span) -> Result<(Part, bool)> {
    let bytes = payload.of(source.data);
    let change: Change<'_> = match serde_json::from_slice(bytes) {
        Ok(change) => change,
        Err(error) if error.is_data() => {
            let mut part = Part::plain(payload);
            if deleted(bytes) {
                part.op = Op::Delete;
                part.before = part.after.take();
            }
            return Ok((part, false));
        }
        Err(error) => return Err(not_json(error)),
    };
    let row = |raw: Option<&RawValue>| {
        raw.filter(|raw| raw.get() != "null").map(|raw| part_of(source.data, raw))
    };
    let block = change.source;
    let op = op(&change.op)
        .ok_or_else(|| Error::data(format!("unknown operation \"{}\"", change.op)))?;
    let file = block.file.as_deref().and_then(|file| file.rsplit('.').next()?.parse::<u64>().ok());
    let origin = Origin {
        ts_us: block.ts_us.or(block.ts_ms.map(|ms| ms.saturating_mul(1000))).unwrap_or(0),
        tx_id: block.tx_id.as_ref().and_then(Json::as_u64),
        lsn: block
            .lsn
            .map(i64::cast_unsigned)
            .or(file.zip(block.pos).map(|(file, pos)| file << 32 | pos)),
        snapshot: block.snapshot.as_ref().and_then(Json::as_str).map(snapshot).unwrap_or_default(),
        ..Origin::default()
    };
    Ok((Part { op, before: row(change.before), after: row(change.after), origin }, true))
}

#[derive(Deserialize)]
struct Flags {
    #[serde(default, rename = "__deleted")]
    deleted: Option<Json>,
    #[serde(default, rename = "__op")]
    op: Option<Json>,
}

/// Whether a row without envelope says that it was deleted.
fn deleted(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Flags>(bytes).is_ok_and(|flags| {
        let text = |json: &Option<Json>, word: &str| json.as_ref().is_some_and(|json| json == word);
        text(&flags.deleted, "true")
            || flags.deleted == Some(Json::Bool(true))
            || text(&flags.op, "d")
    })
}

/// The columns of a schema text: of its row (`nested`: an envelope), or of itself.
fn columns_of(text: &str, nested: bool, whole: &str) -> Result<Vec<Column>> {
    let json: Json = serde_json::from_str(text).map_err(not_json)?;
    let schema = connect_schema(&json)
        .ok_or_else(|| Error::data("the record's \"schema\" is not a Kafka Connect schema"))?;
    let row = if nested {
        ["after", "before"]
            .iter()
            .find_map(|name| schema.field_index(name))
            .map(|index| Arc::clone(&schema.fields[index].schema))
            .ok_or_else(|| Error::data("the envelope's schema has neither before nor after"))?
    } else {
        Arc::new(schema)
    };
    if row.kind != Type::Struct {
        return Ok(vec![Column { name: whole.into(), schema: row }]);
    }
    let column = |field: &lattice_core::schema::Field| Column {
        name: Arc::clone(&field.name),
        schema: Arc::clone(&field.schema),
    };
    Ok(row.fields.iter().map(column).collect())
}

fn not_json(error: serde_json::Error) -> Error {
    Error::data("the record is not JSON")
        .with_remedy("set the converter to what the topic was written with")
        .with_source(error)
}
