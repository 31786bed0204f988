//! JSON without schema ⇄ values that say themselves what they are.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::value::{Text, Value};
use serde_json::{Map, Value as Json};

/// A value of JSON that has no schema: an object is a map from texts.
pub(crate) fn schemaless(json: &Json) -> Value<'static> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float64(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Text(Text::owned(text.clone())),
        Json::Array(items) => Value::Array(items.iter().map(schemaless).collect()),
        Json::Object(members) => Value::Map(
            members
                .iter()
                .map(|(name, member)| (Value::Text(Text::owned(name.clone())), schemaless(member)))
                .collect(),
        ),
    }
}

/// The name of an object's member for a map's key.
pub(super) fn member_name(key: &Value<'_>) -> String {
    match key {
        Value::Text(text) => text.as_str().to_owned(),
        other => schemaless_json(other).to_string(),
    }
}

/// The JSON of a value without schema; bytes in base64.
pub(crate) fn schemaless_json(value: &Value<'_>) -> Json {
    match value {
        Value::Null | Value::Missing | Value::Unchanged => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float32(value) => value.to_string().parse::<f64>().unwrap_or(f64::NAN).into(),
        Value::Float64(value) => (*value).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Bytes(bytes) => STANDARD.encode(bytes.as_slice()).into(),
        Value::Array(items) | Value::Struct(items) => items.iter().map(schemaless_json).collect(),
        Value::Map(items) => {
            let member =
                |(name, item): &(Value<'_>, Value<'_>)| (member_name(name), schemaless_json(item));
            Json::Object(items.iter().map(member).collect::<Map<_, _>>())
        }
    }
}
