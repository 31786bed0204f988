//! ByLogicalTableRouter: several tables in one topic.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType, Rule},
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use crate::{
    Record, Transform,
    java::Pattern,
    record::{Datum, Side, form, only_struct},
    schemas::{Cache, is_envelope},
    settings::Settings,
};

const REGEX: Key = Key::new(
    "topic.regex",
    KeyType::String,
    "A Java regular expression that the whole topic must match. Example: (.*)orders_shard_(.*)",
)
.required();
const REPLACEMENT: Key =
    Key::new("topic.replacement", KeyType::String, "The new topic. Example: $1orders").required();
const UNIQUE: Key = Key::new(
    "key.enforce.uniqueness",
    KeyType::Boolean,
    "Whether the key gets a field that tells the tables apart.",
)
.default("true");
const KEY_FIELD: Key = Key::new("key.field.name", KeyType::String, "The name of that field.")
    .default("__dbz__physicalTableIdentifier");
const KEY_REGEX: Key = Key::new(
    "key.field.regex",
    KeyType::String,
    "A Java regular expression for that field's value, made of the old topic.",
);
const KEY_REPLACEMENT: Key =
    Key::new("key.field.replacement", KeyType::String, "The replacement for key.field.regex.");
const ADJUSTMENT: Key = Key::new(
    "schema.name.adjustment.mode",
    KeyType::String,
    "How new schema names become legal: none, avro (other characters become _), avro_unicode.",
)
.default("none")
.rule(Rule::OneOf(&["none", "avro", "avro_unicode"]));
const CACHE: Key =
    Key::new("logical.table.cache.size", KeyType::Int, "How many schemas are remembered.")
        .default("16")
        .ignored("schemas are remembered as long as they are in use");

pub(super) const KEYS: &[Key] =
    &[REGEX, REPLACEMENT, UNIQUE, KEY_FIELD, KEY_REGEX, KEY_REPLACEMENT, ADJUSTMENT, CACHE];

struct Router {
    pattern: Pattern,
    replacement: String,
    key_field: Option<String>,
    key_pattern: Option<(Pattern, String)>,
    adjustment: String,
    /// By old schema: new topic and schema.
    keys: Cache<(Arc<str>, Arc<Schema>)>,
    envelopes: Cache<(Arc<str>, Arc<Schema>)>,
}

pub(super) fn make(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let key_pattern = match (settings.given(&KEY_REGEX), settings.given(&KEY_REPLACEMENT)) {
        (Some(_), Some(replacement)) => {
            Some((settings.pattern(&KEY_REGEX)?, replacement.to_owned()))
        }
        (None, None) => None,
        _ => {
            let reason =
                "key.field.regex and key.field.replacement are given together or not at all";
            return Err(settings.invalid(KEY_REGEX.name, reason, "give both"));
        }
    };
    Ok(Box::new(Router {
        pattern: settings.pattern(&REGEX)?,
        replacement: settings.text(&REPLACEMENT).to_owned(),
        key_field: settings.flag(&UNIQUE).then(|| settings.text(&KEY_FIELD).to_owned()),
        key_pattern,
        adjustment: settings.word(&ADJUSTMENT),
        keys: Cache::default(),
        envelopes: Cache::default(),
    }))
}

fn replaced(pattern: &Pattern, text: &str, with: &str) -> Result<String> {
    pattern.replace_first(text, with).map_err(|reason| {
        Error::data(format!("replacement \"{with}\": {reason}"))
            .with_remedy("name only groups that the regular expression has")
    })
}

impl Transform for Router {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        if !self.pattern.matches(&record.topic) {
            return Ok(Some(record));
        }
        let old = Arc::clone(&record.topic);
        let topic: Arc<str> = replaced(&self.pattern, &old, &self.replacement)?.into();
        if topic.is_empty() {
            return Ok(Some(record));
        }
        if !record.key.is_null() {
            record.key = self.key(&record.key, &old, &topic)?;
        }
        let envelope = record.value.schema.as_ref().filter(|schema| is_envelope(schema));
        if let Some(schema) = envelope.filter(|_| !record.value.is_null()) {
            let made = remembered(&mut self.envelopes, schema, &topic, |schema| {
                envelope_of(schema, &topic, &self.adjustment)
            });
            record.value.schema = Some(made);
        }
        record.topic = topic;
        Ok(Some(record))
    }
}

/// What was made of a schema for a topic.
fn remembered(
    cache: &mut Cache<(Arc<str>, Arc<Schema>)>,
    schema: &Arc<Schema>,
    topic: &Arc<str>,
    make: impl Fn(&Arc<Schema>) -> Schema,
) -> Arc<Schema> {
    let (known, made) = cache.get(schema, |schema| (Arc::clone(topic), Arc::new(make(schema))));
    // One schema in two topics is made anew each time; it hardly ever is.
    if known == topic { Arc::clone(made) } else { Arc::new(make(schema)) }
}

impl Router {
    fn key(&mut self, key: &Datum, old: &Arc<str>, topic: &Arc<str>) -> Result<Datum> {
        let (Some(schema), Value::Struct(values)) = (&key.schema, &key.value) else {
            return Err(only_struct("Updating schema", form(&key.value)));
        };
        let made = remembered(&mut self.keys, schema, topic, |schema| {
            let mut made = Schema::clone(schema);
            made.name = Some(adjusted(&format!("{topic}.Key"), &self.adjustment).into());
            let field = self.key_field.as_deref();
            made.fields.extend(field.map(|name| Field::new(name, Schema::new(Type::String))));
            made
        });
        let mut values = values.clone();
        if self.key_field.is_some() {
            let source = match &self.key_pattern {
                Some((pattern, with)) if pattern.matches(old) => replaced(pattern, old, with)?,
                _ => old.to_string(),
            };
            values.push(Value::Text(Text::owned(source)));
        }
        Ok(Datum::new(made, Value::Struct(values)))
    }
}

fn envelope_of(schema: &Schema, topic: &str, adjustment: &str) -> Schema {
    let mut made = schema.clone();
    made.name = Some(adjusted(&format!("{topic}.Envelope"), adjustment).into());
    for field in &mut made.fields {
        if matches!(&*field.name, "before" | "after") {
            let mut row = Schema::clone(&field.schema);
            row.name = Some(adjusted(&format!("{topic}.Value"), adjustment).into());
            field.schema = Arc::new(row);
        }
    }
    made
}

/// A schema name made legal.
pub(super) fn adjusted(name: &str, mode: &str) -> String {
    if mode == "none" || mode.is_empty() {
        return name.to_owned();
    }
    let unicode = mode == "avro_unicode";
    let mut out = String::new();
    for (at, char) in name.chars().enumerate() {
        let digit = at > 0 && (char.is_ascii_digit() || char == '.');
        match char {
            _ if char.is_ascii_alphabetic() || digit => out.push(char),
            '_' if !unicode => out.push('_'),
            _ if unicode => {
                let mut units = [0; 2];
                for unit in char.encode_utf16(&mut units) {
                    out.push_str(&format!("_u{unit:04x}"));
                }
            }
            _ => out.push('_'),
        }
    }
    out
}
