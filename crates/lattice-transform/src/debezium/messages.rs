//! SchemaChangeEventFilter and DecodeLogicalDecodingMessageContent: records that are no changes of
//! rows.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType},
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::Value,
};

use super::{
    added::text,
    json_payload::{Empties, schema_of, value_of},
};
use crate::{
    Record, Transform,
    record::{Datum, Side},
    schemas::{inner, member},
    settings::Settings,
};

const TYPES: Key = Key::new(
    "schema.change.event.exclude.list",
    KeyType::List,
    "Kinds of schema changes to drop: CREATE, ALTER, DROP and so on.",
)
.required();

pub(super) const FILTER_KEYS: &[Key] = &[TYPES];

struct Filter(Vec<String>);

pub(super) fn filter(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Filter(settings.list(&TYPES))))
}

impl Transform for Filter {
    fn apply(&mut self, record: Record) -> Result<Option<Record>> {
        let (Some(schema), Value::Struct(values)) = (&record.value.schema, &record.value.value)
        else {
            return Ok(Some(record));
        };
        let change = schema.semantic().ends_with("SchemaChangeValue");
        let Some((list, Value::Array(changes))) =
            member(schema, values, "tableChanges").filter(|_| change)
        else {
            return Ok(Some(record));
        };
        let excluded = changes.iter().any(|change| {
            let kind = match (&list.element, change) {
                (Some(schema), Value::Struct(values)) => member(schema, values, "type"),
                _ => None,
            };
            matches!(kind, Some((_, Value::Text(kind)))
                if self.0.iter().any(|name| name.eq_ignore_ascii_case(kind.as_str())))
        });
        Ok((!excluded).then_some(record))
    }
}

const NULLS: Key = Key::new(
    "fields.null.include",
    KeyType::Boolean,
    "Whether NULL members of the content become fields.",
)
.default("false");

pub(super) const DECODE_KEYS: &[Key] = &[NULLS];

struct Decode(Empties);

pub(super) fn decode(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Decode(Empties { nulls: settings.flag(&NULLS) })))
}

impl Transform for Decode {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let (Some(schema), Value::Struct(values)) = (&record.value.schema, &record.value.value)
        else {
            return Ok(Some(record));
        };
        if !schema.semantic().ends_with(".MessageValue") {
            return Ok(Some(record));
        }
        let content = inner(schema, values, "message")
            .and_then(|(message, values)| member(message, values, "content"))
            .map(|(_, content)| content);
        let json = match content {
            Some(Value::Bytes(bytes)) => serde_json::from_slice(bytes.as_slice()),
            Some(Value::Text(text)) => serde_json::from_str(text.as_str()),
            _ => return Ok(Some(record)),
        };
        let json: serde_json::Value = json.map_err(|error| {
            Error::data("Unable to parse logical decoding message content JSON string")
                .with_remedy("use a predicate, or write messages whose content is JSON")
                .with_source(error)
        })?;
        let row = schema_of(&json, None, self.0).filter(|row| row.kind == Type::Struct);
        let row = row.ok_or_else(|| {
            Error::data("the logical decoding message's content is no JSON object")
                .with_remedy("write messages whose content is a JSON object")
        })?;
        let mut fields = Vec::new();
        let mut all = Vec::new();
        for (field, value) in schema.fields.iter().zip(values) {
            match &*field.name {
                "message" => continue,
                "op" => all.push(text("c")),
                _ => all.push(value.clone()),
            }
            fields.push(field.clone());
        }
        all.push(value_of(&row, &json));
        fields.push(Field::new("after", row));
        let envelope = Schema::structure(format!("{}.Envelope", schema.semantic()), fields);
        record.value = Datum { schema: Some(Arc::new(envelope)), value: Value::Struct(all) };
        record.key = Datum::default();
        Ok(Some(record))
    }
}
