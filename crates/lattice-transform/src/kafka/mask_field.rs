//! MaskField: the type's zero, or a replacement, instead of values.

use lattice_core::{
    config::{Key, KeyType},
    error::{Error, Result},
    schema::{Schema, Type},
    value::{Binary, Text, Value},
};

use crate::{
    Record, Transform,
    numbers::{decimal_of, scale_of},
    record::{Datum, Shape, Side, entry, form, only_map, only_struct, set_entry},
    schemas::{DATE, DECIMAL, TIME, TIMESTAMP, get},
    settings::{REPLACE_NULL, Settings},
};

const FIELDS: Key =
    Key::new("fields", KeyType::List, "The fields to mask. Example: email,card").required();
const REPLACEMENT: Key = Key::new(
    "replacement",
    KeyType::String,
    "What stands for values of numbers and strings; not given: the type's zero.",
);

pub(super) const KEYS: &[Key] = &[FIELDS, REPLACEMENT, REPLACE_NULL];

struct MaskField {
    side: Side,
    fields: Vec<String>,
    replacement: Option<String>,
    replace_null: bool,
}

pub(super) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
    let replacement = settings.config.get(REPLACEMENT.name).filter(|text| !text.is_empty());
    Ok(Box::new(MaskField {
        side,
        fields: settings.list(&FIELDS),
        replacement: replacement.map(str::to_owned),
        replace_null: settings.flag(&REPLACE_NULL),
    }))
}

const PURPOSE: &str = "mask fields";

impl Transform for MaskField {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let listed = |name: &str| self.fields.iter().any(|field| field == name);
        let datum = record.side(self.side);
        let changed = match datum.shape(PURPOSE)? {
            Shape::Null if datum.schema.is_some() => return Err(only_struct(PURPOSE, "null")),
            Shape::Null => return Err(only_map(PURPOSE, "null")),
            Shape::Map(entries) => {
                let mut entries = entries.to_vec();
                for field in &self.fields {
                    let value = entry(&entries, field).cloned().unwrap_or_default();
                    set_entry(&mut entries, field, self.masked(None, &value)?);
                }
                Datum { schema: None, value: Value::Map(entries) }
            }
            Shape::Struct(schema, values) => {
                let mut masked = Vec::with_capacity(values.len());
                for (field, value) in schema.fields.iter().zip(values) {
                    let value = get(&field.schema, value, self.replace_null);
                    masked.push(match listed(&field.name) {
                        true => self.masked(Some(&field.schema), &value)?,
                        false => value,
                    });
                }
                Datum { schema: datum.schema.clone(), value: Value::Struct(masked) }
            }
        };
        *record.side_mut(self.side) = changed;
        Ok(Some(record))
    }
}

impl MaskField {
    fn masked(&self, schema: Option<&Schema>, value: &Value<'static>) -> Result<Value<'static>> {
        match &self.replacement {
            _ if value.is_absent() => Ok(Value::Null),
            Some(replacement) => replaced(schema, value, replacement),
            None => zero(schema, value),
        }
    }
}

fn is(schema: Option<&Schema>, names: &[&str]) -> bool {
    schema.is_some_and(|schema| names.contains(&schema.semantic()))
}

fn zero(schema: Option<&Schema>, value: &Value<'static>) -> Result<Value<'static>> {
    Ok(match value {
        Value::Bool(_) => Value::Bool(false),
        Value::Int(_) => Value::Int(0),
        Value::Float32(_) => Value::Float32(0.0),
        Value::Float64(_) => Value::Float64(0.0),
        Value::Text(_) => Value::text(""),
        Value::Bytes(_) if is(schema, &[DECIMAL]) => Value::bytes(&[0]),
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Map(_) => Value::Map(Vec::new()),
        other => {
            return Err(Error::data(format!("Cannot mask value of type: {}", form(other)))
                .with_remedy("leave the field out by ReplaceField's \"exclude\""));
        }
    })
}

fn replaced(schema: Option<&Schema>, value: &Value<'static>, text: &str) -> Result<Value<'static>> {
    let refuse = || {
        Error::data(format!("Cannot mask value of type {} with custom replacement.", form(value)))
            .with_remedy("remove \"replacement\", or use one transformation for each type of field")
    };
    if is(schema, &[DATE, TIME, TIMESTAMP]) {
        return Err(refuse());
    }
    let number = || {
        Error::data(format!("Unable to convert {text} to a number"))
            .with_remedy("give a \"replacement\" that is a number of the fields' type")
    };
    Ok(match value {
        Value::Text(_) => Value::Text(Text::copied(text)),
        Value::Int(_) => {
            let limit = match schema.map(|schema| schema.kind) {
                Some(Type::Int8) => i64::from(i8::MAX),
                Some(Type::Int16) => i64::from(i16::MAX),
                Some(Type::Int32) => i64::from(i32::MAX),
                _ => i64::MAX,
            };
            let whole: i64 = text.parse().map_err(|_| number())?;
            if whole > limit || whole < -limit - 1 {
                return Err(number());
            }
            Value::Int(whole)
        }
        Value::Float32(_) => Value::Float32(text.parse().map_err(|_| number())?),
        Value::Float64(_) => Value::Float64(text.parse().map_err(|_| number())?),
        Value::Bytes(_) if is(schema, &[DECIMAL]) => {
            let wanted = schema.map_or(0, scale_of);
            // The replacement is brought to the field's scale, as long as no digit is lost.
            let padded = match text.split_once('.') {
                Some((whole, fraction)) => {
                    format!("{whole}.{fraction:0<0$}", usize::try_from(wanted).unwrap_or(0))
                }
                None => format!("{text}.{}", "0".repeat(usize::try_from(wanted).unwrap_or(0))),
            };
            match decimal_of(&padded) {
                Some((bytes, scale)) if scale == wanted => Value::Bytes(Binary::owned(bytes)),
                _ => return Err(number()),
            }
        }
        _ => return Err(refuse()),
    })
}
