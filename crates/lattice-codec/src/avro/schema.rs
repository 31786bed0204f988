//! Connect schema → Avro's JSON text, member for member as Java's `AvroData` and Avro write it.

use std::collections::HashSet;

use lattice_core::{
    schema::{Schema, Type},
    value::Value,
};
use serde_json::{Map, Value as Json, json};

/// Where unnamed things live, as with Kafka Connect's converters.
const NAMESPACE: &str = "io.confluent.connect.avro";

/// Kafka Connect's Decimal.
const DECIMAL: &str = "org.apache.kafka.connect.data.Decimal";

/// Whether `connect.*` properties are written (`connect.meta.data`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meta {
    Written,
    Left,
}

/// The Avro schema of a Connect schema.
pub(crate) fn avro_text(schema: &Schema, meta: Meta) -> String {
    let mut maker = Maker { defined: HashSet::new(), unnamed: 0, meta };
    maker.union(schema, "").to_string()
}

struct Maker {
    defined: HashSet<String>,
    unnamed: u32,
    meta: Meta,
}

impl Maker {
    /// A schema with its null branch.
    fn union(&mut self, schema: &Schema, space: &str) -> Json {
        let inner = self.plain(schema, space);
        match () {
            () if !schema.optional => inner,
            () if default_leads(schema) => json!([inner, "null"]),
            () => json!(["null", inner]),
        }
    }

    fn plain(&mut self, schema: &Schema, space: &str) -> Json {
        let mut object = Map::new();
        match schema.kind {
            Type::Struct => return self.record(schema, space),
            Type::Array => {
                object.insert("type".into(), "array".into());
                let items = self.element(schema, space);
                object.insert("items".into(), items);
            }
            Type::Map if string_keys(schema) => {
                object.insert("type".into(), "map".into());
                let values = self.element(schema, space);
                object.insert("values".into(), values);
            }
            Type::Map => return self.entries(schema, space),
            kind => {
                object.insert("type".into(), primitive(kind).into());
            }
        }
        self.properties(schema, &mut object);
        match (object.len(), object.get("type")) {
            (1, Some(word)) => word.clone(),
            _ => Json::Object(object),
        }
    }

    fn element(&mut self, schema: &Schema, space: &str) -> Json {
        match &schema.element {
            Some(element) => self.union(element, space),
            None => "string".into(),
        }
    }

    /// A map whose keys are not plain strings: an array of key-value records.
    fn entries(&mut self, schema: &Schema, space: &str) -> Json {
        let full =
            schema.name.as_deref().map_or_else(|| format!("{NAMESPACE}.MapEntry"), str::to_owned);
        if !self.defined.insert(full.clone()) {
            return json!({"type": "array", "items": relative(&full, space)});
        }
        let (mut object, inner) = header(&full, space);
        let key = schema.key.as_ref().map_or("string".into(), |key| self.union(key, &inner));
        let value = self.element(schema, &inner);
        let fields = json!([{"name": "key", "type": key}, {"name": "value", "type": value}]);
        object.insert("fields".into(), fields);
        if schema.name.is_some() && self.meta == Meta::Written {
            object.insert("connect.internal.type".into(), "MapEntry".into());
        }
        let mut array = Map::new();
        array.insert("type".into(), "array".into());
        array.insert("items".into(), Json::Object(object));
        self.properties(schema, &mut array);
        Json::Object(array)
    }

    fn record(&mut self, schema: &Schema, space: &str) -> Json {
        let full = match &schema.name {
            Some(name) => name.to_string(),
            None => {
                self.unnamed += 1;
                match self.unnamed {
                    1 => format!("{NAMESPACE}.ConnectDefault"),
                    number => format!("{NAMESPACE}.ConnectDefault{number}"),
                }
            }
        };
        if !self.defined.insert(full.clone()) {
            return relative(&full, space);
        }
        let (mut object, inner) = header(&full, space);
        let mut fields = Vec::with_capacity(schema.fields.len());
        for field in &schema.fields {
            let mut member = Map::new();
            member.insert("name".into(), field.name.as_ref().into());
            let kind = self.union(&field.schema, &inner);
            member.insert("type".into(), kind);
            if let Some(default) = field_default(&field.schema) {
                member.insert("default".into(), default);
            }
            fields.push(Json::Object(member));
        }
        object.insert("fields".into(), Json::Array(fields));
        self.properties(schema, &mut object);
        Json::Object(object)
    }

    fn properties(&self, schema: &Schema, object: &mut Map<String, Json>) {
        let semantic = schema.semantic();
        if semantic == DECIMAL {
            let number = |key: &str| schema.get_parameter(key).and_then(|text| text.parse().ok());
            let scale: i64 = number("scale").unwrap_or(0);
            let precision: i64 = number("connect.decimal.precision").unwrap_or(64);
            object.insert("scale".into(), scale.into());
            object.insert("precision".into(), precision.into());
        }
        if self.meta == Meta::Written {
            self.connect_properties(schema, object);
        }
        if let Some(word) = logical_type(semantic) {
            object.insert("logicalType".into(), word.into());
        }
    }

