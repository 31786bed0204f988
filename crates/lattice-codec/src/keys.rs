//! The codec's configuration keys, common to all connectors.

mod registry;

use std::sync::LazyLock;

use lattice_core::config::{Importance, Key, KeyType, Rule};

const GROUP: &str = "Converters";
const ENVELOPE: &str = "Events";
const SUBJECT_NAMES: &str = "Avro: under which subject a schema stands: TopicNameStrategy, \
    RecordNameStrategy or TopicRecordNameStrategy of io.confluent.kafka.serializers.subject.";

pub(crate) const AVRO: &str = "io.confluent.connect.avro.AvroConverter";
pub(crate) const APICURIO: &str = "io.apicurio.registry.utils.converter.AvroConverter";
pub(crate) const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";
pub(crate) const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";
pub(crate) const BYTES: &str = "org.apache.kafka.connect.converters.ByteArrayConverter";
pub(crate) const SIMPLE: &str = "org.apache.kafka.connect.storage.SimpleHeaderConverter";

pub(crate) const TOMBSTONES: Key = Key::new(
    "tombstones.on.delete",
    KeyType::Boolean,
    "Whether a delete is followed by a record with the same key and no value.",
)
.default("true")
.group(ENVELOPE);

pub(crate) const SKIPPED: Key = Key::new(
    "skipped.operations",
    KeyType::List,
    "Operations that make no record: any of c, u, d, t, r, or none. Example: t",
)
.default("t")
.group(ENVELOPE);

pub(crate) const PLACEHOLDER: Key = Key::new(
    "unavailable.value.placeholder",
    KeyType::String,
    "Stands for a value that the database did not send since it is unchanged; hex: begins bytes.",
)
.default(crate::filler::PLACEHOLDER)
.group(ENVELOPE);

pub(crate) const TRANSACTIONS: Key = Key::new(
    "provide.transaction.metadata",
    KeyType::Boolean,
    "Whether events carry their transaction and their place in it.",
)
.default("false")
.group(ENVELOPE);

pub(crate) const CONTEXT_HEADERS: Key = Key::new(
    "extended.headers.enabled",
    KeyType::Boolean,
    "Whether records carry the headers __debezium.context.*.",
)
.default("true")
.importance(Importance::Low)
.group(ENVELOPE);

pub(crate) const SCHEMA_NAMES: Key = Key::new(
    "schema.name.adjustment.mode",
    KeyType::String,
    "How schema names become legal: none, avro (other characters become _), avro_unicode (_uXXXX). \
     With an Avro converter, none means avro, since other names cannot be registered.",
)
.default("none")
.rule(Rule::OneOf(&["none", "avro", "avro_unicode"]))
.group(ENVELOPE);

pub(crate) const FIELD_NAMES: Key = Key::new(
    "field.name.adjustment.mode",
    KeyType::String,
    "How field names become legal: none, avro, avro_unicode. With an Avro converter, none means avro.",
)
.default("none")
.rule(Rule::OneOf(&["none", "avro", "avro_unicode"]))
.group(ENVELOPE);

static KEYS: &[Key] = &[
    Key::new(
        "key.converter",
        KeyType::Class,
        "How keys become bytes: a converter's class. Avro with Lattice's own registry when not given.",
    )
    .group(GROUP),
    Key::new(
        "value.converter",
        KeyType::Class,
        "How values become bytes: a converter's class. Avro with Lattice's own registry when not given.",
    )
    .group(GROUP),
    Key::new("header.converter", KeyType::Class, "How headers become bytes: a converter's class.")
        .default(SIMPLE)
        .importance(Importance::Low)
        .group(GROUP),
    Key::new(
        "key.converter.schemas.enable",
        KeyType::Boolean,
        "JSON keys: whether each carries its schema.",
    )
    .default("true")
    .group(GROUP),
    Key::new(
        "value.converter.schemas.enable",
        KeyType::Boolean,
        "JSON values: whether each carries its schema.",
    )
    .default("true")
    .group(GROUP),
    Key::new(
        "key.converter.decimal.format",
        KeyType::String,
        "JSON keys: decimals as BASE64 of their bytes or as a NUMERIC literal.",
    )
    .default("BASE64")
    .rule(Rule::OneOf(&["BASE64", "NUMERIC"]))
    .importance(Importance::Low)
    .group(GROUP),
    Key::new(
        "value.converter.decimal.format",
        KeyType::String,
        "JSON values: decimals as BASE64 of their bytes or as a NUMERIC literal.",
    )
    .default("BASE64")
    .rule(Rule::OneOf(&["BASE64", "NUMERIC"]))
    .importance(Importance::Low)
    .group(GROUP),
    Key::new(
        "value.converter.replace.null.with.default",
        KeyType::Boolean,
        "JSON values: whether NULL in a column with a default is written as the default.",
    )
    .default("false")
    .importance(Importance::Low)
    .group(GROUP),
    Key::new(
        "value.converter.ignore.default.for.nullables",
        KeyType::Boolean,
        "Avro values: whether NULL in a column with a default stays NULL.",
    )
    .default("true")
    .importance(Importance::Low)
    .group(GROUP),
    Key::new(
        "value.converter.connect.meta.data",
        KeyType::Boolean,
        "Avro values: whether schemas carry connect.* properties.",
    )
    .default("true")
    .importance(Importance::Low)
    .group(GROUP),
    Key::new(
        "key.converter.key.subject.name.strategy",
        KeyType::Class,
        SUBJECT_NAMES,
    )
    .importance(Importance::Low)
    .group(GROUP),
    Key::new(
        "value.converter.value.subject.name.strategy",
        KeyType::Class,
        SUBJECT_NAMES,
    )
    .importance(Importance::Low)
    .group(GROUP),
    TOMBSTONES,
    SKIPPED,
    PLACEHOLDER,
    TRANSACTIONS,
    CONTEXT_HEADERS,
    SCHEMA_NAMES,
    FIELD_NAMES,
];

/// The codec's keys: converters, and what the shape of events depends on. Where a connector has a
/// key of the same name, the connector's holds.
#[must_use]
pub fn keys() -> &'static [Key] {
    static ALL: LazyLock<Vec<Key>> =
        LazyLock::new(|| KEYS.iter().chain(registry::KEYS).copied().collect());
    &ALL
}
