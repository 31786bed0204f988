//! JSON text as a struct with a schema of its own.

use std::sync::Arc;

use lattice_core::{
    schema::{Field, Schema, Type},
    value::{Text, Value},
};
use serde_json::Value as Json;

/// What stands for members that are NULL or empty lists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Empties {
    /// NULL members become optional bytes; otherwise they are left out.
    pub(super) nulls: bool,
}

/// The schema of a JSON value; `None`: it says nothing (NULL, an empty list), or its items have
/// nothing in common.
pub(super) fn schema_of(json: &Json, name: Option<&str>, empties: Empties) -> Option<Schema> {
    Some(
        match json {
            Json::Null => return None,
            Json::Bool(_) => Schema::new(Type::Boolean),
            Json::Number(number) => match number.as_i64() {
                Some(whole) if i32::try_from(whole).is_ok() => Schema::new(Type::Int32),
                Some(_) => Schema::new(Type::Int64),
                None => Schema::new(Type::Float64),
            },
            Json::String(_) => Schema::new(Type::String),
            Json::Array(items) => {
                let mut element: Option<Schema> = None;
                for schema in items.iter().filter_map(|item| schema_of(item, name, empties)) {
                    element = Some(match element {
                        None => schema,
                        Some(known) => merged(known, schema)?,
                    });
                }
                Schema::array(Arc::new(element?))
            }
            Json::Object(members) => {
                let mut fields = Vec::new();
                for (member, json) in members {
                    let inner =
                        name.map_or_else(|| member.clone(), |name| format!("{name}.{member}"));
                    let schema = match json {
                        Json::Null if empties.nulls => Schema::new(Type::Bytes).optional(),
                        json => match schema_of(json, Some(&inner), empties) {
                            Some(schema) => schema,
                            None => continue,
                        },
                    };
                    fields.push(Field::new(member.as_str(), schema));
                }
                Schema { name: name.map(Arc::from), fields, ..Schema::new(Type::Struct) }
            }
        }
        .optional(),
    )
}

/// The schema that both fit; `None`: there is none.
fn merged(one: Schema, other: Schema) -> Option<Schema> {
    match (one.kind, other.kind) {
        (Type::Struct, Type::Struct) => {
            let mut fields = one.fields.clone();
            for field in other.fields {
                match fields.iter_mut().find(|known| known.name == field.name) {
                    Some(known) => {
                        let both =
                            merged(Schema::clone(&known.schema), Schema::clone(&field.schema))?;
                        known.schema = Arc::new(both);
                    }
                    None => fields.push(field),
                }
            }
            Some(Schema { fields, ..one })
        }
        (Type::Array, Type::Array) => {
            let (a, b) = (one.element.as_deref()?.clone(), other.element.as_deref()?.clone());
            Some(Schema { element: Some(Arc::new(merged(a, b)?)), ..one })
        }
        (old, new) if old == new => Some(one),
        (Type::Int32, Type::Int64) | (Type::Int32 | Type::Int64, Type::Float64) => Some(other),
        (Type::Int64 | Type::Float64, Type::Int32) | (Type::Float64, Type::Int64) => Some(one),
        _ => None,
    }
}

/// A JSON value in the form of the schema made of it.
pub(super) fn value_of(schema: &Schema, json: &Json) -> Value<'static> {
    match (schema.kind, json) {
        (Type::Boolean, Json::Bool(value)) => Value::Bool(*value),
        (Type::Int32 | Type::Int64, Json::Number(number)) => {
            number.as_i64().map_or(Value::Null, Value::Int)
        }
        (Type::Float64, Json::Number(number)) => {
            number.as_f64().map_or(Value::Null, Value::Float64)
        }
        (Type::String, Json::String(text)) => Value::Text(Text::owned(text.clone())),
        (Type::Array, Json::Array(items)) => {
            let element = schema.element.as_deref().unwrap_or(schema);
            Value::Array(items.iter().map(|item| value_of(element, item)).collect())
        }
        (Type::Struct, Json::Object(members)) => {
            let field = |field: &Field| match members.get(&*field.name) {
                Some(member) => value_of(&field.schema, member),
                None => Value::Null,
            };
            Value::Struct(schema.fields.iter().map(field).collect())
        }
        _ => Value::Null,
    }
}
