//! ReplaceField: fields left out and renamed.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    config::{Key, KeyType, split_list},
    error::Result,
    schema::{Field, Schema},
    value::{Text, Value},
};

use crate::{
    Record, Transform,
    record::{Datum, Shape, Side, name_of},
    schemas::{Cache, get, with_fields},
    settings::{REPLACE_NULL, Settings},
};

const EXCLUDE: Key = Key::new(
    "exclude",
    KeyType::List,
    "Fields to leave out. Wins over \"include\". Example: secret",
)
.default("");
const INCLUDE: Key =
    Key::new("include", KeyType::List, "Fields to keep; not given: all. Example: id,name")
        .default("");
const RENAMES: Key =
    Key::new("renames", KeyType::List, "Old and new names. Example: id:order_id,ts:created")
        .default("");

pub(super) const KEYS: &[Key] = &[EXCLUDE, INCLUDE, RENAMES, REPLACE_NULL];

struct ReplaceField {
    side: Side,
    rules: Rules,
    replace_null: bool,
    /// New schema, and which fields it takes.
    cache: Cache<(Arc<Schema>, Vec<usize>)>,
}

struct Rules {
    exclude: Vec<String>,
    include: Vec<String>,
    renames: HashMap<String, String>,
}

pub(super) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
    let mut renames = HashMap::new();
    for pair in split_list(settings.text(&RENAMES)) {
        let (old, new) =
            pair.split_once(':').filter(|(_, new)| !new.contains(':')).ok_or_else(|| {
                let reason = format!("Invalid rename mapping: {pair}");
                settings.invalid(RENAMES.name, &reason, "write old:new, separated by commas")
            })?;
        renames.insert(old.to_owned(), new.to_owned());
    }
    Ok(Box::new(ReplaceField {
        side,
        rules: Rules {
            exclude: settings.list(&EXCLUDE),
            include: settings.list(&INCLUDE),
            renames,
        },
        replace_null: settings.flag(&REPLACE_NULL),
        cache: Cache::default(),
    }))
}

impl Rules {
    fn keeps(&self, name: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|field| field == name);
        !listed(&self.exclude) && (self.include.is_empty() || listed(&self.include))
    }

    fn renamed<'n>(&'n self, name: &'n str) -> &'n str {
        self.renames.get(name).map_or(name, String::as_str)
    }

    fn plan(&self, schema: &Schema) -> (Arc<Schema>, Vec<usize>) {
        let kept = schema.fields.iter().enumerate().filter(|(_, field)| self.keeps(&field.name));
        let (picks, fields) = kept
            .map(|(index, field)| {
                (index, Field::new(self.renamed(&field.name), Arc::clone(&field.schema)))
            })
            .unzip();
        (Arc::new(with_fields(schema, fields)), picks)
    }
}

impl Transform for ReplaceField {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let changed = match record.side(self.side).shape("field replacement")? {
            Shape::Null => return Ok(Some(record)),
            Shape::Map(entries) => {
                let rules = &self.rules;
                let kept = entries.iter().filter(|(name, _)| rules.keeps(name_of(name)));
                let renamed = kept.map(|(name, value)| {
                    (Value::Text(Text::copied(rules.renamed(name_of(name)))), value.clone())
                });
                Datum { schema: None, value: Value::Map(renamed.collect()) }
            }
            Shape::Struct(schema, values) => {
                let (made, picks) = self.cache.get(schema, |schema| self.rules.plan(schema));
                let pick = |index: &usize| {
                    let value = values.get(*index).unwrap_or(&Value::Null);
                    let field = schema.fields.get(*index);
                    field.map_or(Value::Null, |field| get(&field.schema, value, self.replace_null))
                };
                Datum::new(Arc::clone(made), Value::Struct(picks.iter().map(pick).collect()))
            }
        };
        *record.side_mut(self.side) = changed;
        Ok(Some(record))
    }
}
