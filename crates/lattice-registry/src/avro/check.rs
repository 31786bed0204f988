//! Whether defaults fit their fields' types: a schema with one that does not is of no use to a
//! reader, so it is refused when it is registered and not when the first record is read.

use serde_json::Value;

use super::{Kind, NodeId, ParseError, Schema};

pub(super) fn defaults(schema: &Schema) -> Result<(), ParseError> {
    for node in &schema.nodes {
        let Kind::Record(record) = &node.kind else { continue };
        for field in &record.fields {
            let Some(default) = &field.default else { continue };
            if !fits_field(schema, field.schema, default) {
                let kind = schema.kind(field.schema).word();
                return Err(ParseError(format!(
                    "invalid default for field {} of record {}: {default} not a {kind}",
                    field.name, record.name.full
                )));
            }
        }
    }
    Ok(())
}

/// A union's default belongs to any of its branches (Java's rule since Avro 1.12; older texts
/// asked for the first).
fn fits_field(schema: &Schema, id: NodeId, default: &Value) -> bool {
    match schema.kind(id) {
        Kind::Union(branches) => branches.iter().any(|branch| fits(schema, *branch, default)),
        _ => fits(schema, id, default),
    }
}

fn fits(schema: &Schema, id: NodeId, value: &Value) -> bool {
    match schema.kind(id) {
        Kind::Null => value.is_null(),
        Kind::Boolean => value.is_boolean(),
        Kind::Int => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Kind::Long => value.as_i64().is_some(),
        Kind::Float | Kind::Double => {
            value.is_number() || matches!(value.as_str(), Some("NaN" | "Infinity" | "-Infinity"))
        }
        Kind::Bytes | Kind::String | Kind::Enum(_) => value.is_string(),
        Kind::Fixed(fixed) => value.as_str().is_some_and(|text| text.chars().count() == fixed.size),
        Kind::Array(items) => value
            .as_array()
            .is_some_and(|list| list.iter().all(|item| fits_field(schema, *items, item))),
        Kind::Map(values) => value
            .as_object()
            .is_some_and(|map| map.values().all(|item| fits_field(schema, *values, item))),
        Kind::Union(branches) => branches.iter().any(|branch| fits(schema, *branch, value)),
        Kind::Record(record) => value.as_object().is_some_and(|object| {
            record.fields.iter().all(|field| match object.get(&*field.name) {
                Some(item) => fits_field(schema, field.schema, item),
                None => field.default.is_some(),
            })
        }),
    }
}
