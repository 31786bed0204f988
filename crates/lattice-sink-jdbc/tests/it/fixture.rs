//! Hand-made batches, and a sink task on a database of its own.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lattice_core::{
    config::Config,
    connector::{Rejected, SinkConnector, SinkTask, TaskConfig, TaskContext, WriteStatus},
    error::{Error, Result},
    event::{
        ChangeEvent, Column, Coordinate, EventBatch, Op, Origin, RowDecoder, Span, TableId,
        TableSchema,
    },
    progress::Progress,
    schema::{Schema, Type},
    value::Value,
};
use lattice_sink_jdbc::JdbcSink;

/// Rows by number: a row's bytes are its number here.
#[derive(Debug, Default)]
struct Rows(Mutex<Vec<Vec<Value<'static>>>>);

impl RowDecoder for Rows {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let number: [u8; 4] = row.try_into().map_err(|_| Error::data("not a row"))?;
        let rows = self.0.lock().expect("no test panics while it holds the rows");
        out.extend(rows[u32::from_le_bytes(number) as usize].iter().cloned());
        Ok(())
    }
}

/// A table of the source.
#[derive(Clone)]
pub(crate) struct Source {
    schema: Arc<TableSchema>,
    key: Arc<TableSchema>,
    rows: Arc<Rows>,
}

impl Source {
    /// `columns`: name and schema; the first `keys` of them are the key.
    pub(crate) fn new(columns: Vec<(&str, Schema)>, keys: usize) -> Self {
        let rows = Arc::new(Rows::default());
        let id = TableId { database: "d".into(), schema: "s".into(), table: "t".into() };
        let columns: Vec<Column> = columns
            .into_iter()
            .map(|(name, schema)| Column { name: name.into(), schema: Arc::new(schema) })
            .collect();
        let decoder: Arc<dyn RowDecoder> = rows.clone();
        let of = |columns: Vec<Column>| {
            TableSchema::new(id.clone(), columns, (0..keys).collect(), Arc::clone(&decoder))
        };
        let key = Arc::new(of(columns[..keys].to_vec()));
        Self { schema: Arc::new(of(columns)), key, rows }
    }
}

/// An event to be.
pub(crate) struct Event {
    op: Op,
    before: Option<Vec<Value<'static>>>,
    after: Option<Vec<Value<'static>>>,
    key_only: bool,
}

pub(crate) fn create(after: Vec<Value<'static>>) -> Event {
    Event { op: Op::Create, before: None, after: Some(after), key_only: false }
}

pub(crate) fn update(after: Vec<Value<'static>>) -> Event {
    Event { op: Op::Update, before: None, after: Some(after), key_only: false }
}

/// A delete of which only the key is known.
pub(crate) fn delete(key: Vec<Value<'static>>) -> Event {
    Event { op: Op::Delete, before: Some(key), after: None, key_only: true }
}

/// A delete of which the whole row is known.
pub(crate) fn delete_row(row: Vec<Value<'static>>) -> Event {
    Event { op: Op::Delete, before: Some(row), after: None, key_only: false }
}

pub(crate) fn tombstone(key: Vec<Value<'static>>) -> Event {
    Event { op: Op::Tombstone, before: Some(key), after: None, key_only: true }
}

pub(crate) fn truncate() -> Event {
    Event { op: Op::Truncate, before: None, after: None, key_only: false }
}

/// A batch of one topic's partition 0, from this offset on.
pub(crate) fn batch(topic: &str, source: &Source, offset: i64, events: Vec<Event>) -> EventBatch {
    let mut batch = EventBatch {
        topics: vec![topic.into()],
        tables: vec![(0, Arc::clone(&source.schema))],
        ..EventBatch::default()
    };
    let mut data = Vec::new();
    let mut rows = source.rows.0.lock().expect("no test panics while it holds the rows");
    let mut put = |values: Vec<Value<'static>>| {
        let start = u32::try_from(data.len()).expect("few rows");
        data.extend_from_slice(&u32::try_from(rows.len()).expect("few rows").to_le_bytes());
        rows.push(values);
        Span { start, len: 4 }
    };
    for (at, event) in (0..).zip(events) {
        batch.events.push(ChangeEvent {
            op: event.op,
            table: 0,
            before: event.before.map(&mut put),
            after: event.after.map(&mut put),
            origin: Origin { ts_us: 1_700_000_000_000_000, lsn: Some(1), ..Origin::default() },
        });
        let offset = offset + at;
        let timestamp_ms = 1_000_000 + offset;
        batch.coordinates.push(Coordinate { topic: 0, partition: 0, offset, timestamp_ms });
        batch.keys.push(event.key_only.then(|| Arc::clone(&source.key)));
    }
    batch.data = Bytes::from(data);
    batch
}

