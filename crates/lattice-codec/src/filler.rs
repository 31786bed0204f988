//! What stands where there is no value: Debezium's zero values and its placeholder.

use lattice_core::{
    schema::{Schema, Type},
    value::{Binary, Text, Value},
};

/// Debezium's default placeholder.
pub(crate) const PLACEHOLDER: &str = "__debezium_unavailable_value";

/// The name-based UUID (MD5, version 3) of the default placeholder's bytes.
const PLACEHOLDER_UUID: &str = "b68a35a7-17ad-35b3-af2a-ae46edb4545a";

/// What a column that must have a value gets when the source did not send one: the default, else
/// the type's zero.
pub(crate) fn zero(schema: &Schema) -> Value<'static> {
    if let Some(default) = &schema.default
        && !default.is_absent()
    {
        return default.clone();
    }
    if schema.optional {
        return Value::Null;
    }
    match schema.kind {
        Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 => Value::Int(0),
        Type::Float32 => Value::Float32(0.0),
        Type::Float64 => Value::Float64(0.0),
        Type::Boolean => Value::Bool(false),
        Type::String => Value::text(match schema.semantic() {
            "io.debezium.time.ZonedTimestamp" => "1970-01-01T00:00:00Z",
            "io.debezium.time.ZonedTime" => "00:00:00Z",
            "io.debezium.time.Interval" => "P0Y0M0DT0H0M0S",
            _ => "",
        }),
        Type::Bytes if schema.semantic() == "org.apache.kafka.connect.data.Decimal" => {
            Value::bytes(&[0])
        }
        Type::Bytes => {
            // The unscaled zero of a variable-scale decimal is not told apart from other bytes
            // here; its struct is handled below.
            Value::bytes(&[])
        }
        Type::Array => Value::Array(Vec::new()),
        Type::Map => Value::Map(Vec::new()),
        Type::Struct if schema.semantic() == "io.debezium.data.VariableScaleDecimal" => {
            Value::Struct(vec![Value::Int(0), Value::bytes(&[0])])
        }
        Type::Struct => {
            Value::Struct(schema.fields.iter().map(|field| zero(&field.schema)).collect())
        }
    }
}

/// The placeholder in the form of a schema; `None`: the type is never out of line.
///
/// Where Debezium has a form it is this one. Where it writes NULL (decimals, arrays of floats and
/// booleans) the placeholder's bytes are used all the same, so that a reader can tell "unchanged"
/// from a value for every type.
pub(crate) fn placeholder(schema: &Schema, bytes: &[u8]) -> Option<Value<'static>> {
    let list = |make: fn(u8) -> Value<'static>| {
        Some(Value::Array(bytes.iter().map(|byte| make(*byte)).collect()))
    };
    match schema.kind {
        Type::String => Some(text(bytes)),
        Type::Bytes => Some(Value::Bytes(Binary::copied(bytes))),
        Type::Map => Some(Value::Map(vec![(text(bytes), text(bytes))])),
        Type::Array => {
            let element = schema.element.as_ref()?;
            match element.kind {
                Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 => {
                    list(|byte| Value::Int(byte.into()))
                }
                Type::Float32 => list(|byte| Value::Float32(byte.into())),
                Type::Float64 => list(|byte| Value::Float64(byte.into())),
                Type::Boolean => Some(Value::Array(
                    bytes
                        .iter()
                        .flat_map(|byte| {
                            (0..8).rev().map(move |bit| Value::Bool(byte >> bit & 1 == 1))
                        })
                        .collect(),
                )),
                Type::String
                    if element.semantic() == "io.debezium.data.Uuid"
                        && bytes == PLACEHOLDER.as_bytes() =>
                {
                    Some(Value::Array(vec![Value::text(PLACEHOLDER_UUID)]))
                }
                _ => Some(Value::Array(vec![placeholder(element, bytes)?])),
            }
        }
        Type::Struct if schema.semantic() == "io.debezium.data.VariableScaleDecimal" => {
            Some(Value::Struct(vec![Value::Int(0), Value::Bytes(Binary::copied(bytes))]))
        }
        _ => None,
    }
}

fn text(bytes: &[u8]) -> Value<'static> {
    Value::Text(Text::owned(String::from_utf8_lossy(bytes).into_owned()))
}

/// `unavailable.value.placeholder` as bytes: text, or `hex:` and bytes.
pub(crate) fn placeholder_bytes(text: &str) -> Option<Vec<u8>> {
    let Some(hex) = text.strip_prefix("hex:") else { return Some(text.as_bytes().to_vec()) };
    let digits: Option<Vec<u8>> = hex
        .chars()
        .map(|char| char.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
