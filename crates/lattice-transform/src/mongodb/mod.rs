//! ExtractNewDocumentState: the document, in typed fields, instead of MongoDB's envelope.

mod extended;
mod shape;

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    config::{Key, KeyType, Rule},
    error::Result,
    schema::{Field, Schema, Type},
    value::Value,
};
use serde_json::{Map, Value as Json};

use crate::{
    Record, Transform,
    catalog::{TransformClass, whole},
    debezium::{ADD_FIELDS, Added, FIELDS_PREFIX, HEADERS_PREFIX},
    kafka::flat,
    record::{Datum, Side},
    schemas::{inner, is_envelope, member, plain, with_fields},
    settings::Settings,
};
use shape::Arrays;

const ARRAYS: Key = Key::new(
    "array.encoding",
    KeyType::String,
    "What becomes of arrays: array (all items must be of one type) or document (a field for each item, _0, _1, …).",
)
.default("array")
.rule(Rule::OneOf(&["array", "document"]));
const FLATTEN: Key = Key::new(
    "flatten.struct",
    KeyType::Boolean,
    "Whether the fields of documents inside become fields of the row: address.city becomes address_city.",
)
.default("false");
const DELIMITER: Key = Key::new(
    "flatten.struct.delimiter",
    KeyType::String,
    "Stands between outer and inner name of flattened fields.",
)
.default("_");
const HANDLING: Key = Key::new(
    "delete.tombstone.handling.mode",
    KeyType::String,
    "What becomes of deletes and of the tombstones after them: drop (neither), tombstone (one tombstone), \
     rewrite (the document before with __deleted=true), rewrite-with-tombstone (both), delete-to-tombstone (a \
     tombstone without schema).",
)
.default("tombstone")
.rule(Rule::OneOf(&["drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"]));
const WITH_ID: Key = Key::new(
    "delete.tombstone.handling.mode.rewrite-with-id",
    KeyType::Boolean,
    "Whether rewritten deletes have the _id of the key.",
)
.default("false");
const ADD_HEADERS: Key = Key::new(
    "add.headers",
    KeyType::List,
    "Fields of the envelope to add as headers, written as in add.fields. Example: op,source.collection",
)
.default("");
const ADJUSTMENT: Key = Key::new(
    "field.name.adjustment.mode",
    KeyType::String,
    "How field names are made fit for Avro: none. Others are not built.",
)
.default("none")
.rule(Rule::OneOf(&["none"]));

const KEYS: &[Key] = &[
    ARRAYS,
    FLATTEN,
    DELIMITER,
    HANDLING,
    WITH_ID,
    ADD_FIELDS,
    FIELDS_PREFIX,
    ADD_HEADERS,
    HEADERS_PREFIX,
    ADJUSTMENT,
];

pub(crate) static CLASSES: &[TransformClass] = &[whole(
    "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    "Makes a change of a MongoDB document the document after the change, in typed fields.",
    KEYS,
    make,
)];

/// The last schema of a topic's documents, as they are and as rows.
struct Known {
    document: Arc<Schema>,
    /// The envelope's schema that the row was made with, and the row's.
    row: Option<(Arc<Schema>, Arc<Schema>)>,
}

struct Unwrap {
    arrays: Arrays,
    delimiter: Option<String>,
    handling: String,
    with_id: bool,
    fields: Vec<Added>,
    headers: Vec<Added>,
    /// By topic.
    known: HashMap<Arc<str>, Known>,
    keys: HashMap<Type, Arc<Schema>>,
}

fn make(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let arrays =
        if settings.word(&ARRAYS) == "document" { Arrays::Document } else { Arrays::Array };
    Ok(Box::new(Unwrap {
        arrays,
        delimiter: settings.flag(&FLATTEN).then(|| settings.text(&DELIMITER).to_owned()),
        handling: settings.word(&HANDLING),
        with_id: settings.flag(&WITH_ID),
        fields: Added::parse(settings, &ADD_FIELDS, &FIELDS_PREFIX)?,
        headers: Added::parse(settings, &ADD_HEADERS, &HEADERS_PREFIX)?,
        known: HashMap::new(),
        keys: HashMap::new(),
    }))
}

impl Transform for Unwrap {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        if record.value.is_null() {
            if self.handling != "rewrite-with-tombstone" {
                return Ok(None);
            }
            self.add_headers(&mut record);
            record.key = self.key(record.key)?.0;
            return Ok(Some(record));
        }
        let Some(schema) = record.value.schema.clone().filter(|schema| is_document(schema)) else {
            return Ok(Some(record));
        };
        self.add_headers(&mut record);
        let Value::Struct(values) = std::mem::take(&mut record.value).value else {
            return Ok(None);
        };
        let (key, id) = self.key(record.key)?;
        record.key = key;
        let deleted = text(&schema, &values, "op") == Some("d");
        if deleted && !self.handling.starts_with("rewrite") {
            return Ok((self.handling != "drop").then_some(record));
        }
        let document =
            document(&schema, &values, deleted, id.filter(|_| !deleted || self.with_id))?;
        record.value = self.row(&record.topic, &schema, &values, &document, deleted)?;
        Ok(Some(record))
    }
}

