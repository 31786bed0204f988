//! TimezoneConverter: times in another zone.

use std::sync::Arc;

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone},
};
use lattice_core::{
    config::{Key, KeyType},
    error::Result,
    value::{Text, Value},
};

use crate::{
    Record, Transform,
    record::Side,
    schemas::{TIMESTAMP, inner, is_envelope, member},
    settings::Settings,
};

const ZONE: Key = Key::new(
    "converted.timezone",
    KeyType::String,
    "The zone: an offset or a name of the tz database. Example: +05:30, Europe/Berlin",
)
.required();
const INCLUDE: Key = Key::new(
    "include.list",
    KeyType::List,
    "What to convert: source:<table>, topic:<topic>, each with :<field> for one field, or <name>:<field>. \
     Not given: everything.",
)
.default("");
const EXCLUDE: Key =
    Key::new("exclude.list", KeyType::List, "What not to convert, written as in include.list.")
        .default("");

pub(super) const KEYS: &[Key] = &[ZONE, INCLUDE, EXCLUDE];

struct TimezoneConverter {
    zone: TimeZone,
    include: Vec<Item>,
    exclude: Vec<Item>,
}

/// What an entry of a list is about.
struct Item {
    kind: Kind,
    name: String,
    field: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Source,
    Topic,
    Either,
}

pub(super) fn make(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let text = settings.text(&ZONE).trim();
    let zone = match offset(text) {
        Some(offset) => TimeZone::fixed(offset),
        None => TimeZone::get(text).map_err(|error| {
            settings.invalid(ZONE.name, &format!("\"{text}\" is no time zone: {error}"), ZONE.doc)
        })?,
    };
    let (include, exclude) = (items(settings, &INCLUDE)?, items(settings, &EXCLUDE)?);
    if !include.is_empty() && !exclude.is_empty() {
        let reason = "include.list and exclude.list exclude each other";
        return Err(settings.invalid(EXCLUDE.name, reason, "give one of them"));
    }
    Ok(Box::new(TimezoneConverter { zone, include, exclude }))
}

