//! Configuration text → what encoder and decoder are told.

use std::hash::{BuildHasher, RandomState};

use lattice_core::{
    config::{Config, did_you_mean},
    error::{Error, Result},
    event::Op,
    schema::{Schema, Type},
};
use lattice_registry::ClientSettings;

use crate::{
    avro::{Meta, Nulls},
    filler, keys,
    naming::{Adjustment, TopicNames},
    primitive::Primitive,
    subject::Naming,
};

/// How a key, a value or a header becomes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConverterConfig {
    /// Avro with a schema id before it.
    Avro {
        /// Whether the id has 8 bytes (Apicurio's older form) and not 4.
        long_ids: bool,
        /// Whether NULL in an optional field with a default is written as the default.
        nulls_as_default: bool,
        /// Whether schemas carry `connect.*` properties.
        metadata: bool,
        /// Under which subject the schema stands.
        naming: Naming,
    },
    /// JSON.
    Json {
        /// Whether each record carries its schema.
        schemas: bool,
        /// Whether decimals are number literals and not base64.
        numeric: bool,
        /// Whether NULL in a field with a default is written as the default.
        nulls_as_default: bool,
    },
    /// Java's text form.
    Text,
    /// Bytes as they are.
    Bytes,
    /// A number or a truth value in a fixed width.
    Primitive(Primitive),
    /// The simple header converter's text form.
    Simple,
}

impl ConverterConfig {
    /// Reads `<side>.converter` and its options; `side` is `key`, `value` or `header`.
    ///
    /// Errors: `Config`, naming the key.
    pub fn parse(side: &str, config: &Config) -> Result<Self> {
        let name = format!("{side}.converter");
        let default = if side == "header" { keys::SIMPLE } else { keys::AVRO };
        let class = config.get(&name).map_or(default, str::trim);
        let flag = |option: &str, default: bool| flag(config, &format!("{name}.{option}"), default);
        let simple = class.rsplit('.').next().unwrap_or(class);
        if side == "header" && simple == "AvroConverter" {
            return Err(Error::config("the AvroConverter is not supported for headers")
                .with_remedy("leave \"header.converter\" away, or set it to the JsonConverter"));
        }
        match (class, simple) {
            (keys::AVRO | keys::APICURIO, _) | (_, "AvroConverter") => Ok(Self::Avro {
                long_ids: long_ids(config, &name)?,
                nulls_as_default: !flag("ignore.default.for.nullables", true)?,
                metadata: flag("connect.meta.data", true)?,
                naming: Naming::parse(side, config)?,
            }),
            (keys::JSON, _) | (_, "JsonConverter") => Ok(Self::Json {
                schemas: flag("schemas.enable", true)?,
                numeric: config
                    .get(&format!("{name}.decimal.format"))
                    .is_some_and(|word| word.trim().eq_ignore_ascii_case("NUMERIC")),
                nulls_as_default: flag("replace.null.with.default", false)?,
            }),
            (keys::STRING, _) | (_, "StringConverter") => Ok(Self::Text),
            (keys::BYTES, _) | (_, "ByteArrayConverter") => Ok(Self::Bytes),
            (keys::SIMPLE, _) | (_, "SimpleHeaderConverter") if side == "header" => {
                Ok(Self::Simple)
            }
            _ => match Primitive::of_class(class) {
                Some(primitive) => Ok(Self::Primitive(primitive)),
                None => Err(unknown(&name, class)),
            },
        }
    }

    /// The subject of a schema of this topic; `suffix` is `key`, `value` or `header`.
    ///
    /// Errors: `Config` where the naming strategy needs a record's name and there is none.
    pub(crate) fn subject(self, topic: &str, suffix: &str, schema: &Schema) -> Result<String> {
        let naming = match self {
            Self::Avro { naming, .. } => naming,
            _ => Naming::Topic,
        };
        let record = (schema.kind == Type::Struct).then(|| match schema.semantic() {
            "" => "io.confluent.connect.avro.ConnectDefault",
            name => name,
        });
        naming.subject(topic, suffix, record)
    }

    pub(crate) fn nulls(self) -> Nulls {
        match self {
            Self::Avro { nulls_as_default: true, .. }
            | Self::Json { nulls_as_default: true, .. } => Nulls::Defaulted,
            _ => Nulls::Kept,
        }
    }

    pub(crate) fn meta(self) -> Meta {
        match self {
            Self::Avro { metadata: false, .. } => Meta::Left,
            _ => Meta::Written,
        }
    }
}

