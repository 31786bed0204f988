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
use lattice_sink_clickhouse::ClickHouseSink;
use lattice_testkit::{ClickHouseDatabase, service};

/// Rows by number: a row's bytes are its number here.
#[derive(Debug, Default)]
pub(crate) struct Rows(Mutex<Vec<Vec<Value<'static>>>>);

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
    pub(crate) schema: Arc<TableSchema>,
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

/// An event to be: operation, version, rows.
pub(crate) struct Event {
    pub(crate) op: Op,
    pub(crate) lsn: Option<u64>,
    pub(crate) before: Option<Vec<Value<'static>>>,
    pub(crate) after: Option<Vec<Value<'static>>>,
    pub(crate) key_only: bool,
}

pub(crate) fn event(op: Op, lsn: u64, after: Vec<Value<'static>>) -> Event {
    Event { op, lsn: Some(lsn), before: None, after: Some(after), key_only: false }
}

pub(crate) fn create(lsn: u64, after: Vec<Value<'static>>) -> Event {
    event(Op::Create, lsn, after)
}

pub(crate) fn update(lsn: u64, after: Vec<Value<'static>>) -> Event {
    event(Op::Update, lsn, after)
}

/// A delete of which only the key is known.
pub(crate) fn delete(lsn: u64, key: Vec<Value<'static>>) -> Event {
    Event { op: Op::Delete, lsn: Some(lsn), before: Some(key), after: None, key_only: true }
}

pub(crate) fn tombstone(key: Vec<Value<'static>>) -> Event {
    Event { op: Op::Tombstone, lsn: None, before: Some(key), after: None, key_only: true }
}

pub(crate) fn truncate(lsn: u64) -> Event {
    Event { op: Op::Truncate, lsn: Some(lsn), before: None, after: None, key_only: false }
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
            origin: Origin { ts_us: 1_700_000_000_000_000, lsn: event.lsn, ..Origin::default() },
        });
        let offset = offset + at;
        batch.coordinates.push(Coordinate { topic: 0, partition: 0, offset, timestamp_ms: 0 });
        batch.keys.push(event.key_only.then(|| Arc::clone(&source.key)));
    }
    batch.data = Bytes::from(data);
    batch
}

/// A sink on a database of its own.
pub(crate) struct Sink {
    pub(crate) database: ClickHouseDatabase,
    pub(crate) config: Config,
    pub(crate) progress: Arc<Progress>,
    task: Option<Box<dyn SinkTask>>,
}

impl Sink {
    pub(crate) async fn new(variable: &str, hint: &str) -> Self {
        Self::with(variable, hint, &[]).await
    }

    pub(crate) async fn with(variable: &str, hint: &str, keys: &[(&str, &str)]) -> Self {
        let database = ClickHouseDatabase::create(&service(variable), hint).await;
        let mut config = Config::default();
        for (key, value) in database.connector_config() {
            config.set(key, value);
        }
        for (key, value) in keys {
            config.set(*key, *value);
        }
        Self { database, config, progress: Arc::default(), task: None }
    }

    pub(crate) async fn open(&self) -> Result<Box<dyn SinkTask>> {
        let task = TaskConfig { connector: "sink".into(), task: 0, config: self.config.clone() };
        let context = TaskContext { progress: Arc::clone(&self.progress), buffer_bytes: 64 << 20 };
        ClickHouseSink.open(task, context).await
    }

    /// Writes and flushes.
    pub(crate) async fn try_write(&mut self, batch: EventBatch) -> Result<Vec<Rejected>> {
        let mut task = match self.task.take() {
            Some(task) => task,
            None => self.open().await?,
        };
        let mut all = Vec::new();
        if let WriteStatus::Durable { rejected } = task.write(batch).await? {
            all.extend(rejected);
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

    /// The task is gone, as after a crash: the next write opens another.
    pub(crate) async fn reopen(&mut self) {
        if let Some(task) = self.task.take() {
            task.close().await;
        }
    }

    /// Lines of a query.
    pub(crate) async fn lines(&self, sql: &str) -> Vec<String> {
        self.database.lines(sql).await
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

/// Both engines.
pub(crate) const BOTH: [&str; 2] = ["LATTICE_TEST_CH", "LATTICE_TEST_CH18"];
/// The modern engine.
pub(crate) const MODERN: &str = "LATTICE_TEST_CH";
