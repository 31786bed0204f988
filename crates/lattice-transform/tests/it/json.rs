//! Records in JSON with schemas, as Kafka Connect's JsonConverter has them.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::{
    schema::{Field, Schema, Type},
    value::{Binary, Text, Value},
};
use lattice_transform::{Datum, Header, Record};
use serde_json::{Map, Value as Json, json};

const TYPES: [(&str, Type); 12] = [
    ("int8", Type::Int8),
    ("int16", Type::Int16),
    ("int32", Type::Int32),
    ("int64", Type::Int64),
    ("float", Type::Float32),
    ("double", Type::Float64),
    ("boolean", Type::Boolean),
    ("string", Type::String),
    ("bytes", Type::Bytes),
    ("array", Type::Array),
    ("map", Type::Map),
    ("struct", Type::Struct),
];

fn schema(json: &Json) -> Schema {
    let word = json["type"].as_str().unwrap();
    let kind = TYPES.iter().find(|(name, _)| *name == word).unwrap().1;
    let mut made = Schema::new(kind);
    let child = |name: &str| Some(Arc::new(schema(&json[name])));
    match kind {
        Type::Array => made.element = child("items"),
        Type::Map => (made.key, made.element) = (child("keys"), child("values")),
        Type::Struct => {
            let field = |field: &Json| Field::new(field["field"].as_str().unwrap(), schema(field));
            made.fields = json["fields"].as_array().unwrap().iter().map(field).collect();
        }
        _ => {}
    }
    made.optional = json["optional"].as_bool().unwrap_or(false);
    made.name = json["name"].as_str().map(Arc::from);
    made.doc = json["doc"].as_str().map(Arc::from);
    made.version = json["version"].as_i64().map(|version| i32::try_from(version).unwrap());
    for (name, text) in json["parameters"].as_object().into_iter().flatten() {
        made = made.parameter(name, text.as_str().unwrap());
    }
    if let Some(default) = json.get("default") {
        made.default = Some(value(&made, default));
    }
    made
}

fn value(schema: &Schema, json: &Json) -> Value<'static> {
    let element = || schema.element.as_deref().unwrap();
    match (schema.kind, json) {
        (_, Json::Null) => Value::Null,
        (Type::Float32, json) => Value::Float32(json.as_f64().unwrap() as f32),
        (Type::Float64, json) => Value::Float64(json.as_f64().unwrap()),
        (Type::Bytes, Json::String(text)) => {
            Value::Bytes(Binary::owned(STANDARD.decode(text).unwrap()))
        }
        (Type::Array, Json::Array(items)) => {
            Value::Array(items.iter().map(|item| value(element(), item)).collect())
        }
        (Type::Map, Json::Object(items)) => {
            let entry = |(name, item): (&String, &Json)| {
                (Value::Text(Text::owned(name.clone())), value(element(), item))
            };
            Value::Map(items.iter().map(entry).collect())
        }
        (Type::Struct, json) => Value::Struct(
            schema.fields.iter().map(|field| value(&field.schema, &json[&*field.name])).collect(),
        ),
        (_, json) => plain(json),
    }
}

fn plain(json: &Json) -> Value<'static> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::Float64(number.as_f64().unwrap()), Value::Int)
        }
        Json::String(text) => Value::Text(Text::owned(text.clone())),
        Json::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Json::Object(items) => Value::Map(
            items
                .iter()
                .map(|(name, item)| (Value::Text(Text::owned(name.clone())), plain(item)))
                .collect(),
        ),
    }
}

fn datum(json: &Json) -> Datum {
    match (&json["schema"], &json["payload"]) {
        (Json::Null, payload) => Datum { schema: None, value: plain(payload) },
        (given, payload) => {
            let schema = Arc::new(schema(given));
            let value = value(&schema, payload);
            Datum { schema: Some(schema), value }
        }
    }
}

