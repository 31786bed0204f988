//! A table whose rows are handed over as values, a source block, a sink that collects.

#![allow(clippy::unwrap_used)] // test code: a panic is the failure

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lattice_codec::{Decoded, Decoder, DecoderOptions, Encoder, EncoderOptions, FetchedRecords};
use lattice_core::{
    BoxFuture, Error, Result,
    config::Config,
    event::{
        ChangeEvent, Column, Op, Origin, RowDecoder, RowVisitor, SourceBatch, SourceInfo, Span,
        TableId, TableSchema,
    },
    position::Position,
    record::{RecordRef, RecordSink, TopicHandle},
    schema::{Field, Schema, Type},
    value::Value,
};
use lattice_log::RecordIndex;
use lattice_registry::{NewSchema, RegisteredSchema, SchemaId, SchemaRegistry};
use lattice_transform::Chain;

/// Keeps schemas in memory, in the order they came.
#[derive(Default)]
pub(crate) struct Registry(pub(crate) Mutex<Vec<(String, String)>>);

impl SchemaRegistry for Registry {
    fn register<'a>(
        &'a self,
        subject: &'a str,
        schema: NewSchema,
    ) -> BoxFuture<'a, Result<SchemaId>> {
        lattice_registry::avro::Schema::parse(&schema.schema).expect("a valid Avro schema");
        let mut all = self.0.lock().unwrap();
        all.push((subject.to_owned(), schema.schema));
        let id = SchemaId(i32::try_from(all.len()).unwrap());
        Box::pin(async move { Ok(id) })
    }

    fn schema(&self, id: SchemaId) -> BoxFuture<'_, Result<Arc<str>>> {
        let all = self.0.lock().unwrap();
        let text = usize::try_from(id.0).ok().and_then(|id| all.get(id.wrapping_sub(1)));
        let found = text.map(|(_, text)| Arc::from(text.as_str()));
        Box::pin(async move { found.ok_or_else(|| Error::data("schema not found")) })
    }

    fn subjects(&self) -> BoxFuture<'_, Result<Vec<Arc<str>>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn versions<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<RegisteredSchema>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

impl Registry {
    pub(crate) fn text(&self, subject: &str) -> String {
        let all = self.0.lock().unwrap();
        all.iter().find(|(name, _)| name == subject).expect("registered").1.clone()
    }
}

/// Rows are numbers of a list of values.
#[derive(Debug)]
struct Rows(Vec<Vec<Value<'static>>>);

impl RowDecoder for Rows {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        out.extend(self.0[usize::from(row[0])].iter().cloned());
        Ok(())
    }
}

#[derive(Debug)]
struct Block(Arc<Schema>);

impl SourceInfo for Block {
    fn schema(&self) -> &Arc<Schema> {
        &self.0
    }

    fn values<'a>(&'a self, table: &'a TableId, origin: &'a Origin, out: &mut Vec<Value<'a>>) {
        out.push(Value::Int(origin.ts_us / 1000));
        out.push(Value::text(origin.snapshot.as_str()));
        out.push(Value::text(&table.table));
        out.push(origin.tx_id.map_or(Value::Null, |id| Value::Int(id.cast_signed())));
        out.push(origin.lsn.map_or(Value::Null, |lsn| Value::Int(lsn.cast_signed())));
    }

    fn event_fields(&self) -> &[usize] {
        &[4]
    }

    fn event_values<'a>(&'a self, origin: &'a Origin, out: &mut Vec<Value<'a>>) {
        out.push(origin.lsn.map_or(Value::Null, |lsn| Value::Int(lsn.cast_signed())));
    }
}

fn source_schema() -> Arc<Schema> {
    let allowed = "true,first,last,false,incremental";
    let snapshot = Schema::new(Type::String)
        .named("io.debezium.data.Enum", 1)
        .parameter("allowed", allowed)
        .optional()
        .with_default(Value::text("false"));
    let fields = vec![
        Field::new("ts_ms", Schema::new(Type::Int64)),
        Field::new("snapshot", snapshot),
        Field::new("table", Schema::new(Type::String)),
        Field::new("txId", Schema::new(Type::Int64).optional()),
        Field::new("lsn", Schema::new(Type::Int64).optional()),
    ];
    let name = "io.debezium.connector.postgresql.Source";
    Arc::new(Schema { version: Some(1), ..Schema::structure(name, fields) })
}

/// A change: operation, row before, row after.
pub(crate) type Change = (Op, Option<Vec<Value<'static>>>, Option<Vec<Value<'static>>>);

/// A batch of changes of the table `public.<name>`.
pub(crate) fn batch(
    name: &str,
    columns: Vec<(&str, Schema)>,
    key: Vec<usize>,
    changes: Vec<Change>,
) -> SourceBatch {
    let mut rows = Vec::new();
    let mut add = |row: Option<Vec<Value<'static>>>| {
        row.map(|row| {
            rows.push(row);
            Span { start: u32::try_from(rows.len() - 1).unwrap(), len: 1 }
        })
    };
    let events = changes
        .into_iter()
        .map(|(op, before, after)| ChangeEvent {
            op,
            table: 0,
            before: add(before),
            after: add(after),
            origin: Origin {
                ts_us: 1_700_000_000_000_000,
                tx_id: Some(77),
                lsn: Some(4242),
                ..Origin::default()
            },
        })
        .collect();
    let columns = columns
        .into_iter()
        .map(|(name, schema)| Column { name: name.into(), schema: Arc::new(schema) })
        .collect();
    let data: Vec<u8> = (0..rows.len()).map(|row| u8::try_from(row).unwrap()).collect();
    let id = TableId { database: "db".into(), schema: "public".into(), table: name.into() };
    SourceBatch {
        tables: vec![Arc::new(TableSchema::new(id, columns, key, Arc::new(Rows(rows))))],
        data: data.into(),
        events,
        position: Position::default(),
        info: Arc::new(Block(source_schema())),
        notices: Vec::new(),
    }
}