/// The registry that a connector's converters name; none: Lattice's own.
///
/// A converter that has a schema and names no registry uses the other's.
///
/// Errors: `Config`, naming the key; also when key and value name different registries, since a
/// schema's id must mean one schema.
pub fn registry_of(config: &Config) -> Result<Option<ClientSettings>> {
    let of = |side: &str| match ConverterConfig::parse(side, config)? {
        ConverterConfig::Avro { .. } => ClientSettings::from_config(side, config),
        _ => Ok(None),
    };
    match (of("key")?, of("value")?) {
        (Some(key), Some(value)) if key != value => {
            let message = "key.converter and value.converter use different schema registries, or \
                           the same with different options";
            Err(Error::config(message)
                .with_remedy("give both converters the same URL, credentials and options"))
        }
        (key, value) => Ok(value.or(key)),
    }
}

fn unknown(key: &str, class: &str) -> Error {
    let known = [keys::AVRO, keys::APICURIO, keys::JSON, keys::STRING, keys::BYTES];
    let primitives = Primitive::ALL.map(Primitive::class);
    let remedy = match did_you_mean(class, known.into_iter().chain(primitives)) {
        Some(close) => format!("did you mean \"{close}\"?"),
        None => format!("use one of {}", known.join(", ")),
    };
    Error::config(format!("unknown converter class \"{class}\" in \"{key}\"")).with_remedy(remedy)
}

fn flag(config: &Config, key: &str, default: bool) -> Result<bool> {
    match config.get(key).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(Error::config(format!("invalid value for configuration \"{key}\""))
            .with_remedy("use true or false")),
    }
}

/// Apicurio's id and header forms.
fn long_ids(config: &Config, name: &str) -> Result<bool> {
    if flag(config, &format!("{name}.apicurio.registry.headers.enabled"), false)? {
        return Err(Error::config(format!(
            "\"{name}.apicurio.registry.headers.enabled\": true is not supported"
        ))
        .with_remedy("set it to false: the schema id then stands before the Avro bytes"));
    }
    let handler = config.get(&format!("{name}.apicurio.registry.id-handler")).unwrap_or("");
    Ok(handler.ends_with("Legacy8ByteIdHandler"))
}

