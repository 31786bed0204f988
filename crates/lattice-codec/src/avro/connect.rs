//! Avro schema → Connect schema, with what `connect.*` properties kept.

use std::sync::Arc;

use lattice_core::{
    schema::{Field, Schema, Type},
    value::{Binary, Text, Value},
};
use lattice_registry::avro::{self, Kind, NodeId};
use serde_json::{Map, Value as Json};

use super::read::{Damage, map_entry, optional_branch};

/// Deeper than this a schema is refused.
const MAX_DEPTH: usize = 200;

/// The Connect schema of a node.
///
/// Errors: a schema that refers to itself.
pub(crate) fn connect_schema(schema: &avro::Schema, id: NodeId) -> Result<Schema, Damage> {
    made(schema, id, 0)
}

fn made(schema: &avro::Schema, id: NodeId, depth: usize) -> Result<Schema, Damage> {
    if depth > MAX_DEPTH {
        return Err("the schema is nested too deeply".into());
    }
    let child = |id: NodeId| Ok::<_, Damage>(Arc::new(made(schema, id, depth + 1)?));
    let node = schema.node(id);
    let mut connect = match &node.kind {
        Kind::Null => Schema::new(Type::String).optional(),
        Kind::Boolean => Schema::new(Type::Boolean),
        Kind::Int => Schema::new(int_type(&node.properties)),
        Kind::Long => Schema::new(Type::Int64),
        Kind::Float => Schema::new(Type::Float32),
        Kind::Double => Schema::new(Type::Float64),
        Kind::Bytes => Schema::new(Type::Bytes),
        Kind::String => Schema::new(Type::String),
        Kind::Fixed(fixed) => {
            Schema::new(Type::Bytes).parameter("connect.fixed.size", &fixed.size.to_string())
        }
        Kind::Enum(symbols) => enumeration(symbols),
        Kind::Array(items) => match map_entry(schema, *items) {
            Some((key, value)) => Schema::map(child(key)?, child(value)?),
            None => Schema::array(child(*items)?),
        },
        Kind::Map(values) => Schema::map(Arc::new(Schema::new(Type::String)), child(*values)?),
        Kind::Record(record) => {
            let mut fields = Vec::with_capacity(record.fields.len());
            for field in &record.fields {
                let mut inner = made(schema, field.schema, depth + 1)?;
                if inner.default.is_none()
                    && let Some(default) = field.default.as_ref().filter(|json| !json.is_null())
                {
                    inner.default = value(&inner, default);
                }
                fields.push(Field::new(Arc::clone(&field.name), inner));
            }
            Schema::structure(Arc::clone(&record.name.full), fields)
        }
        Kind::Union(branches) => return union(schema, branches, depth),
    };
    restore(&mut connect, &node.properties);
    Ok(connect)
}

fn int_type(properties: &Map<String, Json>) -> Type {
    match properties.get("connect.type").and_then(Json::as_str) {
        Some("int8") => Type::Int8,
        Some("int16") => Type::Int16,
        _ => Type::Int32,
    }
}

fn enumeration(symbols: &avro::Enum) -> Schema {
    let full = &symbols.name.full;
    let base = "io.confluent.connect.avro.Enum";
    let mut schema = Schema::new(Type::String).parameter(base, full);
    for symbol in &symbols.symbols {
        schema = schema.parameter(&format!("{base}.{symbol}"), symbol);
    }
    schema
}

fn union(schema: &avro::Schema, branches: &[NodeId], depth: usize) -> Result<Schema, Damage> {
    if let Some(index) = optional_branch(schema, branches) {
        return Ok(made(schema, branches[index], depth + 1)?.optional());
    }
    let mut fields = Vec::new();
    let mut optional = false;
    for branch in branches {
        let kind = schema.kind(*branch);
        if matches!(kind, Kind::Null) {
            optional = true;
            continue;
        }
        let name = kind.name().map_or(kind.word(), |name| &name.full);
        fields.push(Field::new(name, made(schema, *branch, depth + 1)?.optional()));
    }
    let made = Schema::structure("io.confluent.connect.avro.Union", fields);
    Ok(if optional { made.optional() } else { made })
}

