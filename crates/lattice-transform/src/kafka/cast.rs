//! Cast: other types for fields or for the whole value.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::{
    config::{Key, KeyType, split_list},
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use crate::{
    Record, Transform,
    date_format::iso_text,
    numbers::{decimal_text, double_text, float_text, scale_of},
    record::{Datum, Shape, Side, entry, form, set_entry},
    schemas::{Cache, DATE, DECIMAL, TIME, TIMESTAMP, basics, get, with_fields},
    settings::{REPLACE_NULL, Settings},
};

const SPEC: Key = Key::new(
    "spec",
    KeyType::List,
    "Fields and their new types (int8, int16, int32, int64, float32, float64, boolean, string), or one type for \
     the whole. Example: amount:float64,count:int32",
)
.required();

pub(super) const KEYS: &[Key] = &[SPEC, REPLACE_NULL];

struct Cast {
    side: Side,
    spec: Spec,
    replace_null: bool,
    cache: Cache<Arc<Schema>>,
}

enum Spec {
    Whole(Type),
    Fields(Vec<(String, Type)>),
}

pub(super) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
    let mut fields = Vec::new();
    let mut whole = None;
    let refuse = |reason: String| settings.invalid(SPEC.name, &reason, SPEC.doc);
    for item in split_list(settings.text(&SPEC)) {
        let (field, word) = match item.rsplit_once(':') {
            Some((field, word)) => (Some(field.trim().to_owned()), word.trim()),
            None => (None, item.trim()),
        };
        let kind =
            target(word).ok_or_else(|| refuse(format!("\"{word}\" is no type to cast to")))?;
        match field {
            Some(field) => fields.push((field, kind)),
            None => whole = Some(kind),
        }
    }
    let spec = match (whole, fields.is_empty()) {
        (Some(kind), true) => Spec::Whole(kind),
        (None, false) => Spec::Fields(fields),
        _ => {
            return Err(refuse(
                "a type for the whole value must be the only one in the list".to_owned(),
            ));
        }
    };
    let replace_null = settings.flag(&REPLACE_NULL);
    Ok(Box::new(Cast { side, spec, replace_null, cache: Cache::default() }))
}

fn target(word: &str) -> Option<Type> {
    Some(match word.to_ascii_lowercase().as_str() {
        "int8" => Type::Int8,
        "int16" => Type::Int16,
        "int32" => Type::Int32,
        "int64" => Type::Int64,
        "float32" => Type::Float32,
        "float64" => Type::Float64,
        "boolean" => Type::Boolean,
        "string" => Type::String,
        _ => return None,
    })
}

impl Transform for Cast {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let datum = record.side(self.side);
        if datum.is_null() {
            return Ok(Some(record));
        }
        let changed = match &self.spec {
            Spec::Whole(kind) => {
                let value = cast(datum.schema.as_deref(), &datum.value, *kind)?;
                let schema = match &datum.schema {
                    Some(schema) => {
                        Some(Arc::clone(self.cache.try_get(schema, |schema| whole(schema, *kind))?))
                    }
                    None => None,
                };
                Datum { schema, value }
            }
            Spec::Fields(casts) => match datum.shape("type casting")? {
                Shape::Null => return Ok(Some(record)),
                Shape::Map(entries) => {
                    let mut entries = entries.to_vec();
                    for (field, kind) in casts {
                        let value = entry(&entries, field).cloned().unwrap_or_default();
                        set_entry(&mut entries, field, cast(None, &value, *kind)?);
                    }
                    Datum { schema: None, value: Value::Map(entries) }
                }
                Shape::Struct(schema, values) => {
                    let made = self.cache.try_get(schema, |schema| fields_cast(schema, casts))?;
                    let mut changed = Vec::with_capacity(values.len());
                    for (field, value) in schema.fields.iter().zip(values) {
                        let value = get(&field.schema, value, self.replace_null);
                        changed.push(match wanted(casts, &field.name) {
                            Some(kind) => cast(Some(&field.schema), &value, kind)?,
                            None => value,
                        });
                    }
                    Datum::new(Arc::clone(made), Value::Struct(changed))
                }
            },
        };
        *record.side_mut(self.side) = changed;
        Ok(Some(record))
    }
}

fn wanted(casts: &[(String, Type)], name: &str) -> Option<Type> {
    casts.iter().rev().find(|(field, _)| field == name).map(|(_, kind)| *kind)
}

fn whole(schema: &Arc<Schema>, kind: Type) -> Result<Arc<Schema>> {
    let mut made = basics(schema, kind);
    made.optional = schema.optional;
    made.default = default_cast(schema, kind)?;
    Ok(Arc::new(made))
}

fn fields_cast(schema: &Arc<Schema>, casts: &[(String, Type)]) -> Result<Arc<Schema>> {
    let mut fields = Vec::with_capacity(schema.fields.len());
    for field in &schema.fields {
        let Some(kind) = wanted(casts, &field.name) else {
            fields.push(field.clone());
            continue;
        };
        let made = Schema {
            optional: field.schema.optional,
            default: default_cast(&field.schema, kind)?,
            ..Schema::new(kind)
        };
        fields.push(Field::new(Arc::clone(&field.name), made));
    }
    Ok(Arc::new(Schema { optional: schema.optional, ..with_fields(schema, fields) }))
}

