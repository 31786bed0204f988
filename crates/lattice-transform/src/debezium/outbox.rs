//! EventRouter: events of an outbox table to topics of their own.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType, Rule},
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::Value,
};

use super::json_payload::{Empties, schema_of, value_of};
use crate::{
    Record, Transform,
    java::Pattern,
    record::{Datum, Header, Side},
    schemas::{TIMESTAMP, inner, is_envelope, member},
    settings::Settings,
};

const ID: Key =
    Key::new("table.field.event.id", KeyType::String, "The column with the event's id.")
        .default("id");
const KEY: Key =
    Key::new("table.field.event.key", KeyType::String, "The column that becomes the key.")
        .default("aggregateid");
const EVENT_TYPE: Key =
    Key::new("table.field.event.type", KeyType::String, "The column with the event's type.")
        .default("type");
const TIME: Key = Key::new(
    "table.field.event.timestamp",
    KeyType::String,
    "The column that becomes the record's timestamp; not given: the envelope's ts_ms.",
);
const PAYLOAD: Key =
    Key::new("table.field.event.payload", KeyType::String, "The column that becomes the value.")
        .default("payload");
const VERSION: Key = Key::new(
    "table.field.event.schema.version",
    KeyType::String,
    "The column with the version of the value's schema.",
);
const ADDITIONAL: Key = Key::new(
    "table.fields.additional.placement",
    KeyType::List,
    "More columns and where they go: column:header, column:envelope or column:partition, and an alias. \
     Example: type:header:eventType",
)
.default("");
const MISSING: Key = Key::new(
    "table.field.additional.missing",
    KeyType::String,
    "What happens when one of these columns is missing: error or ignore.",
)
.default("error")
.rule(Rule::OneOf(&["error", "ignore"]));
const INVALID: Key = Key::new(
    "table.op.invalid.behavior",
    KeyType::String,
    "What happens on updates of the outbox: warn and error drop them and say so, fatal fails.",
)
.default("warn")
.rule(Rule::OneOf(&["warn", "error", "fatal"]));
const EXPAND: Key = Key::new(
    "table.expand.json.payload",
    KeyType::Boolean,
    "Whether JSON in the payload becomes a struct.",
)
.default("false");
const NULLS: Key = Key::new(
    "table.json.payload.null.behavior",
    KeyType::String,
    "NULL members of such JSON: ignore, or optional_bytes.",
)
.default("ignore")
.rule(Rule::OneOf(&["ignore", "optional_bytes"]));
const ROUTE: Key =
    Key::new("route.by.field", KeyType::String, "The column that the topic is made of.")
        .default("aggregatetype");
const REGEX: Key =
    Key::new("route.topic.regex", KeyType::String, "A Java regular expression for its value.")
        .default("(?<routedByValue>.*)");
const REPLACEMENT: Key = Key::new(
    "route.topic.replacement",
    KeyType::String,
    "The topic, in Java's replacement syntax.",
)
.default("outbox.event.${routedByValue}");
const TOMBSTONES: Key = Key::new(
    "route.tombstone.on.empty.payload",
    KeyType::Boolean,
    "Whether an empty payload becomes a tombstone.",
)
.default("false");
const SPANS: &str = "there is no tracing of spans";
const TRACE_FIELD: Key =
    Key::new("tracing.span.context.field", KeyType::String, "The column with a trace's context.")
        .default("tracingspancontext")
        .ignored(SPANS);
const TRACE_NAME: Key = Key::new("tracing.operation.name", KeyType::String, "A span's name.")
    .default("debezium-read")
    .ignored(SPANS);
const TRACE_ONLY: Key = Key::new(
    "tracing.with.context.field.only",
    KeyType::Boolean,
    "Whether only events with a context are traced.",
)
.default("false")
.ignored(SPANS);

