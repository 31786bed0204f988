//! JSON text → values, with the JsonConverter's schema or one that is inferred.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::{
    error::{Error, Result},
    event::{Column, RowDecoder},
    schema::{Field, Schema, Type},
    value::{Binary, Text, Value},
};
use serde_json::{Value as Json, value::RawValue};

use crate::filler;

/// Deeper than this a schema is refused.
const MAX_DEPTH: usize = 100;

/// Reads rows that are JSON objects.
#[derive(Debug)]
pub(crate) struct JsonRow {
    columns: Vec<Column>,
    placeholders: Vec<Option<Value<'static>>>,
}

impl JsonRow {
    pub(crate) fn new(columns: Vec<Column>, placeholder: &[u8]) -> Self {
        let placeholders =
            columns.iter().map(|column| filler::placeholder(&column.schema, placeholder)).collect();
        Self { columns, placeholders }
    }
}

impl RowDecoder for JsonRow {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let not_json =
            |error: serde_json::Error| Error::data("the row is not JSON").with_source(error);
        let whole: &RawValue = serde_json::from_slice(row).map_err(not_json)?;
        let object: Option<HashMap<Cow<'_, str>, &RawValue>> = match whole.get().as_bytes() {
            [b'{', ..] => Some(serde_json::from_str(whole.get()).map_err(not_json)?),
            _ => None,
        };
        for (column, placeholder) in self.columns.iter().zip(&self.placeholders) {
            let value = match &object {
                Some(object) => match object.get(&*column.name) {
                    Some(member) => raw_value(&column.schema, member),
                    None => Some(Value::Missing),
                },
                // A key or value that is no object is its only column.
                None => raw_value(&column.schema, whole),
            };
            let Some(value) = value else {
                return Err(Error::data(format!(
                    "read column \"{}\": its JSON is not of the schema's type",
                    column.name
                )));
            };
            let unchanged = placeholder.as_ref().is_some_and(|placeholder| *placeholder == value);
            out.push(if unchanged { Value::Unchanged } else { value });
        }
        Ok(())
    }
}

/// A member's text in the form of a schema. Decimals are taken from their own digits.
fn raw_value(schema: &Schema, raw: &RawValue) -> Option<Value<'static>> {
    let text = raw.get();
    if schema.kind == Type::Bytes
        && text.starts_with(|char: char| char == '-' || char.is_ascii_digit())
    {
        let scale = schema.get_parameter("scale").and_then(|scale| scale.parse().ok());
        let bytes = super::number::decimal_bytes(text, scale.unwrap_or(0))?;
        return Some(Value::Bytes(Binary::owned(bytes)));
    }
    to_value(schema, &serde_json::from_str(text).ok()?)
}

