//! TimestampConverter: times as texts, numbers and Kafka Connect's logical types.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType, Rule},
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use crate::{
    Record, Transform,
    date_format::DateFormat,
    record::{Datum, Shape, Side, entry, form, set_entry},
    schemas::{Cache, DATE, TIME, TIMESTAMP, get, logical, plain, with_fields},
    settings::{REPLACE_NULL, Settings},
};

const FIELD: Key =
    Key::new("field", KeyType::String, "The field; not given: the whole value.").default("");
const TARGET: Key = Key::new(
    "target.type",
    KeyType::String,
    "What it becomes: string, unix, Date, Time or Timestamp.",
)
.required()
.rule(Rule::OneOf(&["string", "unix", "Date", "Time", "Timestamp"]));
const FORMAT: Key = Key::new(
    "format",
    KeyType::String,
    "The pattern of texts, as Java's SimpleDateFormat has it, in UTC. Example: yyyy-MM-dd'T'HH:mm:ss.SSS",
)
.default("");
const PRECISION: Key = Key::new(
    "unix.precision",
    KeyType::String,
    "The unit of numbers: seconds, milliseconds, microseconds or nanoseconds.",
)
.default("milliseconds")
.rule(Rule::OneOf(&["seconds", "milliseconds", "microseconds", "nanoseconds"]));

pub(super) const KEYS: &[Key] = &[FIELD, TARGET, FORMAT, PRECISION, REPLACE_NULL];

/// One day. Units: ms.
const DAY: i64 = 86_400_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Unix,
    Date,
    Time,
    Timestamp,
}

struct TimestampConverter {
    side: Side,
    field: String,
    rules: Rules,
    replace_null: bool,
    cache: Cache<Arc<Schema>>,
}

struct Rules {
    target: Form,
    format: Option<DateFormat>,
    precision: Precision,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precision {
    Seconds,
    Millis,
    Micros,
    Nanos,
}

pub(super) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
    let target = match settings.word(&TARGET).as_str() {
        "string" => Form::Text,
        "unix" => Form::Unix,
        "date" => Form::Date,
        "time" => Form::Time,
        _ => Form::Timestamp,
    };
    let precision = match settings.word(&PRECISION).as_str() {
        "seconds" => Precision::Seconds,
        "microseconds" => Precision::Micros,
        "nanoseconds" => Precision::Nanos,
        _ => Precision::Millis,
    };
    let pattern = settings.text(&FORMAT);
    let format = match pattern {
        "" if target == Form::Text => {
            let reason = "TimestampConverter requires format option to be specified when using string timestamps";
            return Err(settings.invalid(FORMAT.name, reason, FORMAT.doc));
        }
        "" => None,
        pattern => Some(DateFormat::compile(pattern).map_err(|reason| {
            let reason = format!("\"{pattern}\" is no pattern for SimpleDateFormat: {reason}");
            settings.invalid(FORMAT.name, &reason, FORMAT.doc)
        })?),
    };
    Ok(Box::new(TimestampConverter {
        side,
        field: settings.text(&FIELD).trim().to_owned(),
        rules: Rules { target, format, precision },
        replace_null: settings.flag(&REPLACE_NULL),
        cache: Cache::default(),
    }))
}

impl Transform for TimestampConverter {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let datum = record.side(self.side);
        let changed = match &datum.schema {
            Some(schema) if self.field.is_empty() => {
                let value = self.rules.convert(Some(schema), &datum.value)?;
                let made = self.cache.get(schema, |schema| self.rules.schema(schema.optional));
                Datum::new(Arc::clone(made), value)
            }
            None if self.field.is_empty() || datum.is_null() => {
                Datum { schema: None, value: self.rules.convert(None, &datum.value)? }
            }
            _ => match datum.shape("converting timestamp formats")? {
                Shape::Null => {
                    let schema = datum.schema.as_ref().map(|schema| self.made(schema));
                    Datum { schema, value: Value::Null }
                }
                Shape::Map(entries) => {
                    let mut entries = entries.to_vec();
                    let value = entry(&entries, &self.field).cloned().unwrap_or_default();
                    let value = self.rules.convert(None, &value)?;
                    set_entry(&mut entries, &self.field, value);
                    Datum { schema: None, value: Value::Map(entries) }
                }
                Shape::Struct(schema, values) => {
                    let (schema, values) = (Arc::clone(schema), values.to_vec());
                    let made = self.made(&schema);
                    let mut changed = Vec::with_capacity(values.len());
                    for (field, value) in schema.fields.iter().zip(&values) {
                        let value = get(&field.schema, value, self.replace_null);
                        changed.push(match *field.name == *self.field {
                            true => self.rules.convert(Some(&field.schema), &value)?,
                            false => value,
                        });
                    }
                    Datum::new(made, Value::Struct(changed))
                }
            },
        };
        *record.side_mut(self.side) = changed;
        Ok(Some(record))
    }
}