    fn connect_properties(&self, schema: &Schema, object: &mut Map<String, Json>) {
        if let Some(doc) = &schema.doc {
            object.insert("connect.doc".into(), doc.as_ref().into());
        }
        if let Some(version) = schema.version {
            object.insert("connect.version".into(), version.into());
        }
        if !schema.parameters.is_empty() {
            let parameters: Map<String, Json> = schema
                .parameters
                .iter()
                .map(|(name, value)| (name.to_string(), value.as_ref().into()))
                .collect();
            object.insert("connect.parameters".into(), Json::Object(parameters));
        }
        if let Some(default) = default_json(schema) {
            object.insert("connect.default".into(), default);
        }
        if let Some(name) = &schema.name {
            object.insert("connect.name".into(), name.as_ref().into());
        }
        match schema.kind {
            Type::Int8 => object.insert("connect.type".into(), "int8".into()),
            Type::Int16 => object.insert("connect.type".into(), "int16".into()),
            _ => None,
        };
    }
}

/// Whether the union begins with the type itself: its default must be of the first branch.
pub(super) fn default_leads(schema: &Schema) -> bool {
    schema.optional && default_json(schema).is_some()
}

/// Whether an Avro map can hold it.
pub(super) fn string_keys(schema: &Schema) -> bool {
    schema.key.as_ref().is_none_or(|key| key.kind == Type::String && !key.optional)
}

fn logical_type(semantic: &str) -> Option<&'static str> {
    match semantic {
        DECIMAL => Some("decimal"),
        "org.apache.kafka.connect.data.Date" => Some("date"),
        "org.apache.kafka.connect.data.Time" => Some("time-millis"),
        "org.apache.kafka.connect.data.Timestamp" => Some("timestamp-millis"),
        _ => None,
    }
}

fn field_default(schema: &Schema) -> Option<Json> {
    match default_json(schema) {
        Some(default) => Some(default),
        None => schema.optional.then_some(Json::Null),
    }
}

fn default_json(schema: &Schema) -> Option<Json> {
    let default = schema.default.as_ref()?;
    if default.is_absent() || schema.kind == Type::Struct {
        return None; // a struct's default cannot be said in a union, and Debezium drops it
    }
    to_json(schema, default)
}

/// A default's JSON as Avro writes it: bytes are one ISO-8859-1 character each.
fn to_json(schema: &Schema, value: &Value<'_>) -> Option<Json> {
    Some(match value {
        Value::Null | Value::Missing | Value::Unchanged => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        // Through its shortest text, so that 0.1 stays 0.1.
        Value::Float32(value) => value.to_string().parse::<f64>().ok()?.into(),
        Value::Float64(value) => (*value).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Bytes(bytes) => {
            bytes.as_slice().iter().map(|byte| char::from(*byte)).collect::<String>().into()
        }
        Value::Array(items) => {
            let element = schema.element.as_ref()?;
            items.iter().map(|item| to_json(element, item)).collect::<Option<Vec<_>>>()?.into()
        }
        Value::Map(items) => {
            let element = schema.element.as_ref()?;
            let mut object = Map::new();
            for (key, item) in items {
                let Value::Text(key) = key else { return None };
                object.insert(key.as_str().to_owned(), to_json(element, item)?);
            }
            Json::Object(object)
        }
        Value::Struct(items) => {
            let mut object = Map::new();
            for (field, item) in schema.fields.iter().zip(items) {
                object.insert(field.name.to_string(), to_json(&field.schema, item)?);
            }
            Json::Object(object)
        }
    })
}

fn primitive(kind: Type) -> &'static str {
    match kind {
        Type::Int8 | Type::Int16 | Type::Int32 => "int",
        Type::Int64 => "long",
        Type::Float32 => "float",
        Type::Float64 => "double",
        Type::Boolean => "boolean",
        Type::Bytes => "bytes",
        Type::String | Type::Array | Type::Map | Type::Struct => "string",
    }
}

/// A record's first members, and the namespace inside it.
fn header(full: &str, space: &str) -> (Map<String, Json>, String) {
    let (own, short) = full.rsplit_once('.').unwrap_or(("", full));
    let mut object = Map::new();
    object.insert("type".into(), "record".into());
    object.insert("name".into(), short.into());
    if own != space {
        object.insert("namespace".into(), own.into());
    }
    (object, own.to_owned())
}

/// How a type that was written before is named inside a namespace.
fn relative(full: &str, space: &str) -> Json {
    match full.rsplit_once('.') {
        Some((own, short)) if own == space => short.into(),
        _ => full.into(),
    }
}