/// What the encoder is told.
#[derive(Debug, Clone)]
pub struct EncoderOptions {
    /// Topic names.
    pub topics: TopicNames,
    /// The key's converter.
    pub key: ConverterConfig,
    /// The value's converter.
    pub value: ConverterConfig,
    /// The headers' converter.
    pub header: ConverterConfig,
    /// `tombstones.on.delete`
    pub tombstones: bool,
    /// `skipped.operations`
    pub skipped: Vec<Op>,
    /// `schema.name.adjustment.mode`
    pub schema_names: Adjustment,
    /// `field.name.adjustment.mode`
    pub field_names: Adjustment,
    /// `unavailable.value.placeholder`
    pub placeholder: Vec<u8>,
    /// `provide.transaction.metadata`
    pub transactions: bool,
    /// The headers that every row's records carry.
    pub context: Vec<(&'static str, String)>,
    /// The same as texts, before the headers' converter.
    pub context_texts: Vec<(&'static str, String)>,
    /// The form of a message's content.
    pub message: MessageForm,
}

/// The header that, whatever its name says, tells the kind of connector: `postgresql`.
const CONNECTOR_NAME: &str = "__debezium.context.connectorName";

/// `binary.handling.mode`, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageForm {
    /// As bytes.
    Bytes,
    /// As base64 text.
    Base64,
    /// As base64 text with the URL-safe alphabet.
    Base64Url,
    /// As hexadecimal text.
    Hex,
}

impl EncoderOptions {
    /// Says of which kind the source is, as it calls itself in its `source` block.
    pub(crate) fn name_connector(&mut self, kind: &str) {
        for (name, text) in &mut self.context_texts {
            if *name == CONNECTOR_NAME {
                kind.clone_into(text);
            }
        }
        let written =
            |(name, text): &(&'static str, String)| (*name, header_text(self.header, text));
        self.context = self.context_texts.iter().map(written).collect();
    }

    /// Reads a connector's configuration.
    ///
    /// Errors: `Config`, naming the key.
    pub fn from_config(connector: &str, task: u32, config: &Config) -> Result<Self> {
        let topics = TopicNames::from_config(config, connector)?;
        let key = ConverterConfig::parse("key", config)?;
        let value = ConverterConfig::parse("value", config)?;
        let header = ConverterConfig::parse("header", config)?;
        // Only so that a wrong option is told with the others.
        registry_of(config)?;
        let context_texts = if config.boolean(&keys::CONTEXT_HEADERS)? {
            vec![
                ("__debezium.context.connectorLogicalName", topics.prefix().to_owned()),
                ("__debezium.context.taskId", task.to_string()),
                (CONNECTOR_NAME, String::new()),
                ("__debezium.context.runId", run_id()),
            ]
        } else {
            Vec::new()
        };
        let written = |(name, text): &(&'static str, String)| (*name, header_text(header, text));
        let context = context_texts.iter().map(written).collect();
        let avro = [key, value].iter().any(|one| matches!(one, ConverterConfig::Avro { .. }));
        let adjustment = |key: &lattice_core::config::Key| {
            let given = Adjustment::parse(key.name, config.text(key).unwrap_or("none"))?;
            Ok::<_, Error>(if given == Adjustment::None && avro { Adjustment::Avro } else { given })
        };
        Ok(Self {
            key,
            value,
            header,
            tombstones: config.boolean(&keys::TOMBSTONES)?,
            skipped: skipped(config)?,
            schema_names: adjustment(&keys::SCHEMA_NAMES)?,
            field_names: adjustment(&keys::FIELD_NAMES)?,
            placeholder: placeholder(config)?,
            transactions: config.boolean(&keys::TRANSACTIONS)?,
            context,
            context_texts,
            message: match config.get("binary.handling.mode").map(str::trim) {
                Some("base64") => MessageForm::Base64,
                Some("base64-url-safe") => MessageForm::Base64Url,
                Some("hex") => MessageForm::Hex,
                _ => MessageForm::Bytes,
            },
            topics,
        })
    }
}

/// A text as the header converter writes it.
fn header_text(header: ConverterConfig, text: &str) -> String {
    let ConverterConfig::Json { schemas, .. } = header else { return text.to_owned() };
    let quoted = serde_json::Value::from(text);
    if schemas {
        return format!(
            "{{\"schema\":{{\"type\":\"string\",\"optional\":false}},\"payload\":{quoted}}}"
        );
    }
    quoted.to_string()
}

fn placeholder(config: &Config) -> Result<Vec<u8>> {
    let text = config.text(&keys::PLACEHOLDER).unwrap_or(filler::PLACEHOLDER);
    filler::placeholder_bytes(text)
        .ok_or_else(|| config.invalid(&keys::PLACEHOLDER, "hex: needs pairs of hexadecimal digits"))
}

fn skipped(config: &Config) -> Result<Vec<Op>> {
    let words = config.list(&keys::SKIPPED);
    if words.len() > 1 && words.iter().any(|word| word == "none") {
        return Err(config.invalid(&keys::SKIPPED, "none stands alone"));
    }
    let mut ops = Vec::new();
    for word in words {
        ops.push(match word.as_str() {
            "none" => continue,
            "c" => Op::Create,
            "u" => Op::Update,
            "d" => Op::Delete,
            "t" => Op::Truncate,
            "r" => Op::Read,
            other => {
                return Err(
                    config.invalid(&keys::SKIPPED, &format!("unknown operation \"{other}\""))
                );
            }
        });
    }
    Ok(ops)
}

/// A random UUID; the standard hasher's keys are the randomness at hand.
fn run_id() -> String {
    let [high, low] = [RandomState::new().hash_one(1_u8), RandomState::new().hash_one(2_u8)];
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}

/// What the decoder is told.
#[derive(Debug, Clone)]
pub struct DecoderOptions {
    /// The key's converter.
    pub key: ConverterConfig,
    /// The value's converter.
    pub value: ConverterConfig,
    /// `unavailable.value.placeholder`
    pub placeholder: Vec<u8>,
}

impl DecoderOptions {
    /// Reads a connector's configuration.
    ///
    /// Errors: `Config`, naming the key.
    pub fn from_config(config: &Config) -> Result<Self> {
        // Only so that a wrong option is told with the others.
        registry_of(config)?;
        Ok(Self {
            key: ConverterConfig::parse("key", config)?,
            value: ConverterConfig::parse("value", config)?,
            placeholder: placeholder(config)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use lattice_core::config::Config;

    use super::registry_of;

    fn config(pairs: &[(&str, &str)]) -> Config {
        let mut config = Config::default();
        for (name, value) in pairs {
            config.set(*name, *value);
        }
        config
    }

    const KEY: &str = "key.converter.schema.registry.url";
    const VALUE: &str = "value.converter.schema.registry.url";
    const JSON: (&str, &str) = ("key.converter", "org.apache.kafka.connect.json.JsonConverter");

    #[test]
    fn a_connector_uses_one_registry_or_is_told_that_it_cannot_use_two() {
        assert!(registry_of(&config(&[])).unwrap().is_none());
        let one = registry_of(&config(&[(VALUE, "http://a:1")])).unwrap();
        assert!(one.is_some(), "the key uses the value's");
        assert_eq!(one, registry_of(&config(&[(KEY, "http://a:1")])).unwrap());
        assert_eq!(
            one,
            registry_of(&config(&[(KEY, "http://a:1"), (VALUE, "http://a:1")])).unwrap()
        );
        let error =
            registry_of(&config(&[(KEY, "http://a:1"), (VALUE, "http://b:1")])).unwrap_err();
        assert!(error.chain().contains("same URL"), "{}", error.chain());
        let other = registry_of(&config(&[JSON, (KEY, "http://b:1"), (VALUE, "http://a:1")]));
        assert_eq!(other.unwrap(), one, "a converter without schema ids has no registry");
    }
}