fn offset(text: &str) -> Option<Offset> {
    if matches!(text, "Z" | "UTC") {
        return Some(Offset::UTC);
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let mut parts = text[1..].split(':');
    let hours: i32 = parts.next()?.parse().ok()?;
    let minutes: i32 = parts.next().map_or(Some(0), |part| part.parse().ok())?;
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

fn items(settings: &Settings, key: &Key) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for text in settings.list(key) {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let (kind, name, field) = match parts.as_slice() {
            ["source", name] => (Kind::Source, name, None),
            ["source", name, field] => (Kind::Source, name, Some(*field)),
            ["topic", name] => (Kind::Topic, name, None),
            ["topic", name, field] => (Kind::Topic, name, Some(*field)),
            [name] => (Kind::Either, name, None),
            [name, field] => (Kind::Either, name, Some(*field)),
            _ => {
                return Err(settings.invalid(
                    key.name,
                    &format!("\"{text}\" is no entry"),
                    key.doc,
                ));
            }
        };
        items.push(Item { kind, name: (*name).to_owned(), field: field.map(str::to_owned) });
    }
    Ok(items)
}

/// Which fields of a record are converted.
enum Which {
    None,
    All,
    Only(Vec<String>),
    Except(Vec<String>),
}

impl TimezoneConverter {
    fn which(&self, topic: &str, table: &str) -> Which {
        let matching = |items: &[Item]| -> Option<Vec<String>> {
            let hits: Vec<&Item> = items
                .iter()
                .filter(|item| match item.kind {
                    Kind::Source => item.name == table,
                    Kind::Topic => item.name == topic,
                    Kind::Either => item.name == table || item.name == topic,
                })
                .collect();
            // None: nothing; an empty list: the whole record.
            match hits.iter().any(|item| item.field.is_none()) {
                _ if hits.is_empty() => None,
                true => Some(Vec::new()),
                false => Some(hits.iter().filter_map(|item| item.field.clone()).collect()),
            }
        };
        match (matching(&self.include), matching(&self.exclude)) {
            (Some(fields), _) if fields.is_empty() => Which::All,
            (Some(fields), _) => Which::Only(fields),
            (None, _) if !self.include.is_empty() => Which::None,
            (None, Some(fields)) if fields.is_empty() => Which::None,
            (None, Some(fields)) => Which::Except(fields),
            (None, None) => Which::All,
        }
    }

    fn convert(&self, semantic: &str, value: &Value<'static>) -> Value<'static> {
        let unit = match semantic {
            "io.debezium.time.Timestamp" | TIMESTAMP => 1000,
            "io.debezium.time.MicroTimestamp" => 1_000_000,
            "io.debezium.time.NanoTimestamp" => 1_000_000_000,
            "io.debezium.time.ZonedTimestamp" | "io.debezium.time.ZonedTime" => 0,
            _ => return value.clone(),
        };
        match value {
            Value::Int(number) => {
                // As the real one: the offset of now, taken away.
                let seconds = self.zone.to_offset(Timestamp::now()).seconds();
                Value::Int(number.saturating_sub(i64::from(seconds).saturating_mul(unit)))
            }
            Value::Text(text) => {
                let converted = match semantic {
                    "io.debezium.time.ZonedTime" => self.time(text.as_str()),
                    _ => self.timestamp(text.as_str()),
                };
                converted.map_or_else(|| value.clone(), |text| Value::Text(Text::owned(text)))
            }
            _ => value.clone(),
        }
    }

    fn timestamp(&self, text: &str) -> Option<String> {
        let moment: Timestamp = text.parse().ok()?;
        let zoned = moment.to_zoned(self.zone.clone());
        let local = zoned.datetime();
        let fraction = fraction(local.subsec_nanosecond());
        let offset = offset_text(zoned.offset());
        Some(format!("{}{fraction}{offset}", local.strftime("%Y-%m-%dT%H:%M:%S")))
    }

    /// A time of day with a zone; its offset is that of now.
    fn time(&self, text: &str) -> Option<String> {
        let moment: Timestamp = format!("1970-01-01T{text}").parse().ok()?;
        let offset = self.zone.to_offset(Timestamp::now());
        let local = offset.to_datetime(moment);
        let fraction = fraction(local.subsec_nanosecond());
        Some(format!("{}{fraction}{}", local.strftime("%H:%M:%S"), offset_text(offset)))
    }
}

fn fraction(nanos: i32) -> String {
    if nanos == 0 {
        return String::new();
    }
    format!(".{}", format!("{nanos:09}").trim_end_matches('0'))
}

fn offset_text(offset: Offset) -> String {
    let seconds = offset.seconds();
    if seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

impl Transform for TimezoneConverter {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let (Some(schema), Value::Struct(values)) = (&record.value.schema, &record.value.value)
        else {
            return Ok(Some(record));
        };
        if !is_envelope(schema) {
            return Ok(Some(record));
        }
        let table = inner(schema, values, "source").and_then(|(source, values)| {
            member(source, values, "table").map(|(_, table)| table.clone())
        });
        let table = match &table {
            Some(Value::Text(table)) => table.as_str(),
            _ => "",
        };
        let which = self.which(&record.topic, table);
        let schema = Arc::clone(schema);
        let mut values = values.clone();
        for side in ["before", "after"] {
            let Some(at) = schema.field_index(side) else { continue };
            let (Some(field), Some(Value::Struct(row))) =
                (schema.fields.get(at), values.get_mut(at))
            else {
                continue;
            };
            for (field, value) in field.schema.fields.iter().zip(row) {
                let listed = |names: &[String]| names.iter().any(|name| **name == *field.name);
                let wanted = match &which {
                    Which::None => false,
                    Which::All => true,
                    Which::Only(names) => listed(names),
                    Which::Except(names) => !listed(names),
                };
                if wanted {
                    *value = self.convert(field.schema.semantic(), value);
                }
            }
        }
        record.value.value = Value::Struct(values);
        Ok(Some(record))
    }
}