fn default_cast(schema: &Schema, kind: Type) -> Result<Option<Value<'static>>> {
    match &schema.default {
        Some(default) if !default.is_absent() => cast(Some(schema), default, kind).map(Some),
        _ => Ok(None),
    }
}

/// A number in whichever form it has.
enum Number {
    Whole(i64),
    Float(f64),
}

fn cast(schema: Option<&Schema>, value: &Value<'static>, kind: Type) -> Result<Value<'static>> {
    if value.is_absent() {
        return Ok(Value::Null);
    }
    if matches!(value, Value::Array(_) | Value::Map(_) | Value::Struct(_)) {
        return Err(Error::data(format!(
            "Cast transformation does not support casting from {}",
            form(value)
        ))
        .with_remedy("cast only fields of simple types; see \"spec\""));
    }
    if kind == Type::String {
        return Ok(Value::Text(Text::owned(text_of(schema, value))));
    }
    if let Value::Text(text) = value {
        return parsed(text.as_str(), kind);
    }
    let number = match value {
        Value::Bool(value) => Number::Whole(i64::from(*value)),
        Value::Int(value) => Number::Whole(*value),
        Value::Float32(value) => Number::Float(f64::from(*value)),
        Value::Float64(value) => Number::Float(*value),
        Value::Bytes(bytes) if schema.is_some_and(|schema| schema.semantic() == DECIMAL) => {
            let text = decimal_text(bytes.as_slice(), schema.map_or(0, scale_of));
            let whole = text.split('.').next().unwrap_or_default();
            match whole.parse() {
                Ok(whole) if !matches!(kind, Type::Float32 | Type::Float64) => Number::Whole(whole),
                _ => Number::Float(text.parse().unwrap_or(f64::NAN)),
            }
        }
        _ => {
            return Err(Error::data("Unexpected type in Cast transformation: bytes")
                .with_remedy("bytes can be cast to string only"));
        }
    };
    Ok(narrowed(&number, kind))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // Java's narrowing
fn narrowed(number: &Number, kind: Type) -> Value<'static> {
    let (whole, float) = match number {
        Number::Whole(value) => (*value, *value as f64),
        Number::Float(value) => (*value as i64, *value),
    };
    // A double becomes an int first, which saturates.
    let int = match number {
        Number::Whole(value) => *value as i32,
        Number::Float(value) => *value as i32,
    };
    match kind {
        Type::Int8 => Value::Int(i64::from(int as i8)),
        Type::Int16 => Value::Int(i64::from(int as i16)),
        Type::Int32 => Value::Int(i64::from(int)),
        Type::Int64 => Value::Int(whole),
        Type::Float32 => Value::Float32(match number {
            Number::Whole(value) => *value as f32,
            Number::Float(value) => *value as f32,
        }),
        Type::Float64 => Value::Float64(float),
        _ => Value::Bool(whole != 0),
    }
}

fn parsed(text: &str, kind: Type) -> Result<Value<'static>> {
    let whole = |low: i64, high: i64| {
        text.parse::<i64>().ok().filter(|value| (low..=high).contains(value)).map(Value::Int)
    };
    let float = || text.trim().trim_end_matches(['f', 'F', 'd', 'D']).parse::<f64>().ok();
    #[allow(clippy::cast_possible_truncation)] // Float.parseFloat rounds
    let value = match kind {
        Type::Int8 => whole(i8::MIN.into(), i8::MAX.into()),
        Type::Int16 => whole(i16::MIN.into(), i16::MAX.into()),
        Type::Int32 => whole(i32::MIN.into(), i32::MAX.into()),
        Type::Int64 => whole(i64::MIN, i64::MAX),
        Type::Float32 => float().map(|value| Value::Float32(value as f32)),
        Type::Float64 => float().map(Value::Float64),
        _ => Some(Value::Bool(text.eq_ignore_ascii_case("true"))),
    };
    value.ok_or_else(|| {
        Error::data(format!("Value ({text}) was out of range for requested data type"))
            .with_remedy("leave the field out of \"spec\", or use a predicate")
    })
}

fn text_of(schema: Option<&Schema>, value: &Value<'static>) -> String {
    let semantic = schema.map_or("", Schema::semantic);
    match value {
        Value::Text(text) => text.as_str().to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => match semantic {
            DATE => iso_text(value.saturating_mul(86_400_000)),
            TIME | TIMESTAMP => iso_text(*value),
            _ => value.to_string(),
        },
        Value::Float32(value) => float_text(*value),
        Value::Float64(value) => double_text(*value),
        Value::Bytes(bytes) if semantic == DECIMAL => {
            decimal_text(bytes.as_slice(), schema.map_or(0, scale_of))
        }
        Value::Bytes(bytes) => STANDARD.encode(bytes.as_slice()),
        _ => String::new(),
    }
}
