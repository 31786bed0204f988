//! What has no column type of its own, as JSON.

use lattice_core::{
    schema::{Field, Schema, Type},
    value::Value,
};
use serde_json::{Map, Number, Value as Json};

use super::{Cell, Meaning};

/// A value as JSON. Numbers keep all their digits; bytes are hexadecimal digits.
pub(crate) fn json(schema: &Schema, value: &Value<'_>) -> Json {
    match value {
        Value::Array(items) => match schema.element.as_deref() {
            Some(element) => items.iter().map(|item| json(element, item)).collect(),
            None => Json::Null,
        },
        Value::Map(items) => {
            let text = Schema::new(Type::String);
            let key_schema = schema.key.as_deref().unwrap_or(&text);
            let item_schema = schema.element.as_deref().unwrap_or(&text);
            let pair = |(key, item): &(Value<'_>, Value<'_>)| {
                let key = match json(key_schema, key) {
                    Json::String(key) => key,
                    other => other.to_string(),
                };
                (key, json(item_schema, item))
            };
            Json::Object(items.iter().map(pair).collect::<Map<_, _>>())
        }
        Value::Struct(items) if !is_number(schema) => {
            let pair = |(field, item): (&Field, &Value<'_>)| {
                (field.name.to_string(), json(&field.schema, item))
            };
            Json::Object(schema.fields.iter().zip(items).map(pair).collect())
        }
        value => match Meaning::of(schema).read(value) {
            Ok(cell) => of_cell(&cell),
            Err(_) => Json::Null,
        },
    }
}

fn is_number(schema: &Schema) -> bool {
    schema.semantic() == "io.debezium.data.VariableScaleDecimal"
}

/// A cell as JSON.
pub(crate) fn of_cell(cell: &Cell<'_>) -> Json {
    match cell {
        Cell::Null => Json::Null,
        Cell::Bool(flag) => Json::Bool(*flag),
        Cell::Int(number) => Json::Number((*number).into()),
        Cell::Float32(number) if number.is_finite() => {
            number.to_string().parse().map_or(Json::Null, Json::Number)
        }
        Cell::Float64(number) if number.is_finite() => {
            Number::from_f64(*number).map_or(Json::Null, Json::Number)
        }
        Cell::Array(items) => items.iter().map(of_cell).collect(),
        // A decimal as a number would be read back as a double by most.
        other => Json::String(other.text().into_owned()),
    }
}
