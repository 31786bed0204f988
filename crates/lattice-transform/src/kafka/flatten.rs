//! Flatten: the fields of structs inside of the value become its own.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType},
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use crate::{
    Record, Transform,
    record::{Datum, Shape, Side, name_of},
    schemas::{Cache, basics, get, with_fields},
    settings::Settings,
};

const DELIMITER: Key =
    Key::new("delimiter", KeyType::String, "Stands between outer and inner name.").default(".");

pub(super) const KEYS: &[Key] = &[DELIMITER];

struct Flatten {
    side: Side,
    delimiter: String,
    cache: Cache<Arc<Schema>>,
}

pub(super) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
    let delimiter = settings.text(&DELIMITER).to_owned();
    Ok(Box::new(Flatten { side, delimiter, cache: Cache::default() }))
}

impl Transform for Flatten {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let datum = record.side(self.side);
        let changed = match (datum.shape("flattening")?, &datum.schema) {
            // Without a value the schema is flat all the same.
            (Shape::Null, _) => return Ok(Some(record)),
            (Shape::Map(entries), _) => {
                let mut flat = Vec::new();
                self.map("", entries, &mut flat);
                Datum { schema: None, value: Value::Map(flat) }
            }
            (Shape::Struct(schema, values), _) => {
                let made = self.cache.try_get(schema, |schema| {
                    let mut fields = Vec::new();
                    let from =
                        Parent { optional: schema.optional, default: schema.default.as_ref() };
                    schema_fields(schema, "", &self.delimiter, &from, &mut fields)?;
                    Ok::<_, Error>(Arc::new(with_fields(schema, fields)))
                })?;
                let made = Arc::clone(made);
                let mut flat = Vec::with_capacity(made.fields.len());
                struct_values(schema, Some(values), &mut flat);
                Datum::new(made, Value::Struct(flat))
            }
        };
        *record.side_mut(self.side) = changed;
        Ok(Some(record))
    }
}

/// A struct's flat schema and values.
///
/// Errors: `Data` for maps inside.
pub(crate) fn flat(
    schema: &Schema,
    values: &[Value<'static>],
    delimiter: &str,
) -> Result<(Arc<Schema>, Value<'static>)> {
    let mut fields = Vec::new();
    let from = Parent { optional: schema.optional, default: None };
    schema_fields(schema, "", delimiter, &from, &mut fields)?;
    let mut row = Vec::with_capacity(fields.len());
    struct_values(schema, Some(values), &mut row);
    Ok((Arc::new(with_fields(schema, fields)), Value::Struct(row)))
}

impl Flatten {
    fn map(
        &self,
        prefix: &str,
        entries: &[(Value<'static>, Value<'static>)],
        flat: &mut Vec<(Value<'static>, Value<'static>)>,
    ) {
        for (name, value) in entries {
            let name = joined(prefix, name_of(name), &self.delimiter);
            match value {
                Value::Map(inner) => self.map(&name, inner, flat),
                value => flat.push((Value::Text(Text::owned(name)), value.clone())),
            }
        }
    }
}

fn joined(prefix: &str, name: &str, delimiter: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}{delimiter}{name}") }
}

/// What the struct around says about its fields.
struct Parent<'p> {
    optional: bool,
    default: Option<&'p Value<'static>>,
}

fn schema_fields(
    schema: &Schema,
    prefix: &str,
    delimiter: &str,
    parent: &Parent<'_>,
    out: &mut Vec<Field>,
) -> Result<()> {
    for (index, field) in schema.fields.iter().enumerate() {
        let name = joined(prefix, &field.name, delimiter);
        let inner = &field.schema;
        let optional = parent.optional || inner.optional;
        let from_parent = match parent.default {
            Some(Value::Struct(values)) => values.get(index),
            _ => None,
        };
        let default = inner.default.as_ref().or(from_parent);
        match inner.kind {
            Type::Struct => {
                schema_fields(inner, &name, delimiter, &Parent { optional, default }, out)?;
            }
            Type::Map => {
                return Err(Error::data(format!(
                    "Flatten transformation does not support MAP for record with schemas (for field {name})."
                ))
                .with_remedy("leave the field out by ReplaceField's \"exclude\" before"));
            }
            kind => {
                let made = Schema {
                    optional,
                    default: default.filter(|default| !default.is_absent()).cloned(),
                    element: inner.element.clone(),
                    ..basics(inner, kind)
                };
                out.push(Field::new(name, made));
            }
        }
    }
    Ok(())
}

fn struct_values(
    schema: &Schema,
    values: Option<&[Value<'static>]>,
    out: &mut Vec<Value<'static>>,
) {
    for (index, field) in schema.fields.iter().enumerate() {
        let value = values.and_then(|values| values.get(index)).unwrap_or(&Value::Null);
        match (field.schema.kind, value) {
            (Type::Struct, Value::Struct(inner)) => struct_values(&field.schema, Some(inner), out),
            (Type::Struct, _) => match &field.schema.default {
                Some(Value::Struct(inner)) => struct_values(&field.schema, Some(inner), out),
                _ => struct_values(&field.schema, None, out),
            },
            // What stands in a struct that is not there stays NULL.
            _ if values.is_none() => out.push(Value::Null),
            _ => out.push(get(&field.schema, value, true)),
        }
    }
}
