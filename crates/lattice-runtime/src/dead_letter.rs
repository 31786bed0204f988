//! Dead letters: records that could not be processed, kept with the cause.
//!
//! Source: Kafka Connect's `DeadLetterQueueReporter`.

use std::sync::atomic::Ordering;

use lattice_codec::EncodeError;
use lattice_core::{
    config::Config,
    error::{Error, ErrorKind, Result},
    event::{Op, SourceBatch},
    record::{Header, RecordRef, RecordSink},
};

use crate::{
    keys,
    report::{Report, now_ms},
    retry,
};

/// What is done with records that cannot be processed.
#[derive(Debug, Clone)]
pub(crate) struct Tolerance {
    /// Go on (`errors.tolerance=all`), or fail.
    all: bool,
    /// Sinks: where dead letters go; `None`: they are only counted.
    pub(crate) topic: Option<String>,
    /// Sinks: whether dead letters get context headers.
    pub(crate) headers: bool,
    log: bool,
    /// Whether the log says which record it was; its content never stands there.
    log_places: bool,
}

impl Tolerance {
    /// Errors: `Config`.
    pub(crate) fn from_config(config: &Config) -> Result<Self> {
        let tolerance = config.text(&keys::TOLERANCE).unwrap_or_default();
        let topic = config.text(&keys::DEAD_LETTER_TOPIC).unwrap_or_default().trim();
        Ok(Self {
            all: tolerance.trim().eq_ignore_ascii_case("all"),
            topic: (!topic.is_empty()).then(|| topic.to_owned()),
            headers: config.boolean(&keys::DEAD_LETTER_HEADERS)?,
            log: config.boolean(&keys::LOG_ENABLE)?,
            log_places: config.boolean(&keys::LOG_MESSAGES)?,
        })
    }

    /// Whether a record with this error becomes a dead letter.
    pub(crate) fn takes(&self, error: &Error) -> bool {
        self.all && retry::is_of_record(error)
    }

    /// Counts and, if asked for, logs a tolerated error.
    pub(crate) fn note(&self, report: &Report, place: &str, error: &Error) {
        report.dead_letters.fetch_add(1, Ordering::Relaxed);
        if self.log {
            let place = self.log_places.then_some(place);
            tracing::error!(place, error = error.chain(), "record was not processed");
        }
    }
}

/// The error that fails a task over a record; with the way around it, if there is one.
pub(crate) fn failure(error: Error, what: String) -> Error {
    let failure = Error::new(error.kind(), what);
    let failure = match retry::is_of_record(&error) {
        true => {
            failure.with_remedy("set \"errors.tolerance\": \"all\" to go on without such records")
        }
        false => failure,
    };
    failure.with_source(error)
}

/// The topic for a source's dead letters.
pub(crate) fn source_topic(connector: &str) -> String {
    let legal = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-');
    let name: String = connector.chars().map(|char| if legal(char) { char } else { '_' }).collect();
    format!("lattice.errors.{name}")
}

/// Where a dead letter comes from.
pub(crate) struct Context<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) connector: &'a str,
    pub(crate) task: u32,
    pub(crate) stage: &'static str,
    pub(crate) class: &'static str,
    pub(crate) error: &'a Error,
}

/// A header before its value is borrowed.
pub(crate) type OwnedHeader = (String, Option<Vec<u8>>);

/// Kafka Connect's context headers; all values are texts.
pub(crate) fn context_headers(context: &Context<'_>) -> Vec<OwnedHeader> {
    let exception = match context.error.kind() {
        ErrorKind::Data | ErrorKind::Schema => "org.apache.kafka.connect.errors.DataException",
        ErrorKind::Config | ErrorKind::Transient | ErrorKind::Auth | ErrorKind::Fatal => {
            "org.apache.kafka.connect.errors.ConnectException"
        }
    };
    [
        ("topic", context.topic.to_owned()),
        ("partition", context.partition.to_string()),
        ("offset", context.offset.to_string()),
        ("connector.name", context.connector.to_owned()),
        ("task.id", context.task.to_string()),
        ("stage", context.stage.to_owned()),
        ("class.name", context.class.to_owned()),
        ("exception.class.name", exception.to_owned()),
        ("exception.message", context.error.to_string()),
        ("exception.stacktrace", context.error.chain()),
    ]
    .into_iter()
    .map(|(name, value)| (format!("__connect.errors.{name}"), Some(value.into_bytes())))
    .collect()
}

/// Borrows headers for a record.
pub(crate) fn borrowed(headers: &[OwnedHeader]) -> Vec<Header<'_>> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect()
}

/// Writes the dead letter of a change that could not be encoded: the row as the source sent it,
/// with the context in headers.
pub(crate) fn write_change(
    out: &mut dyn RecordSink,
    connector: &str,
    task: u32,
    batch: &SourceBatch,
    failed: &EncodeError,
) {
    let Some(change) = batch.events.get(failed.event) else { return };
    let table = batch.tables.get(change.table as usize);
    let table = table.map(|table| table.id.to_string()).unwrap_or_default();
    let mut headers = context_headers(&Context {
        topic: &table,
        partition: 0,
        offset: -1,
        connector,
        task,
        stage: if failed.transform.is_some() { "TRANSFORMATION" } else { "VALUE_CONVERTER" },
        class: failed.transform.unwrap_or("lattice.codec.Encoder"),
        error: &failed.error,
    });
    let text = |name: &str, value: String| (name.to_owned(), Some(value.into_bytes()));
    headers.push(text("lattice.table", table));
    headers.push(text("lattice.op", change.op.as_str().to_owned()));
    if let Some(lsn) = change.origin.lsn {
        headers.push(text("lattice.lsn", lsn.to_string()));
    }
    let row = if change.op == Op::Delete { change.before } else { change.after.or(change.before) };
    let topic = out.topic(&source_topic(connector));
    out.append(
        topic,
        Some(0),
        RecordRef {
            key: None,
            value: row.map(|span| span.of(&batch.data)),
            headers: &borrowed(&headers),
            timestamp_ms: now_ms(),
        },
    );
}
