//! RegexRouter and TimestampRouter: other topics.

use lattice_core::{
    config::{Key, KeyType},
    error::{Error, Result},
};

use crate::{
    Record, Transform, date_format::DateFormat, java::Pattern, record::Side, settings::Settings,
};

const REGEX: Key = Key::new(
    "regex",
    KeyType::String,
    "A Java regular expression; topics that it does not match as a whole are left. Example: p\\.(.*)",
)
.required();

const REPLACEMENT: Key = Key::new(
    "replacement",
    KeyType::String,
    "The new topic in Java's replacement syntax. Example: $1",
)
.required();

pub(super) const REGEX_KEYS: &[Key] = &[REGEX, REPLACEMENT];

struct RegexRouter {
    pattern: Pattern,
    replacement: String,
}

pub(super) fn regex(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let pattern = settings.pattern(&REGEX)?;
    Ok(Box::new(RegexRouter { pattern, replacement: settings.text(&REPLACEMENT).to_owned() }))
}

impl Transform for RegexRouter {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        if self.pattern.matches(&record.topic) {
            let routed = self.pattern.replace_first(&record.topic, &self.replacement);
            let routed = routed.map_err(|reason| {
                Error::data(format!("replacement \"{}\": {reason}", self.replacement))
                    .with_remedy("name only groups that \"regex\" has; write $ itself as \\$")
            })?;
            record.topic = routed.into();
        }
        Ok(Some(record))
    }
}

const TOPIC_FORMAT: Key = Key::new(
    "topic.format",
    KeyType::String,
    "The new topic; ${topic} and ${timestamp} stand for the old one and the record's time.",
)
.default("${topic}-${timestamp}");

const TIMESTAMP_FORMAT: Key = Key::new(
    "timestamp.format",
    KeyType::String,
    "The time's pattern, as Java's SimpleDateFormat has it, in UTC.",
)
.default("yyyyMMdd");

pub(super) const TIMESTAMP_KEYS: &[Key] = &[TOPIC_FORMAT, TIMESTAMP_FORMAT];

struct TimestampRouter {
    topic: String,
    format: DateFormat,
}

pub(super) fn timestamp(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let format = DateFormat::compile(settings.text(&TIMESTAMP_FORMAT))
        .map_err(|reason| settings.invalid(TIMESTAMP_FORMAT.name, &reason, TIMESTAMP_FORMAT.doc))?;
    Ok(Box::new(TimestampRouter { topic: settings.text(&TOPIC_FORMAT).to_owned(), format }))
}

impl Transform for TimestampRouter {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let Some(ms) = record.timestamp_ms else {
            return Err(Error::data(format!(
                "Timestamp missing on record of topic {}",
                record.topic
            ))
            .with_remedy(
                "use it on a sink: a source's records get their timestamp when they are written",
            ));
        };
        let topic = self.topic.replace("${topic}", &record.topic);
        record.topic = topic.replace("${timestamp}", &self.format.format(ms)).into();
        Ok(Some(record))
    }
}

struct Filter;

pub(super) fn filter(_: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Filter))
}

impl Transform for Filter {
    fn apply(&mut self, _: Record) -> Result<Option<Record>> {
        Ok(None)
    }
}
