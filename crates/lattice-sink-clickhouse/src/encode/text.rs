//! Any value as text: for String columns, and for what has no column type of its own.

use lattice_core::{
    decimal::plain_text,
    schema::{Schema, Type},
    value::Value,
};
use serde_json::{Map, Number, Value as Json};

use super::moment;
use crate::{types, wide::Wide};

/// A value as plain text.
pub(crate) fn render(schema: &Schema, value: &Value<'_>) -> String {
    if let Some(text) = special(schema, value) {
        return text;
    }
    match value {
        Value::Null | Value::Missing | Value::Unchanged => String::new(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float32(number) => number.to_string(),
        Value::Float64(number) => number.to_string(),
        Value::Text(text) => text.as_str().to_owned(),
        Value::Bytes(bytes) => hex(bytes.as_slice()),
        Value::Array(_) | Value::Map(_) | Value::Struct(_) => json(schema, value).to_string(),
    }
}

/// Texts that the schema's name prescribes.
fn special(schema: &Schema, value: &Value<'_>) -> Option<String> {
    match (schema.semantic(), value) {
        ("org.apache.kafka.connect.data.Decimal", Value::Bytes(unscaled)) => {
            decimal(unscaled.as_slice(), types::scale(schema))
        }
        ("io.debezium.data.VariableScaleDecimal", Value::Struct(fields)) => {
            match fields.as_slice() {
                [Value::Int(scale), Value::Bytes(unscaled), ..] => {
                    decimal(unscaled.as_slice(), *scale)
                }
                _ => None,
            }
        }
        ("io.debezium.data.VariableScaleDecimal", Value::Text(text)) => {
            Some(text.as_str().to_owned())
        }
        ("io.debezium.data.Bits", Value::Bytes(bits)) => {
            let length = schema.get_parameter("length").and_then(|length| length.parse().ok());
            Some(bit_text(bits.as_slice(), length))
        }
        ("io.debezium.time.Date" | "org.apache.kafka.connect.data.Date", Value::Int(days)) => {
            Some(moment::date_text(*days))
        }
        _ => None,
    }
}

fn decimal(unscaled: &[u8], scale: i64) -> Option<String> {
    if unscaled.len() <= 32 {
        return Wide::from_bytes(unscaled).map(|wide| wide.to_text(scale));
    }
    Some(plain_text(unscaled, scale))
}

/// Little-endian bits as digits, the highest first.
fn bit_text(bits: &[u8], length: Option<usize>) -> String {
    let length = length.filter(|length| *length <= bits.len() * 8 && *length > 0);
    let length = length.unwrap_or(bits.len() * 8);
    let digit = |at: usize| {
        let byte = bits.get(at / 8).copied().unwrap_or(0);
        if byte >> (at % 8) & 1 == 1 { '1' } else { '0' }
    };
    (0..length).rev().map(digit).collect()
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// A value as JSON.
fn json(schema: &Schema, value: &Value<'_>) -> Json {
    match value {
        Value::Array(items) => match schema.element.as_deref() {
            Some(element) => items.iter().map(|item| json(element, item)).collect(),
            None => Json::Null,
        },
        Value::Map(items) => {
            let mut map = Map::new();
            let text = Schema::new(Type::String);
            for (key, item) in items {
                let key = render(schema.key.as_deref().unwrap_or(&text), key);
                map.insert(key, json(schema.element.as_deref().unwrap_or(&text), item));
            }
            Json::Object(map)
        }
        Value::Struct(items) if special(schema, value).is_none() => {
            let fields = schema.fields.iter().zip(items);
            let pair = |(field, item): (&lattice_core::schema::Field, &Value<'_>)| {
                (field.name.to_string(), json(&field.schema, item))
            };
            Json::Object(fields.map(pair).collect())
        }
        Value::Null | Value::Missing | Value::Unchanged => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) if special(schema, value).is_none() => Json::Number((*number).into()),
        Value::Float64(number) => number_or_text(*number),
        Value::Float32(number) => number_or_text(f64::from(*number)),
        value => Json::String(render(schema, value)),
    }
}

fn number_or_text(number: f64) -> Json {
    Number::from_f64(number).map_or_else(|| Json::String(number.to_string()), Json::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_written_highest_first_without_the_padding() {
        assert_eq!(bit_text(&[0b101], Some(3)), "101");
        assert_eq!(bit_text(&[1, 1], Some(9)), "100000001");
    }
}
