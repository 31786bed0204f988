//! Connect schema → the JsonConverter's schema object.

use lattice_core::{
    schema::{Schema, Type},
    value::Value,
};
use serde_json::{Map, Value as Json};

use super::{
    schemaless::{member_name, schemaless_json},
    write::not_finite,
};

/// The schema object's text.
pub(crate) fn schema_text(schema: &Schema) -> String {
    Json::Object(object(schema)).to_string()
}

fn object(schema: &Schema) -> Map<String, Json> {
    let mut object = Map::new();
    object.insert("type".into(), word(schema.kind).into());
    let inner = |schema: &Option<std::sync::Arc<Schema>>| {
        schema.as_ref().map_or(Json::Null, |schema| Json::Object(self::object(schema)))
    };
    match schema.kind {
        Type::Array => {
            object.insert("items".into(), inner(&schema.element));
        }
        Type::Map => {
            object.insert("keys".into(), inner(&schema.key));
            object.insert("values".into(), inner(&schema.element));
        }
        Type::Struct => {
            let fields = schema.fields.iter().map(|field| {
                let mut member = self::object(&field.schema);
                member.insert("field".into(), field.name.as_ref().into());
                Json::Object(member)
            });
            object.insert("fields".into(), fields.collect());
        }
        _ => {}
    }
    object.insert("optional".into(), schema.optional.into());
    if let Some(name) = &schema.name {
        object.insert("name".into(), name.as_ref().into());
    }
    if let Some(version) = schema.version {
        object.insert("version".into(), version.into());
    }
    if let Some(doc) = &schema.doc {
        object.insert("doc".into(), doc.as_ref().into());
    }
    if !schema.parameters.is_empty() {
        let parameters: Map<String, Json> = schema
            .parameters
            .iter()
            .map(|(name, value)| (name.to_string(), value.as_ref().into()))
            .collect();
        object.insert("parameters".into(), Json::Object(parameters));
    }
    if let Some(default) = schema.default.as_ref().filter(|default| !default.is_absent()) {
        object.insert("default".into(), plain(schema, default));
    }
    object
}

/// A value as JSON; bytes in base64.
pub(crate) fn plain(schema: &Schema, value: &Value<'_>) -> Json {
    let element = |item: &Value<'_>| match &schema.element {
        Some(element) => plain(element, item),
        None => Json::Null,
    };
    match value {
        Value::Array(items) => items.iter().map(element).collect(),
        Value::Map(items) => {
            let member = |(name, item): &(Value<'_>, Value<'_>)| (member_name(name), element(item));
            Json::Object(items.iter().map(member).collect())
        }
        Value::Struct(items) => Json::Object(
            schema
                .fields
                .iter()
                .zip(items)
                .map(|(field, item)| (field.name.to_string(), plain(&field.schema, item)))
                .collect(),
        ),
        Value::Float32(number) if !number.is_finite() => not_finite((*number).into()).into(),
        Value::Float64(number) if !number.is_finite() => not_finite(*number).into(),
        scalar => schemaless_json(scalar),
    }
}

fn word(kind: Type) -> &'static str {
    match kind {
        Type::Int8 => "int8",
        Type::Int16 => "int16",
        Type::Int32 => "int32",
        Type::Int64 => "int64",
        Type::Float32 => "float",
        Type::Float64 => "double",
        Type::Boolean => "boolean",
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::Array => "array",
        Type::Map => "map",
        Type::Struct => "struct",
    }
}
