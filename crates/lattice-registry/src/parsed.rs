//! The kinds of schemas a registry keeps, and what is done with each: reading, the form in which
//! two are compared, the text that is kept.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{avro, protobuf};

/// The kinds, in the words of Confluent's API.
pub(crate) const TYPES: [&str; 3] = ["JSON", "PROTOBUF", "AVRO"];

/// A schema of any kind, read.
#[derive(Debug)]
pub(crate) enum Parsed {
    Avro(avro::Schema),
    Json(Value),
    Protobuf(protobuf::File),
}

impl Parsed {
    /// Reads a text whose references' texts are given in the order of their dependence.
    ///
    /// Errors: what is wrong with it, in words.
    pub(crate) fn parse(kind: &str, text: &str, references: &[&str]) -> Result<Self, String> {
        match kind {
            "JSON" => {
                let value: Value = serde_json::from_str(text)
                    .map_err(|error| format!("it is not JSON: {error}"))?;
                if value.is_object() || value.is_boolean() {
                    return Ok(Self::Json(value));
                }
                Err("a JSON Schema is an object, true or false".to_owned())
            }
            "PROTOBUF" => protobuf::File::parse(text).map(Self::Protobuf),
            _ => avro::Schema::parse_with(text, references)
                .map(Self::Avro)
                .map_err(|error| error.to_string()),
        }
    }

    /// Its kind, in the words of Confluent's API.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Avro(_) => "AVRO",
            Self::Json(_) => "JSON",
            Self::Protobuf(_) => "PROTOBUF",
        }
    }
}

/// The text as it is kept: JSON without white space, anything else as it came.
pub(crate) fn kept_text(kind: &str, text: &str) -> String {
    if kind == "PROTOBUF" {
        return text.to_owned();
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => value.to_string(),
        // A bare primitive's name without quotes is what some clients send.
        Err(_) if avro::is_primitive_name(text.trim()) => format!("\"{}\"", text.trim()),
        Err(_) => text.to_owned(),
    }
}

/// Equal for schemas that differ in white space, comments and the order of properties alone.
pub(crate) fn comparable(kind: &str, text: &str) -> String {
    if kind == "PROTOBUF" {
        return protobuf::tokens(text).join(" ");
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => {
            let mut out = String::with_capacity(text.len());
            sorted(&value, &mut out);
            out
        }
        Err(_) => text.to_owned(),
    }
}

/// JSON with the members of every object in the order of their names.
fn sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(out, "{}{}:", comma(index), Value::from(name.as_str()));
                sorted(member, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(comma(index));
                sorted(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

fn comma(index: usize) -> &'static str {
    if index == 0 { "" } else { "," }
}