/// Puts back what the properties say.
fn restore(connect: &mut Schema, properties: &Map<String, Json>) {
    let text = |name: &str| properties.get(name).and_then(Json::as_str);
    logical(connect, properties);
    if let Some(name) = text("connect.name") {
        connect.name = Some(name.into());
    }
    if let Some(version) = properties.get("connect.version").and_then(Json::as_i64) {
        connect.version = i32::try_from(version).ok();
    }
    if let Some(doc) = text("connect.doc") {
        connect.doc = Some(doc.into());
    }
    if let Some(Json::Object(parameters)) = properties.get("connect.parameters") {
        for (name, parameter) in parameters {
            let parameter = parameter.as_str().map_or_else(|| parameter.to_string(), str::to_owned);
            connect.parameters.retain(|(other, _)| **other != **name);
            connect.parameters.push((name.as_str().into(), parameter.into()));
        }
    }
    if let Some(default) = properties.get("connect.default") {
        connect.default = value(connect, default);
    }
}

/// Avro's own logical types that Kafka Connect knows.
fn logical(connect: &mut Schema, properties: &Map<String, Json>) {
    let base = "org.apache.kafka.connect.data.";
    let simple = match (properties.get("logicalType").and_then(Json::as_str), connect.kind) {
        (Some("date"), Type::Int32) => "Date",
        (Some("time-millis"), Type::Int32) => "Time",
        (Some("timestamp-millis"), Type::Int64) => "Timestamp",
        (Some("decimal"), Type::Bytes) => "Decimal",
        _ => return,
    };
    connect.name = Some(format!("{base}{simple}").into());
    connect.version = Some(1);
    if simple == "Decimal" {
        let number = |name: &str| properties.get(name).and_then(Json::as_i64);
        let scale = number("scale").unwrap_or(0).to_string();
        connect.parameters.push(("scale".into(), scale.into()));
        if let Some(precision) = number("precision").filter(|precision| *precision != 64) {
            let name = "connect.decimal.precision";
            connect.parameters.push((name.into(), precision.to_string().into()));
        }
    }
}

/// A default's JSON as a value; `None`: it does not fit.
fn value(schema: &Schema, json: &Json) -> Option<Value<'static>> {
    Some(match (schema.kind, json) {
        (_, Json::Null) => return None,
        (Type::Boolean, Json::Bool(value)) => Value::Bool(*value),
        (Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64, json) => Value::Int(json.as_i64()?),
        #[allow(clippy::cast_possible_truncation)] // the default was an f32
        (Type::Float32, json) => Value::Float32(float(json)? as f32),
        (Type::Float64, json) => Value::Float64(float(json)?),
        (Type::String, Json::String(text)) => Value::Text(Text::owned(text.clone())),
        (Type::Bytes, Json::String(text)) => {
            let bytes: Option<Vec<u8>> =
                text.chars().map(|char| u8::try_from(u32::from(char)).ok()).collect();
            Value::Bytes(Binary::owned(bytes?))
        }
        (Type::Array, Json::Array(items)) => {
            let element = schema.element.as_ref()?;
            Value::Array(items.iter().map(|item| member(element, item)).collect::<Option<_>>()?)
        }
        (Type::Map, Json::Object(items)) => {
            let element = schema.element.as_ref()?;
            let entry = |(key, item): (&String, &Json)| {
                Some((Value::Text(Text::owned(key.clone())), member(element, item)?))
            };
            Value::Map(items.iter().map(entry).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn member(schema: &Schema, json: &Json) -> Option<Value<'static>> {
    if json.is_null() { Some(Value::Null) } else { value(schema, json) }
}

fn float(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        _ => json.as_f64(),
    }
}
