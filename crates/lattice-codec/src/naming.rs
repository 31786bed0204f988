//! Names: of topics, of schemas, of fields.

use std::fmt::Write as _;

use lattice_core::{
    config::Config,
    error::{Error, Result},
    event::TableId,
};

/// Longest topic name that Kafka takes.
const MAX_TOPIC: usize = 249;

/// How names become legal for a converter: Debezium's `schema.name.adjustment.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adjustment {
    /// As they are.
    None,
    /// Illegal characters become `_`.
    Avro,
    /// Illegal characters become `_uXXXX`.
    AvroUnicode,
}

impl Adjustment {
    pub(crate) fn parse(key: &str, word: &str) -> Result<Self> {
        match word.trim() {
            "none" | "" => Ok(Self::None),
            "avro" => Ok(Self::Avro),
            "avro_unicode" => Ok(Self::AvroUnicode),
            other => Err(Error::config(format!(
                "invalid value for configuration \"{key}\": \"{other}\""
            ))
            .with_remedy("use none, avro or avro_unicode")),
        }
    }

    /// A schema's name, with its dots.
    #[must_use]
    pub fn schema(self, name: &str) -> String {
        self.adjust(name, true)
    }

    /// A field's name.
    #[must_use]
    pub fn field(self, name: &str) -> String {
        self.adjust(name, false)
    }

    fn adjust(self, name: &str, dots: bool) -> String {
        if self == Self::None {
            return name.to_owned();
        }
        let underscore = self == Self::Avro;
        let mut text = String::with_capacity(name.len());
        for (index, char) in name.chars().enumerate() {
            let legal = char.is_ascii_alphabetic()
                || (underscore && char == '_')
                || (index > 0 && (char.is_ascii_digit() || (dots && char == '.')));
            match () {
                () if legal => text.push(char),
                () if underscore && char.is_ascii_digit() => {
                    text.push('_');
                    text.push(char);
                }
                () if underscore => text.push('_'),
                () => escape(char, &mut text),
            }
        }
        text
    }
}

fn escape(char: char, out: &mut String) {
    let mut units = [0; 2];
    for unit in char.encode_utf16(&mut units) {
        // Writing to a String cannot fail.
        let _ = write!(out, "_u{unit:04x}");
    }
}

/// Names of the topics of one source.
#[derive(Debug, Clone)]
pub struct TopicNames {
    prefix: String,
    delimiter: String,
    heartbeat: String,
    transaction: String,
    unicode: bool,
}

impl TopicNames {
    pub(crate) fn from_config(config: &Config, connector: &str) -> Result<Self> {
        let prefix = config
            .get("topic.prefix")
            .or_else(|| config.get("database.server.name"))
            .map_or_else(|| connector.to_owned(), |prefix| prefix.trim().to_owned());
        let delimiter = config.get("topic.delimiter").unwrap_or(".").to_owned();
        let strategy = config.get("topic.naming.strategy").unwrap_or("SchemaTopicNamingStrategy");
        let unicode = match strategy.trim().rsplit('.').next().unwrap_or("") {
            "SchemaTopicNamingStrategy" | "DefaultTopicNamingStrategy" => false,
            "SchemaUnicodeTopicNamingStrategy" | "DefaultUnicodeTopicNamingStrategy" => true,
            other => {
                return Err(Error::config(format!("unknown \"topic.naming.strategy\": {other}"))
                    .with_remedy(
                        "use io.debezium.schema.SchemaTopicNamingStrategy or \
                         io.debezium.schema.SchemaUnicodeTopicNamingStrategy",
                    ));
            }
        };
        let heartbeat_prefix = config
            .get("topic.heartbeat.prefix")
            .or_else(|| config.get("heartbeat.topics.prefix"))
            .unwrap_or("__debezium-heartbeat");
        let heartbeat = config
            .get("topic.heartbeat.name")
            .map_or_else(|| format!("{heartbeat_prefix}{delimiter}{prefix}"), str::to_owned);
        let transaction = config.get("topic.transaction").unwrap_or("transaction");
        let transaction = format!("{prefix}{delimiter}{transaction}");
        let sanitize = |name: &str| sanitize(name, unicode);
        Ok(Self {
            heartbeat: sanitize(&heartbeat),
            transaction: sanitize(&transaction),
            prefix,
            delimiter,
            unicode,
        })
    }

    /// `topic.prefix`.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The topic of a table's changes: prefix, schema (where there is none: database), table.
    #[must_use]
    pub fn table(&self, id: &TableId) -> String {
        let space = if id.schema.is_empty() { &id.database } else { &id.schema };
        let parts: Vec<&str> = [self.prefix.as_str(), space, &id.table]
            .into_iter()
            .filter(|part| !part.trim().is_empty())
            .collect();
        sanitize(&parts.join(&self.delimiter), self.unicode)
    }

    /// The heartbeats' topic.
    #[must_use]
    pub fn heartbeat(&self) -> &str {
        &self.heartbeat
    }

    /// The transaction metadata's topic.
    #[must_use]
    pub fn transaction(&self) -> &str {
        &self.transaction
    }

    /// The logical decoding messages' topic: the delimiter is not applied, as with Debezium.
    #[must_use]
    pub fn message(&self) -> String {
        sanitize(&format!("{}.message", self.prefix), self.unicode)
    }
}

fn sanitize(name: &str, unicode: bool) -> String {
    match name {
        "." => return "_".to_owned(),
        ".." => return "__".to_owned(),
        _ => {}
    }
    let mut text = String::with_capacity(name.len());
    for char in name.chars() {
        match char {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' => text.push(char),
            '_' => text.push(char),
            other if unicode => escape(other, &mut text),
            _ => text.push('_'),
        }
    }
    text.truncate(MAX_TOPIC); // ASCII by now
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_adjusted_as_debezium_does() {
        assert_eq!(Adjustment::Avro.schema("my-shop.public.1a.Value"), "my_shop.public.1a.Value");
        assert_eq!(Adjustment::Avro.field("1st col.x"), "_1st_col_x");
        assert_eq!(Adjustment::AvroUnicode.field("a-b_c"), "a_u002db_u005fc");
        assert_eq!(Adjustment::None.field("a b"), "a b");
    }

    #[test]
    fn topics_are_prefix_schema_table_made_legal() {
        let mut config = Config::default();
        config.set("topic.prefix", "shop");
        let names = TopicNames::from_config(&config, "c").unwrap();
        let id = |schema: &str, table: &str| TableId {
            database: "db".into(),
            schema: schema.into(),
            table: table.into(),
        };
        assert_eq!(names.table(&id("public", "Order Items")), "shop.public.Order_Items");
        assert_eq!(names.table(&id("", "t")), "shop.db.t");
        assert_eq!(names.heartbeat(), "__debezium-heartbeat.shop");
        assert_eq!(names.transaction(), "shop.transaction");
        assert_eq!(names.message(), "shop.message");
        assert_eq!(names.table(&id("s", &"x".repeat(300))).len(), 249);
    }
}
