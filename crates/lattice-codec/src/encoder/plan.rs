//! What is compiled once: a table's records, messages, the source's own records.

use std::sync::Arc;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use lattice_core::{
    error::Result,
    event::{Layout, Notice, NoticeKind, TableId, TableSchema},
    schema::Schema,
    value::{Text, Value},
};
use lattice_registry::SchemaRegistry;

use crate::{
    envelope,
    options::{ConverterConfig, EncoderOptions, MessageForm},
    writer::{Fault, Recipe, Writer},
};

/// How one table's records are written.
pub(super) struct TablePlan {
    /// Its place among the encoder's plans.
    pub(super) index: usize,
    pub(super) topic: String,
    pub(super) columns: Vec<Arc<str>>,
    pub(super) key_columns: Vec<usize>,
    pub(super) key: Option<Writer>,
    pub(super) key_header: Option<Writer>,
    pub(super) envelope: Writer,
    /// Where `source` stands in the envelope.
    pub(super) source_member: usize,
    /// Columns that are members of the envelope themselves; `None`: they are those of a row.
    pub(super) members: Option<Vec<usize>>,
}

impl TablePlan {
    pub(super) async fn make(
        options: &EncoderOptions,
        table: &TableSchema,
        (topic, index): (&str, usize),
        source: &Arc<Schema>,
        registry: &Arc<dyn SchemaRegistry>,
    ) -> Result<Self> {
        let (schemas, fields) = (options.schema_names, options.field_names);
        let made = envelope::of_table(table, topic, source, schemas, fields)?;
        let maker = Maker { options, topic, registry };
        let (key, key_header) = match &made.key {
            Some(schema) => (
                Some(maker.writer(schema, Side::Key).await?),
                Some(maker.writer(schema, Side::Header).await?),
            ),
            None => (None, None),
        };
        let key_columns: Vec<usize> =
            table.key.iter().copied().filter(|index| *index < table.columns.len()).collect();
        let members: Option<Vec<usize>> = (table.layout == Layout::Members)
            .then(|| (0..table.columns.len()).filter(|at| !key_columns.contains(at)).collect());
        Ok(Self {
            index,
            topic: topic.to_owned(),
            columns: table.columns.iter().map(|column| Arc::clone(&column.name)).collect(),
            key_columns,
            key,
            key_header,
            envelope: maker.writer(&made.envelope, Side::Value).await?,
            // A row's envelope begins with "before" and "after".
            source_member: members.as_ref().map_or(2, Vec::len),
            members,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Key,
    Value,
    Header,
}

/// Makes the writers of one topic.
pub(super) struct Maker<'a> {
    pub(super) options: &'a EncoderOptions,
    pub(super) topic: &'a str,
    pub(super) registry: &'a Arc<dyn SchemaRegistry>,
}

impl Maker<'_> {
    pub(super) async fn writer(&self, schema: &Schema, side: Side) -> Result<Writer> {
        let options = self.options;
        let (converter, suffix) = match side {
            Side::Key => (options.key, "key"),
            Side::Value => (options.value, "value"),
            Side::Header => (header_form(options.header), "header"),
        };
        let subject = converter.subject(self.topic, suffix, schema)?;
        let recipe = Recipe {
            converter,
            schema,
            subject: &subject,
            placeholder: &options.placeholder,
            key: side != Side::Value,
        };
        Writer::compile(recipe, self.registry).await
    }
}

/// Bytes and numbers cannot hold a key's struct; the simple form is what its readers expect then.
fn header_form(converter: ConverterConfig) -> ConverterConfig {
    match converter {
        ConverterConfig::Bytes | ConverterConfig::Primitive(_) => ConverterConfig::Simple,
        other => other,
    }
}

/// How logical decoding messages are written.
pub(super) struct Messages {
    pub(super) topic: String,
    id: TableId,
    form: MessageForm,
    key: Writer,
    value: Writer,
}

impl Messages {
    pub(super) async fn make(
        options: &EncoderOptions,
        source: &Arc<Schema>,
        registry: &Arc<dyn SchemaRegistry>,
    ) -> Result<Self> {
        let topic = options.topics.message();
        let (key, value) = envelope::of_messages(source, options.message);
        let maker = Maker { options, topic: &topic, registry };
        Ok(Self {
            key: maker.writer(&key, Side::Key).await?,
            value: maker.writer(&value, Side::Value).await?,
            form: options.message,
            id: TableId { database: "".into(), schema: "".into(), table: "".into() },
            topic,
        })
    }

    /// Messages have no table: `source.schema` and `source.table` are empty.
    pub(super) fn table_id(&self) -> &TableId {
        &self.id
    }

    pub(super) fn write(
        &self,
        prefix: &[u8],
        content: &[u8],
        [ts_ms, source, transaction]: [Value<'_>; 3],
        (key_out, value_out): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<(), Fault> {
        let [key, message] = message_values(prefix, content, self.form);
        self.key.write(&key, key_out)?;
        let op = Value::text("m");
        self.value.write(&Value::Struct(vec![op, ts_ms, source, transaction, message]), value_out)
    }
}

/// A message's key, and its `message` block.
pub(super) fn message_values<'m>(
    prefix: &[u8],
    content: &'m [u8],
    form: MessageForm,
) -> [Value<'m>; 2] {
    let prefix = Value::Text(Text::owned(String::from_utf8_lossy(prefix).into_owned()));
    let content = match form {
        MessageForm::Bytes => Value::bytes(content),
        MessageForm::Base64 => Value::Text(Text::owned(STANDARD.encode(content))),
        MessageForm::Base64Url => Value::Text(Text::owned(URL_SAFE.encode(content))),
        MessageForm::Hex => Value::Text(Text::owned(
            content.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        )),
    };
    [Value::Struct(vec![prefix.clone()]), Value::Struct(vec![prefix, content])]
}

/// How notices of one kind and schema are written.
pub(super) struct NoticePlan {
    kind: NoticeKind,
    schemas: [Arc<Schema>; 2],
    pub(super) topic: String,
    key: Writer,
    value: Writer,
}

impl NoticePlan {
    pub(super) async fn make(
        options: &EncoderOptions,
        notice: &Notice,
        registry: &Arc<dyn SchemaRegistry>,
    ) -> Result<Self> {
        let topic = match notice.kind {
            NoticeKind::Heartbeat => options.topics.heartbeat(),
            NoticeKind::Transaction => options.topics.transaction(),
        };
        let maker = Maker { options, topic, registry };
        Ok(Self {
            kind: notice.kind,
            schemas: [Arc::clone(&notice.key.0), Arc::clone(&notice.value.0)],
            key: maker.writer(&notice.key.0, Side::Key).await?,
            value: maker.writer(&notice.value.0, Side::Value).await?,
            topic: topic.to_owned(),
        })
    }

    pub(super) fn fits(&self, notice: &Notice) -> bool {
        let same =
            |mine: &Arc<Schema>, other: &Arc<Schema>| Arc::ptr_eq(mine, other) || mine == other;
        self.kind == notice.kind
            && same(&self.schemas[0], &notice.key.0)
            && same(&self.schemas[1], &notice.value.0)
    }

    pub(super) fn write(
        &self,
        notice: &Notice,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.key.write(&notice.key.1, key)?;
        self.value.write(&notice.value.1, value)
    }
}
