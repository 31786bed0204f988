//! SetSchemaMetadata: another name or version of a schema.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType},
    error::{Error, Result},
    schema::Schema,
    value::Value,
};

use crate::{
    Record, Transform,
    record::{Datum, Side},
    schemas::{Cache, get_all},
    settings::{REPLACE_NULL, Settings},
};

const NAME: Key = Key::new("schema.name", KeyType::String, "The schema's new name.");
const VERSION: Key = Key::new("schema.version", KeyType::Int, "The schema's new version.");

pub(super) const KEYS: &[Key] = &[NAME, VERSION, REPLACE_NULL];

struct SetSchemaMetadata {
    side: Side,
    name: Option<Arc<str>>,
    version: Option<i32>,
    replace_null: bool,
    cache: Cache<Arc<Schema>>,
}

pub(super) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
    let (name, version) = (settings.given(&NAME), settings.given(&VERSION));
    if name.is_none() && version.is_none() {
        let reason = "Neither schema name nor version configured";
        return Err(settings.invalid(NAME.name, reason, "set one of them"));
    }
    Ok(Box::new(SetSchemaMetadata {
        side,
        name: name.map(Arc::from),
        version: version.and_then(|version| version.parse().ok()),
        replace_null: settings.flag(&REPLACE_NULL),
        cache: Cache::default(),
    }))
}

impl Transform for SetSchemaMetadata {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let datum = record.side(self.side);
        let changed = match &datum.schema {
            None if datum.is_null() => return Ok(Some(record)),
            None => {
                return Err(Error::data("Schema required for [updating schema metadata]")
                    .with_remedy("use a converter with schemas, or remove the transformation"));
            }
            Some(schema) => {
                let made = self.cache.get(schema, |schema| {
                    let mut made = Schema::clone(schema);
                    made.name = self.name.clone().or(made.name);
                    made.version = self.version.or(made.version);
                    Arc::new(made)
                });
                let value = match &datum.value {
                    Value::Struct(values) => {
                        Value::Struct(get_all(schema, values, self.replace_null))
                    }
                    value => value.clone(),
                };
                Datum::new(Arc::clone(made), value)
            }
        };
        *record.side_mut(self.side) = changed;
        Ok(Some(record))
    }
}
