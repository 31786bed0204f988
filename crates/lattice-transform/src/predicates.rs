//! Kafka Connect's predicates.

use lattice_core::{
    config::{Key, KeyType, Rule},
    error::Result,
};

use crate::{Predicate, Record, catalog::PredicateClass, java::Pattern, settings::Settings};

const PATTERN: Key = Key::new(
    "pattern",
    KeyType::String,
    "A Java regular expression that the whole topic name must match. Example: shop\\.public\\..*",
)
.required();

const NAME: Key =
    Key::new("name", KeyType::String, "The header's name.").required().rule(Rule::NonEmpty);

pub(crate) static CLASSES: &[PredicateClass] = &[
    PredicateClass {
        class: "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
        doc: "Holds for records with at least one header of the configured name.",
        keys: &[NAME],
        make: |settings| Ok(Box::new(HasHeader(settings.text(&NAME).to_owned()))),
    },
    PredicateClass {
        class: "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        doc: "Holds for records without value.",
        keys: &[],
        make: |_| Ok(Box::new(Tombstone)),
    },
    PredicateClass {
        class: "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        doc: "Holds for records whose topic's name matches a Java regular expression.",
        keys: &[PATTERN],
        make: topic,
    },
];

struct HasHeader(String);

impl Predicate for HasHeader {
    fn holds(&self, record: &Record) -> bool {
        record.header(&self.0).is_some()
    }
}

struct Tombstone;

impl Predicate for Tombstone {
    fn holds(&self, record: &Record) -> bool {
        record.value.is_null()
    }
}

struct Topic(Pattern);

fn topic(settings: &Settings) -> Result<Box<dyn Predicate>> {
    Ok(Box::new(Topic(settings.pattern(&PATTERN)?)))
}

impl Predicate for Topic {
    fn holds(&self, record: &Record) -> bool {
        self.0.matches(&record.topic)
    }
}