impl TimestampConverter {
    fn made(&mut self, schema: &Arc<Schema>) -> Arc<Schema> {
        let made = self.cache.get(schema, |schema| {
            let fields = schema.fields.iter().map(|field| match *field.name == *self.field {
                true => {
                    Field::new(Arc::clone(&field.name), self.rules.schema(field.schema.optional))
                }
                false => field.clone(),
            });
            let made = with_fields(schema, fields.collect());
            Arc::new(Schema { optional: schema.optional, ..made })
        });
        Arc::clone(made)
    }
}

impl Rules {
    fn schema(&self, optional: bool) -> Arc<Schema> {
        match self.target {
            Form::Text => plain(Type::String, optional),
            Form::Unix => plain(Type::Int64, optional),
            Form::Date => logical(DATE, optional),
            Form::Time => logical(TIME, optional),
            Form::Timestamp => logical(TIMESTAMP, optional),
        }
    }

    fn convert(
        &self,
        schema: Option<&Arc<Schema>>,
        value: &Value<'static>,
    ) -> Result<Value<'static>> {
        let from = match schema {
            Some(schema) => form_of(schema)?,
            None => match value {
                Value::Text(_) => Form::Text,
                _ => Form::Unix,
            },
        };
        if value.is_absent() {
            return Ok(Value::Null);
        }
        let ms = match (from, value) {
            (Form::Text, Value::Text(text)) => self.parse(text.as_str())?,
            (Form::Date, Value::Int(days)) => days.saturating_mul(DAY),
            (Form::Unix, Value::Int(number)) => self.millis(*number),
            (Form::Time | Form::Timestamp, Value::Int(ms)) => *ms,
            (_, other) => {
                return Err(Error::data(format!(
                    "TimestampConverter does not support {} as timestamps",
                    form(other)
                ))
                .with_remedy("name another field, or use a predicate"));
            }
        };
        Ok(match self.target {
            Form::Text => {
                let format = self.format.as_ref();
                Value::Text(Text::owned(format.map(|format| format.format(ms)).unwrap_or_default()))
            }
            Form::Unix => Value::Int(self.unix(ms)),
            // A value without schema has no logical type: it stays a time in ms.
            Form::Date if schema.is_none() => Value::Int(ms.div_euclid(DAY) * DAY),
            Form::Date => Value::Int(ms.div_euclid(DAY)),
            Form::Time => Value::Int(ms.rem_euclid(DAY)),
            Form::Timestamp => Value::Int(ms),
        })
    }

    fn parse(&self, text: &str) -> Result<i64> {
        let Some(format) = &self.format else {
            return Err(Error::data("a text cannot be read as a time without \"format\"")
                .with_remedy("set \"format\" to the texts' pattern"));
        };
        format.parse(text).ok_or_else(|| {
            Error::data(format!(
                "Could not parse timestamp: value ({text}) does not match pattern ({})",
                format.pattern()
            ))
            .with_remedy("correct \"format\"")
        })
    }

    fn millis(&self, number: i64) -> i64 {
        match self.precision {
            Precision::Seconds => number.saturating_mul(1000),
            Precision::Millis => number,
            Precision::Micros => number / 1000,
            Precision::Nanos => number / 1_000_000,
        }
    }

    fn unix(&self, ms: i64) -> i64 {
        match self.precision {
            Precision::Seconds => ms / 1000,
            Precision::Millis => ms,
            Precision::Micros => ms.saturating_mul(1000),
            Precision::Nanos => ms.saturating_mul(1_000_000),
        }
    }
}

fn form_of(schema: &Schema) -> Result<Form> {
    Ok(match (schema.semantic(), schema.kind) {
        (TIMESTAMP, _) => Form::Timestamp,
        (DATE, _) => Form::Date,
        (TIME, _) => Form::Time,
        (_, Type::String) => Form::Text,
        (_, Type::Int64) => Form::Unix,
        _ => {
            return Err(Error::data(
                "the schema does not correspond to a known timestamp type format",
            )
            .with_remedy("name a field that is a text, an INT64, or a Date, Time or Timestamp"));
        }
    })
}
