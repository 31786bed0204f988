//! Tables of a topic's rows and keys, one for each schema that was met.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    error::{Error, Result},
    event::{Column, Op, Origin, RowDecoder, Span, TableId, TableSchema},
    schema::{Schema, Type},
    value::Value,
};

use super::{Key, Source, avro::AvroPlan, row::SharedRow};
use crate::{options::ConverterConfig, primitive::Primitive};

/// A record, taken apart.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) op: Op,
    pub(super) before: Option<Span>,
    pub(super) after: Option<Span>,
    pub(super) origin: Origin,
}

impl Part {
    /// A record that is a row itself.
    pub(super) fn plain(span: Span) -> Self {
        Self { op: Op::Create, before: None, after: Some(span), origin: Origin::default() }
    }
}

/// Topic, value schema, uid of the key's table.
type RowKey = (Arc<str>, i32, u64);

/// Topic, key schema.
type KeyName = (Arc<str>, i32);

/// All tables that were made.
pub(super) struct Tables {
    pub(super) placeholder: Vec<u8>,
    rows: HashMap<RowKey, Arc<TableSchema>>,
    keys: HashMap<KeyName, Arc<TableSchema>>,
    singles: HashMap<(Arc<str>, &'static str), Arc<TableSchema>>,
    latest: HashMap<Arc<str>, Arc<TableSchema>>,
    last_row: Option<(RowKey, Arc<TableSchema>)>,
    last_key: Option<(KeyName, Arc<TableSchema>)>,
    pub(super) json: super::json::JsonTables,
}

impl Tables {
    pub(super) fn new(placeholder: Vec<u8>) -> Self {
        Self {
            placeholder,
            rows: HashMap::new(),
            keys: HashMap::new(),
            singles: HashMap::new(),
            latest: HashMap::new(),
            last_row: None,
            last_key: None,
            json: super::json::JsonTables::default(),
        }
    }

    /// The table that the topic's last value belongs to.
    pub(super) fn latest(&self, topic: &Arc<str>) -> Option<Arc<TableSchema>> {
        self.latest.get(topic).cloned()
    }

    pub(super) fn set_latest(&mut self, topic: &Arc<str>, table: &Arc<TableSchema>) {
        match self.latest.get_mut(topic) {
            Some(latest) => *latest = Arc::clone(table),
            None => {
                self.latest.insert(Arc::clone(topic), Arc::clone(table));
            }
        }
    }

    pub(super) fn avro_row(
        &mut self,
        topic: &Arc<str>,
        id: i32,
        plan: &AvroPlan,
        key: Option<&Key>,
    ) -> Arc<TableSchema> {
        let key_uid = key.map_or(0, |key| key.table.uid);
        if let Some(((last_topic, last_id, last_key), table)) = &self.last_row
            && *last_id == id
            && *last_key == key_uid
            && last_topic == topic
        {
            return Arc::clone(table);
        }
        let name = (Arc::clone(topic), id, key_uid);
        let table = self.rows.entry(name.clone()).or_insert_with(|| {
            let decoder = Arc::new(SharedRow(Arc::clone(&plan.row)));
            made(topic, plan.row.columns.clone(), key, decoder)
        });
        let table = Arc::clone(table);
        self.latest.insert(Arc::clone(topic), Arc::clone(&table));
        self.last_row = Some((name, Arc::clone(&table)));
        table
    }

    pub(super) fn avro_key(
        &mut self,
        topic: &Arc<str>,
        id: i32,
        plan: &AvroPlan,
    ) -> Arc<TableSchema> {
        if let Some(((last_topic, last_id), table)) = &self.last_key
            && *last_id == id
            && last_topic == topic
        {
            return Arc::clone(table);
        }
        let name = (Arc::clone(topic), id);
        let table = self.keys.entry(name.clone()).or_insert_with(|| {
            let decoder = Arc::new(SharedRow(Arc::clone(&plan.row)));
            key_table(topic, plan.row.columns.clone(), decoder)
        });
        let table = Arc::clone(table);
        self.last_key = Some((name, Arc::clone(&table)));
        table
    }

    pub(super) fn json_row(
        &mut self,
        source: &Source<'_>,
        span: Span,
        schemas: bool,
        key: Option<&Key>,
    ) -> Result<(Part, Arc<TableSchema>)> {
        let (part, table) = self.json.row(source, span, schemas, key, &self.placeholder)?;
        self.latest.insert(Arc::clone(source.topic), Arc::clone(&table));
        Ok((part, table))
    }

    pub(super) fn json_key(
        &mut self,
        source: &Source<'_>,
        span: Span,
        schemas: bool,
    ) -> Result<Key> {
        self.json.key(source, span, schemas, &self.placeholder)
    }

    /// A table of one column that is the whole text or all the bytes.
    pub(super) fn single(
        &mut self,
        topic: &Arc<str>,
        name: &'static str,
        form: ConverterConfig,
        key: Option<&Key>,
    ) -> Arc<TableSchema> {
        let table = self.singles.entry((Arc::clone(topic), name)).or_insert_with(|| {
            let whole = match form {
                ConverterConfig::Bytes => Whole::Bytes,
                ConverterConfig::Primitive(one) => Whole::Primitive(one),
                _ => Whole::Text,
            };
            let schema = Arc::new(Schema::new(whole.kind()).optional());
            let columns = vec![Column { name: name.into(), schema }];
            let decoder = Arc::new(whole);
            if name == "key" {
                key_table(topic, columns, decoder)
            } else {
                made(topic, columns, key, decoder)
            }
        });
        Arc::clone(table)
    }
}

/// A table whose key is the columns that are named like the record key's.
pub(super) fn made(
    topic: &Arc<str>,
    columns: Vec<Column>,
    key: Option<&Key>,
    decoder: Arc<dyn RowDecoder>,
) -> Arc<TableSchema> {
    let position = |name: &str| columns.iter().position(|column| *column.name == *name);
    let key = key.map_or_else(Vec::new, |key| {
        let found: Option<Vec<usize>> =
            key.table.columns.iter().map(|column| position(&column.name)).collect();
        found.unwrap_or_default()
    });
    Arc::new(TableSchema::new(table_id(topic), columns, key, decoder))
}

/// The table of a record key: every column is of the key.
pub(super) fn key_table(
    topic: &Arc<str>,
    columns: Vec<Column>,
    decoder: Arc<dyn RowDecoder>,
) -> Arc<TableSchema> {
    let key = (0..columns.len()).collect();
    Arc::new(TableSchema::new(table_id(topic), columns, key, decoder))
}

/// On the sink's side a table is known by its topic.
fn table_id(topic: &Arc<str>) -> TableId {
    TableId { database: "".into(), schema: "".into(), table: Arc::clone(topic) }
}

/// A row of one column that is the whole of the bytes.
#[derive(Debug)]
enum Whole {
    Text,
    Bytes,
    Primitive(Primitive),
}

impl Whole {
    fn kind(&self) -> Type {
        match self {
            Self::Text => Type::String,
            Self::Bytes => Type::Bytes,
            Self::Primitive(one) => one.kind(),
        }
    }
}

impl RowDecoder for Whole {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        out.push(match self {
            Self::Bytes => Value::bytes(row),
            Self::Primitive(one) => one.read(row)?,
            Self::Text => {
                let text = std::str::from_utf8(row)
                    .map_err(|error| Error::data("the text is not UTF-8").with_source(error))?;
                Value::text(text)
            }
        });
        Ok(())
    }
}
