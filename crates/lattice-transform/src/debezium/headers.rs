//! HeaderToValue and ExtractChangedRecordState: headers into values, and the other way.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType, Rule},
    error::Result,
    schema::{Field, Schema, Type},
    value::Value,
};

use super::added::text;
use crate::{
    Record, Transform,
    record::{Datum, Header, Shape, Side, only_struct},
    schemas::{basics, inner, is_envelope},
    settings::Settings,
};

const HEADERS: Key =
    Key::new("headers", KeyType::List, "The headers to take. Example: trace_id").required();
const FIELDS: Key = Key::new(
    "fields",
    KeyType::List,
    "The fields they become, as many; a dot leads into a struct. Example: source.trace_id",
)
.required();
const OPERATION: Key =
    Key::new("operation", KeyType::String, "Whether the headers are left (copy) or not (move).")
        .required()
        .rule(Rule::OneOf(&["move", "copy"]));

pub(super) const TO_VALUE_KEYS: &[Key] = &[HEADERS, FIELDS, OPERATION];

struct HeaderToValue {
    /// Header, and the steps to its field.
    places: Vec<(String, Vec<String>)>,
    moves: bool,
}

pub(super) fn to_value(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let (headers, fields) = (settings.list(&HEADERS), settings.list(&FIELDS));
    if headers.len() != fields.len() {
        let reason = "'fields' must have as many elements as 'headers'";
        return Err(settings.invalid(FIELDS.name, reason, "name one field for each header"));
    }
    let steps = |path: String| path.split('.').map(str::to_owned).collect();
    let places = headers.into_iter().zip(fields.into_iter().map(steps)).collect();
    Ok(Box::new(HeaderToValue { places, moves: settings.word(&OPERATION) == "move" }))
}

impl Transform for HeaderToValue {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        const PURPOSE: &str = "Header field insertion";
        let mut changed = match record.value.shape(PURPOSE)? {
            Shape::Null => return Ok(Some(record)),
            Shape::Map(_) => return Err(only_struct(PURPOSE, "a map")),
            Shape::Struct(..) => record.value.clone(),
        };
        for (name, steps) in &self.places {
            if let Some(header) = record.header(name) {
                changed = with(changed, steps, &header.datum);
            }
        }
        record.value = changed;
        if self.moves {
            record.headers.retain(|one| !self.places.iter().any(|(name, _)| **name == *one.name));
        }
        Ok(Some(record))
    }
}

/// The struct with one more field, or with a field that has one more inside.
fn with(datum: Datum, steps: &[String], added: &Datum) -> Datum {
    let Datum { schema: Some(schema), value } = &datum else { return datum };
    let Some((step, rest)) = steps.split_first() else { return datum };
    let mut fields = schema.fields.clone();
    let mut values = match value {
        Value::Struct(values) => values.clone(),
        _ => return Datum::new(required(schema, &[], steps, added), Value::Null),
    };
    let field = match (schema.field_index(step), rest.is_empty()) {
        (_, true) => added.clone(),
        (Some(at), false) => {
            let here = fields.get(at).map(|field| Arc::clone(&field.schema));
            let value = values.get(at).cloned().unwrap_or_default();
            with(Datum { schema: here, value }, rest, added)
        }
        (None, false) => {
            let empty = Datum::new(Schema::new(Type::Struct).optional(), Value::Struct(Vec::new()));
            let made = with(empty, rest, added);
            let schema = made.schema.map(|schema| Schema::clone(&schema).optional());
            Datum { schema: schema.map(Arc::new), value: made.value }
        }
    };
    let kind = field.schema.unwrap_or_else(|| Arc::new(Schema::new(Type::String).optional()));
    match schema.field_index(step) {
        Some(at) => {
            if let (Some(old), Some(slot)) = (fields.get_mut(at), values.get_mut(at)) {
                old.schema = kind;
                *slot = field.value;
            }
        }
        None => {
            fields.push(Field::new(step.as_str(), kind));
            values.push(field.value);
        }
    }
    let made = Schema { fields, ..basics(schema, Type::Struct) };
    Datum::new(made, Value::Struct(values))
}

/// The schema that a struct without value would have had.
fn required(schema: &Schema, _: &[Value<'static>], steps: &[String], added: &Datum) -> Schema {
    let mut fields = schema.fields.clone();
    let kind =
        added.schema.clone().unwrap_or_else(|| Arc::new(Schema::new(Type::String).optional()));
    fields.extend(steps.first().map(|step| Field::new(step.as_str(), kind)));
    Schema { fields, ..basics(schema, Type::Struct) }
}

const CHANGED: Key = Key::new(
    "header.changed.name",
    KeyType::String,
    "The header that gets the names of the fields that an update changed.",
);
const UNCHANGED: Key = Key::new(
    "header.unchanged.name",
    KeyType::String,
    "The header that gets the names of the fields that an update left.",
);

pub(super) const CHANGED_KEYS: &[Key] = &[CHANGED, UNCHANGED];

/// A header's name with its schema.
type Named = Option<(Arc<str>, Arc<Schema>)>;

struct ExtractChanged {
    changed: Named,
    unchanged: Named,
}

pub(super) fn changed(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let named = |key: &Key| {
        settings.given(key).map(|name| {
            let element = Schema::new(Type::String).optional();
            let mut schema = Schema::array(Arc::new(element)).optional();
            schema.name = Some(name.into());
            (Arc::from(name), Arc::new(schema))
        })
    };
    Ok(Box::new(ExtractChanged { changed: named(&CHANGED), unchanged: named(&UNCHANGED) }))
}

impl Transform for ExtractChanged {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let (Some(schema), Value::Struct(values)) = (&record.value.schema, &record.value.value)
        else {
            return Ok(Some(record));
        };
        if !is_envelope(schema) {
            return Ok(Some(record));
        }
        let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
        let rows = (inner(schema, values, "before"), inner(schema, values, "after"));
        if let (Some((_, before)), Some((row, after))) = rows {
            for ((field, old), new) in row.fields.iter().zip(before).zip(after) {
                let list = if old == new { &mut unchanged } else { &mut changed };
                list.push(text(&field.name));
            }
        }
        for (named, names) in [(&self.changed, changed), (&self.unchanged, unchanged)] {
            if let Some((name, schema)) = named {
                let datum = Datum::new(Arc::clone(schema), Value::Array(names));
                record.headers.push(Header { name: Arc::clone(name), datum });
            }
        }
        Ok(Some(record))
    }
}