/// A JSON value in the form of a schema; `None`: it does not fit.
pub(crate) fn to_value(schema: &Schema, json: &Json) -> Option<Value<'static>> {
    let element = || schema.element.as_deref();
    Some(match (schema.kind, json) {
        (_, Json::Null) => Value::Null,
        (Type::Boolean, Json::Bool(value)) => Value::Bool(*value),
        (Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64, Json::Number(number)) => {
            Value::Int(number.as_i64().or_else(|| number.as_u64().map(u64::cast_signed))?)
        }
        #[allow(clippy::cast_possible_truncation)] // the number was an f32
        (Type::Float32, json) => Value::Float32(float(json)? as f32),
        (Type::Float64, json) => Value::Float64(float(json)?),
        (Type::String, Json::String(text)) => Value::Text(Text::owned(text.clone())),
        // What was inferred as text may be anything later.
        (Type::String, other) => Value::Text(Text::owned(other.to_string())),
        (Type::Bytes, Json::String(text)) => {
            Value::Bytes(Binary::owned(STANDARD.decode(text).ok()?))
        }
        (Type::Bytes, Json::Number(number)) => {
            let scale = schema.get_parameter("scale").and_then(|scale| scale.parse().ok());
            Value::Bytes(Binary::owned(super::number::decimal_bytes(
                &number.to_string(),
                scale.unwrap_or(0),
            )?))
        }
        (Type::Array, Json::Array(items)) => {
            let element = element()?;
            Value::Array(items.iter().map(|item| to_value(element, item)).collect::<Option<_>>()?)
        }
        (Type::Map, Json::Object(items)) => {
            let element = element()?;
            let entry = |(key, item): (&String, &Json)| {
                Some((Value::Text(Text::owned(key.clone())), to_value(element, item)?))
            };
            Value::Map(items.iter().map(entry).collect::<Option<_>>()?)
        }
        (Type::Map, Json::Array(items)) => {
            let (key, element) = (schema.key.as_deref()?, element()?);
            let entry = |pair: &Json| match pair.as_array()?.as_slice() {
                [name, item] => Some((to_value(key, name)?, to_value(element, item)?)),
                _ => None,
            };
            Value::Map(items.iter().map(entry).collect::<Option<_>>()?)
        }
        (Type::Struct, Json::Object(members)) => {
            let field = |field: &Field| match members.get(&*field.name) {
                Some(member) => to_value(&field.schema, member),
                None => Some(Value::Null),
            };
            Value::Struct(schema.fields.iter().map(field).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn float(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        _ => json.as_f64(),
    }
}

/// The JsonConverter's schema object → Connect schema; `None`: it is not one.
pub(crate) fn connect_schema(json: &Json) -> Option<Schema> {
    made(json, 0)
}

fn made(json: &Json, depth: usize) -> Option<Schema> {
    let object = json.as_object().filter(|_| depth < MAX_DEPTH)?;
    let text = |name: &str| object.get(name).and_then(Json::as_str);
    let child =
        |name: &str| object.get(name).and_then(|inner| made(inner, depth + 1)).map(Arc::new);
    let mut schema = match text("type")? {
        "int8" => Schema::new(Type::Int8),
        "int16" => Schema::new(Type::Int16),
        "int32" => Schema::new(Type::Int32),
        "int64" => Schema::new(Type::Int64),
        "float" => Schema::new(Type::Float32),
        "double" => Schema::new(Type::Float64),
        "boolean" => Schema::new(Type::Boolean),
        "string" => Schema::new(Type::String),
        "bytes" => Schema::new(Type::Bytes),
        "array" => Schema::array(child("items")?),
        "map" => Schema::map(child("keys")?, child("values")?),
        "struct" => {
            let mut fields = Vec::new();
            for field in object.get("fields")?.as_array()? {
                let name = field.get("field")?.as_str()?;
                fields.push(Field::new(name, made(field, depth + 1)?));
            }
            Schema { fields, ..Schema::new(Type::Struct) }
        }
        _ => return None,
    };
    schema.optional = object.get("optional").and_then(Json::as_bool).unwrap_or(false);
    schema.name = text("name").map(Arc::from);
    schema.doc = text("doc").map(Arc::from);
    let version = object.get("version").and_then(Json::as_i64);
    schema.version = version.and_then(|version| i32::try_from(version).ok());
    if let Some(parameters) = object.get("parameters").and_then(Json::as_object) {
        for (name, value) in parameters {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            schema.parameters.push((name.as_str().into(), value.into()));
        }
    }
    if let Some(default) = object.get("default").filter(|default| !default.is_null()) {
        schema.default = to_value(&schema, default);
    }
    Some(schema)
}

/// The schema of a JSON value that has none; `None`: NULL says nothing.
pub(crate) fn infer(json: &Json) -> Option<Schema> {
    Some(
        match json {
            Json::Null => return None,
            Json::Bool(_) => Schema::new(Type::Boolean),
            Json::Number(number) if number.is_f64() => Schema::new(Type::Float64),
            Json::Number(_) => Schema::new(Type::Int64),
            Json::String(_) => Schema::new(Type::String),
            // Kept as its text: what is inside differs from record to record.
            Json::Array(_) | Json::Object(_) => {
                Schema::new(Type::String).named("io.debezium.data.Json", 1)
            }
        }
        .optional(),
    )
}