impl Unwrap {
    fn add_headers(&self, record: &mut Record) {
        let headers: Vec<_> =
            self.headers.iter().filter_map(|added| added.header(&record.value)).collect();
        record.headers.extend(headers);
    }

    /// The key with its `_id` as a value of its type, and the `_id`.
    fn key(&mut self, key: Datum) -> Result<(Datum, Option<Json>)> {
        let id = match (&key.schema, &key.value) {
            (Some(schema), Value::Struct(values)) => text(schema, values, "id"),
            _ => None,
        };
        let Some(id) = id.map(extended::parse).transpose()? else { return Ok((key, None)) };
        let schema = shape::schema_of(&id, "id", self.arrays)?;
        let schema = match schema.unwrap_or_else(|| Schema::new(Type::String).optional()) {
            // The key's text does not tell one from the other, and both are in one collection.
            small if small.kind == Type::Int32 => Schema { kind: Type::Int64, ..small },
            schema => schema,
        };
        let value = Value::Struct(vec![shape::value_of(&schema, &id)?]);
        let made = |schema: Schema| {
            let fields = vec![Field::new("id", schema)];
            Arc::new(Schema { fields, ..Schema::new(Type::Struct) })
        };
        let schema =
            match schema.name.is_none() && !matches!(schema.kind, Type::Struct | Type::Array) {
                true => Arc::clone(self.keys.entry(schema.kind).or_insert_with(|| made(schema))),
                false => made(schema),
            };
        Ok((Datum::new(schema, value), Some(id)))
    }

    fn row(
        &mut self,
        topic: &Arc<str>,
        envelope: &Arc<Schema>,
        values: &[Value<'static>],
        document: &Map<String, Json>,
        deleted: bool,
    ) -> Result<Datum> {
        let name = envelope.semantic().trim_end_matches(".Envelope");
        let seen = shape::document(document, name, self.arrays)?;
        let rewrites = self.handling.starts_with("rewrite");
        let known = match self.known.get_mut(topic) {
            Some(known) => {
                let all = shape::merged(&known.document, seen, name)?;
                if all != *known.document {
                    *known = Known { document: Arc::new(all), row: None };
                }
                known
            }
            None => self
                .known
                .entry(Arc::clone(topic))
                .or_insert(Known { document: Arc::new(seen), row: None }),
        };
        let json = Json::Object(document.clone());
        let value = shape::value_of(&known.document, &json)?;
        let (flat, value) = match (&self.delimiter, value) {
            (Some(delimiter), Value::Struct(inner)) => flat(&known.document, &inner, delimiter)?,
            (_, value) => (Arc::clone(&known.document), value),
        };
        let Value::Struct(mut row) = value else { return Ok(Datum::default()) };
        let schema = match &known.row {
            Some((of, schema)) if Arc::ptr_eq(of, envelope) => Arc::clone(schema),
            _ => {
                let mut fields = flat.fields.clone();
                if rewrites {
                    fields.push(Field::new("__deleted", plain(Type::Boolean, true)));
                }
                for added in &self.fields {
                    let schema = added.schema(envelope);
                    fields.extend(schema.map(|schema| Field::new(added.name.as_str(), schema)));
                }
                unique(&fields, topic)?;
                let schema = Arc::new(with_fields(&flat, fields));
                known.row = Some((Arc::clone(envelope), Arc::clone(&schema)));
                schema
            }
        };
        if rewrites {
            row.push(Value::Bool(deleted));
        }
        let present = self.fields.iter().filter(|added| added.schema(envelope).is_some());
        row.extend(present.map(|added| added.value(envelope, values)));
        Ok(Datum::new(schema, Value::Struct(row)))
    }
}

/// Errors: `Data` when two fields have come to one name.
fn unique(fields: &[Field], topic: &str) -> Result<()> {
    let mut names = std::collections::HashSet::new();
    match fields.iter().find(|field| !names.insert(&*field.name)) {
        None => Ok(()),
        Some(twice) => Err(lattice_core::Error::data(format!(
            "two fields of the documents of {topic} would be named {} in the row",
            twice.name
        ))
        .with_remedy("set \"flatten.struct.delimiter\" to a text that no field's name has")),
    }
}

/// Whether a struct is the envelope of MongoDB's connector.
fn is_document(schema: &Schema) -> bool {
    is_envelope(schema) && schema.field_index("updateDescription").is_some()
}

fn text<'v>(schema: &Schema, values: &'v [Value<'static>], name: &str) -> Option<&'v str> {
    match values.get(schema.field_index(name)?)? {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    }
}

/// What is known of the document after the change; of a deleted one, before it.
fn document(
    schema: &Schema,
    values: &[Value<'static>],
    deleted: bool,
    id: Option<Json>,
) -> Result<Map<String, Json>> {
    let side = if deleted { "before" } else { "after" };
    let whole = text(schema, values, side);
    let part = || {
        let (schema, values) = inner(schema, values, "updateDescription")?;
        member(schema, values, "updatedFields").and_then(|(_, value)| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    };
    let json = whole.or_else(part).map(extended::parse).transpose()?;
    let mut document = match json {
        Some(Json::Object(members)) => members,
        _ => Map::new(),
    };
    if let Some(id) = id.filter(|_| !document.contains_key("_id")) {
        document.insert("_id".to_owned(), id);
    }
    Ok(document)
}

#[cfg(test)]
mod tests;
