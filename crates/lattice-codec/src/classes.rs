//! The converter classes, as `/connector-plugins` tells of them.
//!
//! Source: Kafka's `JsonConverterConfig`, `StringConverterConfig`, `ConverterConfig`.

use lattice_core::config::{Importance, Key, KeyType, Rule};

use crate::{
    keys::{APICURIO, AVRO, BYTES, JSON, SIMPLE, STRING},
    primitive::Primitive,
};

/// A converter: its class, what it may convert, and its options without their prefix.
#[derive(Debug)]
pub struct ConverterClass {
    /// The class that configurations name.
    pub class: &'static str,
    /// Whether keys and values may have it.
    pub records: bool,
    /// Whether headers may have it.
    pub headers: bool,
    /// Its options.
    pub keys: &'static [&'static [Key]],
}

const USE: &[Key] = &[Key::new("converter.type", KeyType::String, "How the converter is used.")
    .required()
    .importance(Importance::Low)
    .group("")];

const JSON_OPTIONS: &[Key] = &[
    Key::new(
        "schemas.enable",
        KeyType::Boolean,
        "Whether each record carries its schema beside its payload.",
    )
    .default("true")
    .importance(Importance::High)
    .group("Schemas")
    .label("Enable Schemas"),
    Key::new(
        "decimal.format",
        KeyType::String,
        "Decimals as BASE64 of their bytes or as a NUMERIC literal.",
    )
    .default("BASE64")
    .importance(Importance::Low)
    .group("Serialization")
    .label("Decimal Format")
    .rule(Rule::OneOf(&["BASE64", "NUMERIC"])),
    Key::new(
        "replace.null.with.default",
        KeyType::Boolean,
        "Whether NULL in a field with a default is written as the default.",
    )
    .default("false")
    .importance(Importance::Low)
    .group("Serialization")
    .label("Replace null with default"),
];

const AVRO_OPTIONS: &[Key] = &[
    Key::new(
        "ignore.default.for.nullables",
        KeyType::Boolean,
        "Whether NULL in a field with a default stays NULL.",
    )
    .default("true")
    .importance(Importance::Low)
    .group("Schemas"),
    Key::new("connect.meta.data", KeyType::Boolean, "Whether schemas carry connect.* properties.")
        .default("true")
        .importance(Importance::Low)
        .group("Schemas"),
];

static CONVERTERS: &[ConverterClass] = &[
    ConverterClass { class: APICURIO, records: true, headers: false, keys: &[AVRO_OPTIONS] },
    ConverterClass { class: AVRO, records: true, headers: false, keys: &[AVRO_OPTIONS] },
    ConverterClass { class: BYTES, records: true, headers: true, keys: &[USE] },
    ConverterClass { class: JSON, records: true, headers: true, keys: &[USE, JSON_OPTIONS] },
    ConverterClass { class: SIMPLE, records: false, headers: true, keys: &[] },
    ConverterClass { class: STRING, records: true, headers: true, keys: &[USE] },
    primitive(Primitive::Boolean),
    primitive(Primitive::Double),
    primitive(Primitive::Float),
    primitive(Primitive::Integer),
    primitive(Primitive::Long),
    primitive(Primitive::Short),
];

const fn primitive(of: Primitive) -> ConverterClass {
    ConverterClass { class: of.class(), records: true, headers: true, keys: &[USE] }
}

/// Every converter, by class.
#[must_use]
pub fn converters() -> &'static [ConverterClass] {
    CONVERTERS
}
