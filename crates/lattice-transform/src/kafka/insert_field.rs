//! InsertField: fields from the record's metadata, and one fixed.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType},
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use crate::{
    Record, Transform,
    record::{Datum, Shape, Side, set_entry},
    schemas::{Cache, TIMESTAMP, get_all, logical, plain, with_fields},
    settings::{REPLACE_NULL, Settings},
};

const TOPIC: Key = Key::new(
    "topic.field",
    KeyType::String,
    "The field for the topic. A ! after its name makes it required, a ? (or nothing) optional.",
);
const PARTITION: Key =
    Key::new("partition.field", KeyType::String, "The field for the partition, if it is known.");
const OFFSET: Key =
    Key::new("offset.field", KeyType::String, "Sinks: the field for the record's offset.");
const TIMESTAMP_FIELD: Key =
    Key::new("timestamp.field", KeyType::String, "The field for the record's timestamp.");
const STATIC: Key =
    Key::new("static.field", KeyType::String, "The field for the fixed value. Example: origin");
const STATIC_VALUE: Key = Key::new("static.value", KeyType::String, "The fixed value.");

pub(super) const KEYS: &[Key] =
    &[TOPIC, PARTITION, OFFSET, TIMESTAMP_FIELD, STATIC, STATIC_VALUE, REPLACE_NULL];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Topic,
    Partition,
    Offset,
    Timestamp,
    Static,
}

struct Insert {
    what: What,
    name: String,
    optional: bool,
}

struct InsertField {
    side: Side,
    inserts: Vec<Insert>,
    fixed: String,
    replace_null: bool,
    cache: Cache<Arc<Schema>>,
}

pub(super) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
    let mut inserts = Vec::new();
    for (key, what) in [
        (&TOPIC, What::Topic),
        (&PARTITION, What::Partition),
        (&OFFSET, What::Offset),
        (&TIMESTAMP_FIELD, What::Timestamp),
        (&STATIC, What::Static),
    ] {
        let Some(text) = settings.given(key) else { continue };
        let (name, optional) = match text.strip_suffix('!') {
            Some(name) => (name, false),
            None => (text.strip_suffix('?').unwrap_or(text), true),
        };
        inserts.push(Insert { what, name: name.to_owned(), optional });
    }
    if inserts.is_empty() {
        return Err(settings.invalid(
            TOPIC.name,
            "No field insertion configured",
            "set one of topic.field, partition.field, offset.field, timestamp.field, static.field",
        ));
    }
    let fixed = settings.config.get(STATIC_VALUE.name);
    if settings.given(&STATIC).is_some() && fixed.is_none() {
        let reason = format!("No value specified for static field: {}", settings.text(&STATIC));
        return Err(settings.invalid(STATIC_VALUE.name, &reason, "set \"static.value\""));
    }
    Ok(Box::new(InsertField {
        side,
        inserts,
        fixed: fixed.unwrap_or_default().to_owned(),
        replace_null: settings.flag(&REPLACE_NULL),
        cache: Cache::default(),
    }))
}

impl InsertField {
    /// The value; `None`: the record has none.
    fn value(&self, record: &Record, what: What) -> Result<Option<Value<'static>>> {
        Ok(match what {
            What::Topic => Some(Value::Text(Text::copied(&record.topic))),
            What::Partition => record.partition.map(|partition| Value::Int(partition.into())),
            What::Offset => Some(Value::Int(record.offset.ok_or_else(|| {
                Error::data("Only SinkRecord supported for [field insertion]: a source's records have no offset")
                    .with_remedy("remove \"offset.field\"")
            })?)),
            What::Timestamp => record.timestamp_ms.map(Value::Int),
            What::Static => Some(Value::Text(Text::copied(&self.fixed))),
        })
    }
}

impl Transform for InsertField {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        if record.side(self.side).is_null() {
            return Ok(Some(record));
        }
        let mut inserted = Vec::with_capacity(self.inserts.len());
        for insert in &self.inserts {
            inserted.push(self.value(&record, insert.what)?);
        }
        let changed = match record.side(self.side).shape("field insertion")? {
            Shape::Null => return Ok(Some(record)),
            Shape::Map(entries) => {
                let mut entries = entries.to_vec();
                for (insert, value) in self.inserts.iter().zip(inserted) {
                    if let Some(value) = value {
                        set_entry(&mut entries, &insert.name, value);
                    }
                }
                Datum { schema: None, value: Value::Map(entries) }
            }
            Shape::Struct(schema, values) => {
                let made = self.cache.get(schema, |schema| Arc::new(made(schema, &self.inserts)));
                let mut all = get_all(schema, values, self.replace_null);
                all.extend(inserted.into_iter().map(Option::unwrap_or_default));
                Datum::new(Arc::clone(made), Value::Struct(all))
            }
        };
        *record.side_mut(self.side) = changed;
        Ok(Some(record))
    }
}

fn made(schema: &Schema, inserts: &[Insert]) -> Schema {
    let mut fields = schema.fields.clone();
    for insert in inserts {
        let kind = match insert.what {
            What::Topic | What::Static => plain(Type::String, insert.optional),
            What::Partition => plain(Type::Int32, insert.optional),
            What::Offset => plain(Type::Int64, insert.optional),
            What::Timestamp => logical(TIMESTAMP, insert.optional),
        };
        fields.push(Field::new(insert.name.as_str(), kind));
    }
    with_fields(schema, fields)
}