/// A record that was appended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) topic: String,
    pub(crate) partition: Option<i32>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

#[derive(Default)]
pub(crate) struct Collected {
    topics: Vec<String>,
    pub(crate) records: Vec<Record>,
}

impl RecordSink for Collected {
    fn topic(&mut self, name: &str) -> TopicHandle {
        self.topics.push(name.to_owned());
        TopicHandle(u32::try_from(self.topics.len() - 1).unwrap())
    }

    fn append(&mut self, topic: TopicHandle, partition: Option<i32>, record: RecordRef<'_>) {
        self.records.push(Record {
            topic: self.topics[topic.0 as usize].clone(),
            partition,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: record
                .headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.unwrap_or_default().to_vec()))
                .collect(),
        });
    }
}

pub(crate) fn config(extra: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    config.set("topic.prefix", "shop");
    for (key, value) in extra {
        config.set(*key, *value);
    }
    config
}

pub(crate) const JSON: &[(&str, &str)] = &[
    ("key.converter", "org.apache.kafka.connect.json.JsonConverter"),
    ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
];

/// Encodes; fails on the first event that cannot be.
pub(crate) async fn encode(
    registry: &Arc<Registry>,
    config: &Config,
    batch: &SourceBatch,
) -> Result<Vec<Record>> {
    let options = EncoderOptions::from_config("orders-source", 0, config)?;
    let mut encoder = Encoder::new(options, Arc::clone(registry) as Arc<dyn SchemaRegistry>)
        .with_transforms(Chain::from_config(config)?);
    encoder.prepare(batch).await?;
    let mut sink = Collected::default();
    encoder.encode(batch, 0, &mut sink).map_err(|failed| failed.error)?;
    Ok(sink.records)
}

/// A record's key and value.
pub(crate) type KeyValue = (Option<Vec<u8>>, Option<Vec<u8>>);

pub(crate) fn fetched(topic: &str, records: &[KeyValue]) -> FetchedRecords {
    let mut data = Vec::new();
    let mut add = |part: &Option<Vec<u8>>| {
        part.as_ref().map(|part| {
            let start = u32::try_from(data.len()).unwrap();
            data.extend_from_slice(part);
            lattice_log::Span { start, len: u32::try_from(part.len()).unwrap() }
        })
    };
    let index = records
        .iter()
        .enumerate()
        .map(|(offset, (key, value))| RecordIndex {
            offset: i64::try_from(offset).unwrap(),
            timestamp_ms: 5,
            key: add(key),
            value: add(value),
            headers: lattice_log::Span::default(),
            header_count: 0,
        })
        .collect();
    FetchedRecords { topic: topic.into(), partition: 0, data: Bytes::from(data), records: index }
}

/// Decodes records, each topic's as one stored batch.
pub(crate) async fn decode(
    registry: &Arc<Registry>,
    config: &Config,
    records: &[Record],
) -> Decoded {
    let options = DecoderOptions::from_config(config).unwrap();
    let mut decoder = Decoder::new(options, Arc::clone(registry) as Arc<dyn SchemaRegistry>)
        .with_transforms(Chain::from_config(config).unwrap());
    let all = records
        .iter()
        .map(|record| fetched(&record.topic, &[(record.key.clone(), record.value.clone())]))
        .collect();
    decoder.decode(all).await.unwrap()
}

/// The values of an event's row; `None`: it has none there.
pub(crate) fn values(decoded: &Decoded, event: usize, before: bool) -> Option<Vec<Value<'_>>> {
    let batch = &decoded.batch;
    let change = &batch.events[event];
    let span = if before { change.before } else { change.after }?;
    let key = batch.keys[event].as_ref().filter(|_| before);
    let table = key.unwrap_or(&batch.tables[change.table as usize].1);
    let mut out = Vec::new();
    table.decoder.decode(span.of(&batch.data), &mut out).unwrap();
    let mut visited = Gathered(Vec::new());
    assert!(table.decoder.visit(span.of(&batch.data), &mut visited).unwrap());
    assert_eq!(visited.0, out, "what is visited is what is decoded");
    Some(out)
}

pub(crate) fn int() -> Schema {
    Schema::new(Type::Int32)
}

pub(crate) fn text() -> Schema {
    Schema::new(Type::String).optional()
}

pub(crate) fn t(value: &'static str) -> Value<'static> {
    Value::text(value)
}

/// Gathers what it is given.
struct Gathered(Vec<Value<'static>>);

impl RowVisitor for Gathered {
    fn null(&mut self) -> bool {
        self.value(&Value::Null)
    }

    fn int(&mut self, value: i64) -> bool {
        self.value(&Value::Int(value))
    }

    fn text(&mut self, value: &[u8]) -> bool {
        self.value(&Value::text(std::str::from_utf8(value).unwrap()))
    }

    fn bytes(&mut self, value: &[u8]) -> bool {
        self.value(&Value::bytes(value))
    }

    fn value(&mut self, value: &Value<'_>) -> bool {
        self.0.push(value.clone().into_owned());
        true
    }
}