pub(crate) fn record(json: &Json) -> Record {
    let header = |header: &Json| Header {
        name: header["name"].as_str().unwrap().into(),
        datum: datum(&header["value"]),
    };
    let partition = json["partition"].as_i64().map(|partition| i32::try_from(partition).unwrap());
    Record {
        topic: json["topic"].as_str().unwrap().into(),
        partition: if json["offset"].is_i64() { partition.or(Some(0)) } else { partition },
        key: datum(&json["key"]),
        value: datum(&json["value"]),
        timestamp_ms: json["timestamp"].as_i64(),
        headers: json["headers"].as_array().into_iter().flatten().map(header).collect(),
        offset: json["offset"].as_i64(),
    }
}

fn schema_json(schema: &Schema) -> Map<String, Json> {
    let mut object = Map::new();
    let word = TYPES.iter().find(|(_, kind)| *kind == schema.kind).unwrap().0;
    object.insert("type".into(), word.into());
    let child = |schema: &Option<Arc<Schema>>| Json::Object(schema_json(schema.as_ref().unwrap()));
    match schema.kind {
        Type::Array => {
            object.insert("items".into(), child(&schema.element));
        }
        Type::Map => {
            object.insert("keys".into(), child(&schema.key));
            object.insert("values".into(), child(&schema.element));
        }
        Type::Struct => {
            let fields = schema.fields.iter().map(|field| {
                let mut object = schema_json(&field.schema);
                object.insert("field".into(), (*field.name).into());
                Json::Object(object)
            });
            object.insert("fields".into(), fields.collect());
        }
        _ => {}
    }
    object.insert("optional".into(), schema.optional.into());
    if let Some(name) = &schema.name {
        object.insert("name".into(), (**name).into());
    }
    if let Some(version) = schema.version {
        object.insert("version".into(), version.into());
    }
    if let Some(doc) = &schema.doc {
        object.insert("doc".into(), (**doc).into());
    }
    if !schema.parameters.is_empty() {
        let parameters: Map<String, Json> = schema
            .parameters
            .iter()
            .map(|(name, text)| (name.to_string(), (**text).into()))
            .collect();
        object.insert("parameters".into(), parameters.into());
    }
    if let Some(default) = &schema.default {
        object.insert("default".into(), value_json(Some(schema), default));
    }
    object
}

fn value_json(schema: Option<&Schema>, value: &Value<'_>) -> Json {
    let element = schema.and_then(|schema| schema.element.as_deref());
    match value {
        Value::Null | Value::Missing | Value::Unchanged => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float32(value) => json!(value.to_string().parse::<f64>().unwrap()),
        Value::Float64(value) => json!(value),
        Value::Text(text) => json!(text.as_str()),
        Value::Bytes(bytes) => json!(STANDARD.encode(bytes.as_slice())),
        Value::Array(items) => items.iter().map(|item| value_json(element, item)).collect(),
        Value::Map(items) => {
            let entry = |(name, item): &(Value<'_>, Value<'_>)| match name {
                Value::Text(text) => (text.as_str().to_owned(), value_json(element, item)),
                other => panic!("a map's key is {other:?}"),
            };
            Json::Object(items.iter().map(entry).collect())
        }
        Value::Struct(items) => {
            let fields = &schema.expect("a struct has a schema").fields;
            assert_eq!(fields.len(), items.len(), "as many values as fields");
            let pairs = fields.iter().zip(items);
            Json::Object(
                pairs
                    .map(|(field, item)| {
                        (field.name.to_string(), value_json(Some(&field.schema), item))
                    })
                    .collect(),
            )
        }
    }
}

fn datum_json(datum: &Datum) -> Json {
    match &datum.schema {
        None if datum.value.is_absent() => Json::Null,
        schema => json!({
            "schema": schema.as_ref().map(|schema| schema_json(schema)),
            "payload": value_json(schema.as_deref(), &datum.value),
        }),
    }
}

pub(crate) fn shown(record: &Record) -> Json {
    let headers = record.headers.iter();
    let headers: Vec<Json> = headers
        .map(|header| json!({"name": *header.name, "value": datum_json(&header.datum)}))
        .collect();
    json!({
        "topic": *record.topic,
        "partition": record.partition,
        "key": datum_json(&record.key),
        "value": datum_json(&record.value),
        "timestamp": record.timestamp_ms,
        "headers": headers,
    })
}
