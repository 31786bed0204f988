//! Which fields documents have, and documents as structs of these fields.
//!
//! Debezium makes a schema of every document alone: a field that a document lacks is not in its schema,
//! NULL is a text, an empty array an array of texts. Here a topic's documents share one schema that only
//! grows, so that a field that was taken away is NULL in the target, and registered versions stay
//! compatible.

use std::sync::Arc;

use lattice_core::{
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::{Binary, Text, Value},
};
use serde_json::{Map, Value as Json};

use super::extended::{Bson, read};
use crate::schemas::TIMESTAMP;

/// What becomes of arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrays {
    /// An array, all items of one type.
    Array,
    /// A struct with the fields `_0`, `_1`, …
    Document,
}

/// The schema of a value; `None`: it says nothing (NULL, an empty array).
///
/// Errors: `Data` for arrays of several types, and for values that are none.
pub(super) fn schema_of(json: &Json, path: &str, arrays: Arrays) -> Result<Option<Schema>> {
    let schema = match read(json)? {
        Bson::Null => return Ok(None),
        Bson::Bool(_) => Schema::new(Type::Boolean),
        Bson::Int32(_) => Schema::new(Type::Int32),
        Bson::Int64(_) => Schema::new(Type::Int64),
        Bson::Double(_) => Schema::new(Type::Float64),
        Bson::Text(_) => Schema::new(Type::String),
        Bson::Bytes(_) => Schema::new(Type::Bytes),
        Bson::Moment(_) => Schema::new(Type::Int64).named(TIMESTAMP, 1),
        Bson::Regex(..) => {
            let text = || Arc::new(Schema::new(Type::String).optional());
            let fields = vec![Field::new("regex", text()), Field::new("options", text())];
            Schema::structure("io.debezium.mongodb.regex", fields)
        }
        Bson::Document(members) => document(members, path, arrays)?,
        Bson::Array(items) => match arrays {
            Arrays::Document => numbered(items, path, arrays)?,
            Arrays::Array => {
                let mut element: Option<Schema> = None;
                for item in items {
                    let Some(schema) = schema_of(item, path, arrays)? else { continue };
                    element = Some(match element {
                        Some(known) => merged(&known, schema, path)?,
                        None => schema,
                    });
                }
                let Some(element) = element else { return Ok(None) };
                Schema::array(Arc::new(element))
            }
        },
    };
    Ok(Some(schema.optional()))
}

/// The schema of a document; required.
///
/// Errors: those of [`schema_of`].
pub(super) fn document(members: &Map<String, Json>, name: &str, arrays: Arrays) -> Result<Schema> {
    let mut fields = Vec::with_capacity(members.len());
    for (member, json) in members {
        if let Some(schema) = schema_of(json, &format!("{name}.{member}"), arrays)? {
            fields.push(Field::new(member.as_str(), schema));
        }
    }
    Ok(Schema::structure(name, fields))
}

fn numbered(items: &[Json], name: &str, arrays: Arrays) -> Result<Schema> {
    let mut fields = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        if let Some(schema) = schema_of(item, &format!("{name}._{index}"), arrays)? {
            fields.push(Field::new(format!("_{index}"), schema));
        }
    }
    Ok(Schema::structure(name, fields))
}

/// The schema that values of both fit into.
///
/// Errors: `Data`: there is none.
pub(super) fn merged(known: &Schema, other: Schema, path: &str) -> Result<Schema> {
    Ok(match (known.kind, other.kind) {
        (Type::Struct, Type::Struct) => {
            let mut fields = known.fields.clone();
            for field in other.fields {
                match fields.iter_mut().find(|known| known.name == field.name) {
                    Some(known) if known.schema == field.schema => {}
                    Some(known) => {
                        let below = format!("{path}.{}", field.name);
                        let schema = Schema::clone(&field.schema);
                        known.schema = Arc::new(merged(&known.schema, schema, &below)?);
                    }
                    None => fields.push(field),
                }
            }
            Schema { fields, ..known.clone() }
        }
        (Type::Array, Type::Array) => match (&known.element, &other.element) {
            (Some(one), Some(two)) => {
                let element = merged(one, Schema::clone(two), path)?;
                Schema { element: Some(Arc::new(element)), ..known.clone() }
            }
            _ => other,
        },
        (one, two) if one == two && known.name == other.name => other,
        (Type::Int32, Type::Int64) | (Type::Int32 | Type::Int64, Type::Float64)
            if plain(known) && plain(&other) =>
        {
            other
        }
        (Type::Int64, Type::Int32) | (Type::Float64, Type::Int32 | Type::Int64)
            if plain(known) && plain(&other) =>
        {
            known.clone()
        }
        _ => {
            let (one, two) = (word(known), word(&other));
            return Err(Error::data(format!("field {path} is {one} in one place and {two} in another"))
                .with_remedy(
                    "give the field one type in the collection, leave it out by the source's \
                     \"field.exclude.list\", or, inside of an array, set \"array.encoding\" to document",
                ));
        }
    })
}

fn plain(schema: &Schema) -> bool {
    schema.name.is_none()
}

fn word(schema: &Schema) -> &'static str {
    match schema.kind {
        Type::Boolean => "a boolean",
        Type::Int64 if !plain(schema) => "a date",
        Type::Int32 | Type::Int64 => "a whole number",
        Type::Float64 => "a double",
        Type::String => "a text",
        Type::Bytes => "binary",
        Type::Array => "an array",
        _ => "a document",
    }
}

/// A value in the form of a schema that it fits into.
///
/// Errors: `Data` for values that are none.
pub(super) fn value_of(schema: &Schema, json: &Json) -> Result<Value<'static>> {
    let text = |text: &str| Value::Text(Text::copied(text));
    Ok(match (schema.kind, read(json)?) {
        (Type::Boolean, Bson::Bool(value)) => Value::Bool(value),
        (Type::Int32 | Type::Int64, Bson::Int32(whole) | Bson::Int64(whole)) => Value::Int(whole),
        (Type::Int64, Bson::Moment(ms)) => Value::Int(ms),
        (Type::Float64, Bson::Double(value)) => Value::Float64(value),
        #[allow(clippy::cast_precision_loss)] // the field has doubles, too
        (Type::Float64, Bson::Int32(whole) | Bson::Int64(whole)) => Value::Float64(whole as f64),
        (Type::String, Bson::Text(value)) => text(&value),
        (Type::Bytes, Bson::Bytes(bytes)) => Value::Bytes(Binary::owned(bytes)),
        (Type::Struct, Bson::Regex(pattern, options)) => {
            Value::Struct(vec![text(pattern), text(options)])
        }
        (Type::Array, Bson::Array(items)) => {
            let element = schema.element.as_deref().unwrap_or(schema);
            Value::Array(items.iter().map(|item| value_of(element, item)).collect::<Result<_>>()?)
        }
        (Type::Struct, Bson::Array(items)) => {
            let place =
                |name: &str| name.strip_prefix('_').and_then(|place| place.parse::<usize>().ok());
            structure(schema, |name| items.get(place(name)?))?
        }
        (Type::Struct, Bson::Document(members)) => structure(schema, |name| members.get(name))?,
        _ => Value::Null,
    })
}

fn structure<'j>(
    schema: &Schema,
    member: impl Fn(&str) -> Option<&'j Json>,
) -> Result<Value<'static>> {
    let values = schema.fields.iter().map(|field| match member(&field.name) {
        Some(json) => value_of(&field.schema, json),
        None => Ok(Value::Null),
    });
    Ok(Value::Struct(values.collect::<Result<_>>()?))
}