/// Two batches of one topic each as one.
pub(crate) fn join(first: &mut EventBatch, second: EventBatch) {
    let shift = u32::try_from(first.data.len()).expect("few rows");
    let move_on = |span: Span| Span { start: span.start + shift, ..span };
    let (topics, tables) = (first.topics.len() as u32, first.tables.len() as u32);
    first.topics.extend(second.topics);
    first.tables.extend(second.tables.into_iter().map(|(topic, table)| (topic + topics, table)));
    for mut event in second.events {
        event.table += tables;
        event.before = event.before.map(move_on);
        event.after = event.after.map(move_on);
        first.events.push(event);
    }
    for mut coordinate in second.coordinates {
        coordinate.topic += topics;
        first.coordinates.push(coordinate);
    }
    first.keys.extend(second.keys);
    first.data = [first.data.as_ref(), second.data.as_ref()].concat().into();
}

/// A sink task that is opened when it is needed.
pub(crate) struct Sink {
    connector: JdbcSink,
    pub(crate) config: Config,
    pub(crate) progress: Arc<Progress>,
    task: Option<Box<dyn SinkTask>>,
}

/// What keeps a table equal to its source.
pub(crate) const MIRROR: &[(&str, &str)] = &[
    ("insert.mode", "upsert"),
    ("primary.key.mode", "record_key"),
    ("delete.enabled", "true"),
    ("truncate.enabled", "true"),
    ("schema.evolution", "basic"),
    ("quote.identifiers", "true"),
];

impl Sink {
    /// With Debezium's keys.
    pub(crate) fn debezium(target: Vec<(String, String)>, keys: &[(&str, &str)]) -> Self {
        Self::new(JdbcSink::debezium(), target, keys)
    }

    /// With Confluent's keys.
    pub(crate) fn confluent(target: Vec<(String, String)>, keys: &[(&str, &str)]) -> Self {
        let mut sink = Self::new(JdbcSink::confluent(), target, keys);
        if let Some(user) = sink.config.remove("connection.username") {
            sink.config.set("connection.user", user);
        }
        sink
    }

    fn new(connector: JdbcSink, target: Vec<(String, String)>, keys: &[(&str, &str)]) -> Self {
        let mut config = Config::default();
        for (key, value) in target {
            config.set(key, value);
        }
        for (key, value) in keys {
            config.set(*key, *value);
        }
        Self { connector, config, progress: Arc::default(), task: None }
    }

    pub(crate) async fn open(&self) -> Result<Box<dyn SinkTask>> {
        let task = TaskConfig { connector: "sink".into(), task: 0, config: self.config.clone() };
        let context = TaskContext { progress: Arc::clone(&self.progress), buffer_bytes: 64 << 20 };
        self.connector.open(task, context).await
    }

    /// Writes and flushes. After an error the next write opens the task anew.
    pub(crate) async fn try_write(&mut self, batch: EventBatch) -> Result<Vec<Rejected>> {
        let mut task = match self.task.take() {
            Some(task) => task,
            None => self.open().await?,
        };
        let mut all = Vec::new();
        match task.write(batch).await? {
            WriteStatus::Durable { rejected } | WriteStatus::Written { rejected, .. } => {
                all.extend(rejected);
            }
            WriteStatus::Accepted => {}
        }
        all.extend(task.flush().await?);
        self.task = Some(task);
        Ok(all)
    }

    /// Writes and flushes; nothing may be rejected.
    pub(crate) async fn write(&mut self, batch: EventBatch) {
        let rejected =
            self.try_write(batch).await.unwrap_or_else(|error| panic!("{}", error.chain()));
        assert!(rejected.is_empty(), "{rejected:?}");
    }

    /// Where the target says that partition 0 of a topic stands.
    pub(crate) async fn position(&self, topic: &str) -> Option<i64> {
        let task = self.open().await.unwrap_or_else(|error| panic!("{}", error.chain()));
        let found = task.positions().into_iter().find(|(known, ..)| **known == *topic);
        task.close().await;
        found.map(|(.., next)| next)
    }

    /// The task is gone, as after a crash: the next write opens another.
    pub(crate) async fn reopen(&mut self) {
        if let Some(task) = self.task.take() {
            task.close().await;
        }
    }

    /// Messages of the preflight, with the keys they belong to.
    pub(crate) async fn issues(&self) -> Vec<String> {
        let issues = self.connector.validate(&self.config).await;
        issues.into_iter().map(|issue| format!("{}: {}", issue.key, issue.message)).collect()
    }
}

pub(crate) fn int(number: i64) -> Value<'static> {
    Value::Int(number)
}

pub(crate) fn text(text: &'static str) -> Value<'static> {
    Value::text(text)
}

pub(crate) fn int32() -> Schema {
    Schema::new(Type::Int32)
}

pub(crate) fn string() -> Schema {
    Schema::new(Type::String)
}