pub(super) const KEYS: &[Key] = &[
    ID,
    KEY,
    EVENT_TYPE,
    TIME,
    PAYLOAD,
    VERSION,
    ADDITIONAL,
    MISSING,
    INVALID,
    EXPAND,
    NULLS,
    ROUTE,
    REGEX,
    REPLACEMENT,
    TOMBSTONES,
    TRACE_FIELD,
    TRACE_NAME,
    TRACE_ONLY,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placement {
    Header,
    Envelope,
    Partition,
}

struct Additional {
    field: String,
    placement: Placement,
    alias: String,
}

struct EventRouter {
    id: String,
    key: String,
    time: Option<String>,
    payload: String,
    version: Option<String>,
    additional: Vec<Additional>,
    ignore_missing: bool,
    fatal: bool,
    expand: bool,
    empties: Empties,
    route: String,
    pattern: Pattern,
    replacement: String,
    tombstones: bool,
}

pub(super) fn make(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let owned = |key: &Key| settings.given(key).map(str::to_owned);
    let mut additional = Vec::new();
    for item in settings.list(&ADDITIONAL) {
        let mut parts = item.split(':').map(str::trim);
        let field = parts.next().unwrap_or_default().to_owned();
        let placement = match parts.next() {
            Some("header") => Placement::Header,
            Some("envelope") => Placement::Envelope,
            Some("partition") => Placement::Partition,
            _ => {
                let reason = format!("\"{item}\" says no place");
                return Err(settings.invalid(ADDITIONAL.name, &reason, ADDITIONAL.doc));
            }
        };
        let alias = parts.next().map_or_else(|| field.clone(), str::to_owned);
        additional.push(Additional { field, placement, alias });
    }
    Ok(Box::new(EventRouter {
        id: settings.text(&ID).to_owned(),
        key: settings.text(&KEY).to_owned(),
        time: owned(&TIME),
        payload: settings.text(&PAYLOAD).to_owned(),
        version: owned(&VERSION),
        additional,
        ignore_missing: settings.word(&MISSING) == "ignore",
        fatal: settings.word(&INVALID) == "fatal",
        expand: settings.flag(&EXPAND),
        empties: Empties { nulls: settings.word(&NULLS) == "optional_bytes" },
        route: settings.text(&ROUTE).to_owned(),
        pattern: settings.pattern(&REGEX)?,
        replacement: settings.text(&REPLACEMENT).to_owned(),
        tombstones: settings.flag(&TOMBSTONES),
    }))
}

/// An event's row.
struct Row<'r> {
    schema: &'r Arc<Schema>,
    values: &'r [Value<'static>],
}

impl Row<'_> {
    fn get(&self, field: &str, what: &str) -> Result<Datum> {
        let (schema, value) = member(self.schema, self.values, field).ok_or_else(|| {
            Error::data(format!("Unable to find {what} field {field} in event"))
                .with_remedy("name a column of the outbox table")
        })?;
        Ok(Datum { schema: Some(Arc::clone(schema)), value: value.clone() })
    }
}

impl Transform for EventRouter {
    fn apply(&mut self, record: Record) -> Result<Option<Record>> {
        if record.value.is_null() {
            return Ok(None);
        }
        let Some(schema) = record.value.schema.clone().filter(|schema| is_envelope(schema)) else {
            return Ok(Some(record));
        };
        let Value::Struct(values) = &record.value.value else { return Ok(Some(record)) };
        match member(&schema, values, "op").map(|(_, op)| op) {
            Some(Value::Text(op)) if matches!(op.as_str(), "c" | "r") => {}
            Some(Value::Text(op)) if op.as_str() == "u" && self.fatal => {
                return Err(Error::fatal("Unexpected update message received, fail.").with_remedy(
                    "never update rows of the outbox table, or set table.op.invalid.behavior to warn",
                ));
            }
            // Nothing but new rows is an event.
            _ => return Ok(None),
        }
        let Some((row_schema, row)) = inner(&schema, values, "after") else { return Ok(None) };
        let row = Row { schema: row_schema, values: row };
        let ts_ms = match member(&schema, values, "ts_ms") {
            Some((_, Value::Int(ms))) => Some(*ms),
            _ => None,
        };
        self.routed(&record, &row, ts_ms).map(Some)
    }
}

