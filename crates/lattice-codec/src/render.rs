//! One record as people are shown it, whatever the connector's converters are.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::schema::Schema as ConnectSchema;
use lattice_registry::{SchemaId, SchemaRegistry, avro::Schema};
use serde_json::{Map, Value as Json, json};

use crate::{
    avro::{Input, Reader, connect_schema},
    decoder::schema_id,
    json::plain,
    text::simple_text,
};

/// A record, rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The key; null: there is none.
    pub key: Json,
    /// The key's schema id, if it has one.
    pub key_schema_id: Option<i32>,
    /// The value; null: a tombstone.
    pub value: Json,
    /// The value's schema id, if it has one.
    pub value_schema_id: Option<i32>,
    /// The headers, in order.
    pub headers: Vec<(String, Json)>,
}

/// Renders a record: Avro where its schema id is known, else JSON, else text, else base64.
/// Never fails: what cannot be read is shown as what it is.
pub async fn render(
    registry: &dyn SchemaRegistry,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[(&[u8], Option<&[u8]>)],
) -> Rendered {
    let (key, key_schema_id) = side(registry, key).await;
    let (value, value_schema_id) = side(registry, value).await;
    let headers = headers
        .iter()
        .map(|(name, value)| {
            let value = value.map_or(Json::Null, |value| match std::str::from_utf8(value) {
                Ok(text) => text.into(),
                Err(_) => STANDARD.encode(value).into(),
            });
            (String::from_utf8_lossy(name).into_owned(), value)
        })
        .collect();
    Rendered { key, key_schema_id, value, value_schema_id, headers }
}

async fn side(registry: &dyn SchemaRegistry, bytes: Option<&[u8]>) -> (Json, Option<i32>) {
    let Some(bytes) = bytes else { return (Json::Null, None) };
    if let Some((id, prefix)) = schema_id(bytes)
        && let Ok(text) = registry.schema(SchemaId(id)).await
        && let Some(json) = avro(&text, bytes.get(prefix as usize..).unwrap_or_default())
    {
        return (json, Some(id));
    }
    if let Ok(json) = serde_json::from_slice(bytes) {
        return (json, None);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), None),
        Err(_) => (json!({ "base64": STANDARD.encode(bytes) }), None),
    }
}

fn avro(text: &str, bytes: &[u8]) -> Option<Json> {
    let schema = Schema::parse(text).ok()?;
    let connect = connect_schema(&schema, schema.root()).ok()?;
    let reader = Reader::compile(&schema, schema.root()).ok()?;
    let mut input = Input::new(bytes);
    let value = reader.read(&mut input).ok()?;
    (input.left() == 0).then(|| shown(&connect, &value))
}

/// As JSON, but decimals in digits.
fn shown(schema: &ConnectSchema, value: &lattice_core::value::Value<'_>) -> Json {
    use lattice_core::value::Value;
    let element = schema.element.as_deref().unwrap_or(schema);
    match value {
        Value::Struct(items) => {
            let fields = schema.fields.iter().zip(items);
            let object: Map<String, Json> = fields
                .map(|(field, item)| (field.name.to_string(), shown(&field.schema, item)))
                .collect();
            Json::Object(object)
        }
        Value::Array(items) => items.iter().map(|item| shown(element, item)).collect(),
        Value::Bytes(_) if schema.semantic() == "org.apache.kafka.connect.data.Decimal" => {
            let mut text = String::new();
            simple_text(schema, value, false, &mut text);
            text.into()
        }
        other => plain(schema, other),
    }
}
