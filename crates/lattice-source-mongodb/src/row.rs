//! Rows: the bytes of a change stream's event, or of a document read by the snapshot, as the members of
//! Debezium's envelope.

use std::sync::Arc;

use lattice_core::{
    Error, Result,
    event::{Column, Layout, RowDecoder, TableId, TableSchema},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use crate::{
    bson::{
        self, Raw, elements,
        json::{self, Mode, Style},
        kind,
    },
    fields::{Below, Fields},
};

/// The texts' forms: Debezium's `json.serialization.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serialization {
    /// Version 1 strict, but relaxed and spaced in `updatedFields`.
    Legacy,
    /// One mode for all.
    Plain(Mode),
}

impl Serialization {
    fn document(self) -> Style {
        match self {
            Self::Legacy => Style { mode: Mode::Strict, spaced: false },
            Self::Plain(mode) => Style { mode, spaced: false },
        }
    }

    fn updated(self) -> Style {
        match self {
            Self::Legacy => Style { mode: Mode::Relaxed, spaced: true },
            Self::Plain(mode) => Style { mode, spaced: false },
        }
    }
}

/// Keys are always relaxed.
const KEY: Style = Style { mode: Mode::Relaxed, spaced: false };

/// Which rows the bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A document.
    Snapshot,
    /// An event of the change stream.
    Change,
}

/// Reads rows of one collection.
#[derive(Debug)]
struct DocumentRow {
    kind: Kind,
    serialization: Serialization,
    fields: Fields,
}

/// The columns of every collection: the key, then the envelope's first members.
#[must_use]
pub fn columns() -> Vec<Column> {
    let column =
        |name: &str, schema: Schema| Column { name: name.into(), schema: Arc::new(schema) };
    vec![
        column("id", Schema::new(Type::String)),
        column("before", json_schema()),
        column("after", json_schema()),
        column("updateDescription", update_description()),
    ]
}

fn json_schema() -> Schema {
    Schema::new(Type::String).named("io.debezium.data.Json", 1).optional()
}

fn update_description() -> Schema {
    const SPACE: &str = "io.debezium.connector.mongodb.changestream";
    let truncated = Schema {
        fields: vec![
            Field::new("field", Schema::new(Type::String)),
            Field::new("size", Schema::new(Type::Int32)),
        ],
        ..Schema::new(Type::Struct)
    }
    .named(&format!("{SPACE}.truncatedarray"), 1);
    let names = Schema::array(Arc::new(Schema::new(Type::String))).optional();
    Schema {
        fields: vec![
            Field::new("removedFields", names),
            Field::new("updatedFields", json_schema()),
            Field::new("truncatedArrays", Schema::array(Arc::new(truncated)).optional()),
        ],
        ..Schema::new(Type::Struct)
    }
    .named(&format!("{SPACE}.updatedescription"), 1)
    .optional()
}

/// The structure of a collection's records.
#[must_use]
pub fn table(
    (database, collection): (&str, &str),
    kind: Kind,
    serialization: Serialization,
    fields: Fields,
) -> TableSchema {
    let id =
        TableId { database: database.into(), schema: database.into(), table: collection.into() };
    let decoder = Arc::new(DocumentRow { kind, serialization, fields });
    TableSchema::new(id, columns(), vec![0], decoder).laid_out(Layout::Members)
}

/// The text of an `_id`, as keys have it.
///
/// Errors: `Data`.
pub fn key_text(id: Raw<'_>) -> Result<String> {
    let mut out = String::new();
    json::value(id, KEY, &Below::default(), &mut out)?;
    Ok(out)
}

impl RowDecoder for DocumentRow {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        match self.kind {
            Kind::Snapshot => {
                let id = bson::get(row, "_id").ok_or_else(no_id)?;
                out.push(text(key_text(id)?));
                out.push(Value::Null);
                out.push(self.document(row)?);
                out.push(Value::Null);
                Ok(())
            }
            Kind::Change => self.change(row, out),
        }
    }
}

impl DocumentRow {
    fn document(&self, bytes: &[u8]) -> Result<Value<'static>> {
        let mut out = String::with_capacity(bytes.len() + bytes.len() / 4);
        json::document(bytes, self.serialization.document(), &self.fields.top(), &mut out)?;
        Ok(text(out))
    }

    fn change<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let (mut id, mut before, mut after, mut update) = (None, None, None, None);
        for element in elements(row)? {
            let element = element?;
            let document = element.value.as_document();
            match element.name {
                b"documentKey" => id = document.and_then(|key| bson::get(key, "_id")),
                b"fullDocumentBeforeChange" => before = document,
                b"fullDocument" => after = document,
                b"updateDescription" => update = document,
                _ => {}
            }
        }
        out.push(text(key_text(id.ok_or_else(no_id)?)?));
        for document in [before, after] {
            out.push(document.map_or(Ok(Value::Null), |document| self.document(document))?);
        }
        out.push(update.map_or(Ok(Value::Null), |update| self.update(update))?);
        Ok(())
    }

    fn update(&self, bytes: &[u8]) -> Result<Value<'static>> {
        let top = self.fields.top();
        let (mut removed, mut updated, mut truncated) = (Vec::new(), Value::Null, Vec::new());
        for element in elements(bytes)? {
            let element = element?;
            let Some(inner) = element.value.as_document() else { continue };
            match element.name {
                b"removedFields" => {
                    for name in elements(inner)? {
                        let name = lossy(name?.value.text_bytes()?);
                        removed.extend(top.enter_path(&name).map(|(name, _)| text(name)));
                    }
                }
                b"updatedFields" => updated = text(self.updated(inner, &top)?),
                b"truncatedArrays" => {
                    for array in elements(inner)? {
                        truncated.extend(truncation(array?.value, &top)?);
                    }
                }
                _ => {}
            }
        }
        let list = |items: Vec<Value<'static>>| {
            if items.is_empty() { Value::Null } else { Value::Array(items) }
        };
        Ok(Value::Struct(vec![list(removed), updated, list(truncated)]))
    }

    fn updated(&self, bytes: &[u8], top: &Below<'_>) -> Result<String> {
        let style = self.serialization.updated();
        let mut out = String::with_capacity(bytes.len() + bytes.len() / 4);
        if top.is_empty() {
            json::document(bytes, style, top, &mut out)?;
            return Ok(out);
        }
        out.push('{');
        let comma = if style.spaced { ", " } else { "," };
        for element in elements(bytes)? {
            let element = element?;
            let Some((name, inside)) = top.enter_path(&lossy(element.name)) else { continue };
            if out.len() > 1 {
                out.push_str(comma);
            }
            json::name(name.as_bytes(), &mut out);
            out.push_str(": ");
            json::value(element.value, style, &inside, &mut out)?;
        }
        out.push('}');
        Ok(out)
    }
}

fn truncation(array: Raw<'_>, top: &Below<'_>) -> Result<Option<Value<'static>>> {
    let Some(document) = array.as_document() else { return Ok(None) };
    let field = bson::get(document, "field").filter(|field| field.kind == kind::STRING);
    let size = bson::get(document, "newSize").and_then(Raw::as_i64);
    let (Some(field), Some(size)) = (field, size) else {
        return Err(Error::data("a truncated array without field or size"));
    };
    let path = top.enter_path(&lossy(field.text_bytes()?));
    Ok(path.map(|(name, _)| Value::Struct(vec![text(name), Value::Int(size)])))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn text(text: String) -> Value<'static> {
    Value::Text(Text::owned(text))
}

fn no_id() -> Error {
    Error::data("a document without _id")
        .with_remedy("a stage of \"cursor.pipeline\" must not remove documentKey or _id")
}