impl EventRouter {
    fn routed(&self, record: &Record, row: &Row<'_>, ts_ms: Option<i64>) -> Result<Record> {
        let route = row.get(&self.route, "route")?;
        let Value::Text(route) = &route.value else {
            return Err(Error::data(format!("the event's \"{}\" is no text", self.route))
                .with_remedy("name a text column in \"route.by.field\""));
        };
        let topic = self.topic(route.as_str())?;
        let payload = self.expanded(row.get(&self.payload, "payload")?);
        let mut headers = record.headers.clone();
        headers.push(Header { name: "id".into(), datum: row.get(&self.id, "event-id")? });
        let mut partition = None;
        let mut envelope = Vec::new();
        for one in &self.additional {
            let datum = match row.get(&one.field, "additional") {
                Err(_) if self.ignore_missing => continue,
                found => found?,
            };
            match (one.placement, &datum.value) {
                (Placement::Header, _) => {
                    headers.push(Header { name: one.alias.as_str().into(), datum });
                }
                (Placement::Envelope, _) => envelope.push((one.alias.clone(), datum)),
                (Placement::Partition, Value::Int(number)) => {
                    partition = i32::try_from(*number).ok();
                }
                (Placement::Partition, _) => {}
            }
        }
        let empty = match &payload.value {
            Value::Text(text) => text.as_str().trim().is_empty(),
            value => value.is_absent(),
        };
        let value = match envelope.is_empty() {
            _ if empty && self.tombstones => Datum::default(),
            true => payload,
            false => self.wrapped(record, row, route.as_str(), payload, envelope),
        };
        Ok(Record {
            topic: topic.into(),
            partition,
            key: row.get(&self.key, "event-key")?,
            value,
            timestamp_ms: self.timestamp(row)?.or(ts_ms),
            headers,
            offset: record.offset,
        })
    }

    fn topic(&self, route: &str) -> Result<String> {
        if !self.pattern.matches(route) {
            return Ok(route.to_owned());
        }
        self.pattern.replace_first(route, &self.replacement).map_err(|reason| {
            Error::data(format!("replacement \"{}\": {reason}", self.replacement))
                .with_remedy("name only groups that \"route.topic.regex\" has")
        })
    }

    /// JSON as a struct; what is none stays as it is.
    fn expanded(&self, payload: Datum) -> Datum {
        let Value::Text(text) = &payload.value else { return payload };
        let text = text.as_str().trim();
        if !self.expand || !text.starts_with(['{', '[']) {
            return payload;
        }
        let Ok(json) = serde_json::from_str(text) else { return payload };
        match schema_of(&json, Some("payload"), self.empties) {
            Some(schema) => {
                let value = value_of(&schema, &json);
                Datum::new(schema, value)
            }
            None => payload,
        }
    }

    fn wrapped(
        &self,
        record: &Record,
        row: &Row<'_>,
        route: &str,
        payload: Datum,
        more: Vec<(String, Datum)>,
    ) -> Datum {
        let nothing = || Arc::new(Schema::new(Type::String).optional());
        let field = |name: &str, datum: &Datum| {
            Field::new(name, datum.schema.clone().unwrap_or_else(nothing))
        };
        let mut fields = vec![field("payload", &payload)];
        let mut values = vec![payload.value];
        for (name, datum) in more {
            fields.push(field(&name, &datum));
            values.push(datum.value);
        }
        let mut schema = Schema::structure(format!("{}.{route}.Value", record.topic), fields);
        let version = self.version.as_ref().and_then(|field| row.get(field, "version").ok());
        if let Some(Datum { value: Value::Int(version), .. }) = version {
            schema.version = i32::try_from(version).ok();
        }
        Datum::new(schema, Value::Struct(values))
    }

    fn timestamp(&self, row: &Row<'_>) -> Result<Option<i64>> {
        let Some(field) = &self.time else { return Ok(None) };
        let datum = row.get(field, "timestamp")?;
        let semantic = datum.schema.as_ref().map_or("", |schema| schema.semantic());
        let divisor = match semantic {
            "io.debezium.time.MicroTimestamp" => 1000,
            "io.debezium.time.NanoTimestamp" => 1_000_000,
            "io.debezium.time.Timestamp" | TIMESTAMP | "" => 1,
            other => {
                return Err(Error::data(format!(
                    "Unsupported field type {other} for event timestamp"
                ))
                .with_remedy("name a timestamp column without time zone"));
            }
        };
        match datum.value {
            Value::Int(number) => Ok(Some(number / divisor)),
            _ => Ok(None),
        }
    }
}
