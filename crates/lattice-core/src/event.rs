//! Change events: what happened to which row, with the row's bytes beside it.
//!
//! A batch holds one buffer and many events that point into it. A row stays in the bytes that
//! the source (or the topic) sent; its [`TableSchema::decoder`] turns it into values when, and
//! only when, something reads them.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

use crate::{error::Result, position::Position, schema::Schema, value::Value};

/// A part of a batch's buffer.
///
/// Units: bytes from the buffer's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// How many.
    pub len: u32,
}

impl Span {
    /// The bytes of it. Errors: none; a span outside the buffer (a bug of the batch's maker)
    /// gives the empty slice, which every decoder refuses.
    #[must_use]
    pub fn of(self, data: &[u8]) -> &[u8] {
        let start = self.start as usize;
        data.get(start..start + self.len as usize).unwrap_or(&[])
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read by a snapshot (`r`).
    Read,
    /// Inserted (`c`).
    Create,
    /// Updated (`u`).
    Update,
    /// Deleted (`d`).
    Delete,
    /// The whole table was emptied (`t`); no rows.
    Truncate,
    /// A logical decoding message (`m`); `after` is its content, `before` its prefix.
    Message,
    /// A record without value: the key is gone (sink side only).
    Tombstone,
}

impl Op {
    /// Debezium's letter. A tombstone has none and gives `""`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "r",
            Self::Create => "c",
            Self::Update => "u",
            Self::Delete => "d",
            Self::Truncate => "t",
            Self::Message => "m",
            Self::Tombstone => "",
        }
    }
}

/// Where a snapshot row stands: Debezium's `source.snapshot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SnapshotMarker {
    /// Not a snapshot row.
    #[default]
    False,
    /// A snapshot row like any other.
    True,
    /// The first of all.
    First,
    /// The first of its table.
    FirstInDataCollection,
    /// The last of its table.
    LastInDataCollection,
    /// The last of all.
    Last,
    /// Read by an incremental snapshot.
    Incremental,
}

impl SnapshotMarker {
    /// Debezium's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::False => "false",
            Self::True => "true",
            Self::First => "first",
            Self::FirstInDataCollection => "first_in_data_collection",
            Self::LastInDataCollection => "last_in_data_collection",
            Self::Last => "last",
            Self::Incremental => "incremental",
        }
    }
}

/// Where an event comes from, in numbers that every source has.
///
/// A source gives them their names in its `source` block ([`SourceInfo`]).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// When it was committed (a snapshot: when its transaction began). Units: µs since the
    /// Unix epoch.
    pub ts_us: i64,
    /// The transaction, if known.
    pub tx_id: Option<u64>,
    /// The change's own position in the source's log (PostgreSQL: LSN of the message; MySQL: file
    /// number << 32 | offset; MongoDB: cluster time). For one key it only grows, so sinks use
    /// it as the row's version; `None`: unknown, sinks use the record's offset.
    pub lsn: Option<u64>,
    /// The position of the last commit before this event, if there was one.
    pub last_commit_lsn: Option<u64>,
    /// Where in a snapshot.
    pub snapshot: SnapshotMarker,
    /// What only this kind of source knows (PostgreSQL: name of the replication origin).
    pub extra: Option<Arc<str>>,
}

/// One change of one row.
#[derive(Debug, Clone)]
pub struct ChangeEvent {
    /// What happened.
    pub op: Op,
    /// Which table: index into the batch's `tables`.
    pub table: u32,
    /// The row before, as far as it is known.
    pub before: Option<Span>,
    /// The row after.
    pub after: Option<Span>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Decodes a row's bytes into values, one a column, in the order of [`TableSchema::columns`].
pub trait RowDecoder: Send + Sync + fmt::Debug {
    /// Appends exactly one value a column to `out`.
    ///
    /// Errors: `Data`, naming the column, when the bytes are not a row of this table or a value
    /// cannot be read; `out` is then unspecified.
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()>;

    /// Gives exactly one value a column to `visitor`, in the order of [`TableSchema::columns`], without
    /// gathering them. `false`: the visitor did not take one, and was given none after it.
    ///
    /// Errors: as [`RowDecoder::decode`]; the visitor has the values before then.
    fn visit(&self, row: &[u8], visitor: &mut dyn RowVisitor) -> Result<bool> {
        let mut values = Vec::new();
        self.decode(row, &mut values)?;
        Ok(values.iter().all(|value| visitor.value(value)))
    }
}

/// Takes a row's values one by one, as they are read. Each method is one column; it tells whether
/// the visitor took it and wants the next.
pub trait RowVisitor {
    /// [`Value::Null`]
    fn null(&mut self) -> bool;
    /// [`Value::Int`]
    fn int(&mut self, value: i64) -> bool;
    /// [`Value::Text`]; the bytes are UTF-8, the caller has checked it.
    fn text(&mut self, value: &[u8]) -> bool;
    /// [`Value::Bytes`]
    fn bytes(&mut self, value: &[u8]) -> bool;
    /// Any value.
    fn value(&mut self, value: &Value<'_>) -> bool;
}

/// A table's identity at the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId {
    /// Database.
    pub database: Arc<str>,
    /// Schema; empty where the source has none.
    pub schema: Arc<str>,
    /// Table (collection).
    pub table: Arc<str>,
}

impl TableId {
    /// Whether `name` is this table's name as [`Display`](fmt::Display) writes it; allocates nothing.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        if self.schema.is_empty() {
            return *name == *self.table;
        }
        let rest = name.strip_prefix(&*self.schema).and_then(|rest| rest.strip_prefix('.'));
        rest.is_some_and(|table| *table == *self.table)
    }
}

impl fmt::Display for TableId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.schema.is_empty() {
            return write!(formatter, "{}", self.table);
        }
        write!(formatter, "{}.{}", self.schema, self.table)
    }
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name, as the source has it.
    pub name: Arc<str>,
    /// Its schema.
    pub schema: Arc<Schema>,
}

/// How a table's columns stand in its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// They are the fields of the members `before` and `after` (tables of rows).
    #[default]
    Row,
    /// Those that are not the key's are the envelope's first members themselves (MongoDB's `before`,
    /// `after` and `updateDescription`). An event has one row, in its `after`, whatever happened.
    Members,
}

/// One version of a table's structure, and how its rows are read.
///
/// Immutable; a change of structure makes a new one with a new [`TableSchema::uid`].
#[derive(Debug)]
pub struct TableSchema {
    /// Unique in this process: what compiled plans are cached by.
    pub uid: u64,
    /// Which table.
    pub id: TableId,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Positions in `columns` of the key's columns, in key order; empty: no key.
    pub key: Vec<usize>,
    /// Reads its rows.
    pub decoder: Arc<dyn RowDecoder>,
    /// How the columns stand in records.
    pub layout: Layout,
}

static NEXT_UID: AtomicU64 = AtomicU64::new(1);

impl TableSchema {
    /// A new version of a table's structure.
    #[must_use]
    pub fn new(
        id: TableId,
        columns: Vec<Column>,
        key: Vec<usize>,
        decoder: Arc<dyn RowDecoder>,
    ) -> Self {
        let uid = NEXT_UID.fetch_add(1, Ordering::Relaxed);
        Self { uid, id, columns, key, decoder, layout: Layout::Row }
    }

    /// The same, its columns standing otherwise in records.
    #[must_use]
    pub fn laid_out(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// The position of the column named `name`.
    #[must_use]
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| &*column.name == name)
    }
}

/// Gives an event's `source` block: its schema, and its values from [`Origin`].
pub trait SourceInfo: Send + Sync + fmt::Debug {
    /// The block's schema, a struct (`io.debezium.connector.postgresql.Source`).
    fn schema(&self) -> &Arc<Schema>;

    /// Appends exactly one value a field of the schema to `out`.
    fn values<'a>(&'a self, table: &'a TableId, origin: &'a Origin, out: &mut Vec<Value<'a>>);

    /// Positions, ascending, of the fields that depend on [`Origin::lsn`]. All others are equal
    /// for two events of one table whose origins differ in nothing else, so that the codec
    /// encodes them once a transaction.
    fn event_fields(&self) -> &[usize];

    /// Appends the values of [`SourceInfo::event_fields`] alone, equal to those that
    /// [`SourceInfo::values`] gives.
    fn event_values<'a>(&'a self, origin: &'a Origin, out: &mut Vec<Value<'a>>);
}

/// What a source hands over at once. It ends on a position that one may resume from.
///
/// Also made without events, when only the position moved.
#[derive(Debug)]
pub struct SourceBatch {
    /// The tables that events point to.
    pub tables: Vec<Arc<TableSchema>>,
    /// The buffer that rows point into.
    pub data: Bytes,
    /// The events, in the source's order.
    pub events: Vec<ChangeEvent>,
    /// Where one resumes after this batch.
    pub position: Position,
    /// The `source` block.
    pub info: Arc<dyn SourceInfo>,
    /// Records of the source's own, such as heartbeats and transaction metadata.
    pub notices: Vec<Notice>,
}

/// A record that is not about a row: it has its own schemas and goes to a topic by its kind.
#[derive(Debug, Clone)]
pub struct Notice {
    /// Which of the source's own topics.
    pub kind: NoticeKind,
    /// Stands before the event of this index in the batch.
    pub before_event: usize,
    /// Key schema and value.
    pub key: (Arc<Schema>, Value<'static>),
    /// Value schema and value.
    pub value: (Arc<Schema>, Value<'static>),
}

/// The source's own topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// `__debezium-heartbeat.<prefix>`, partition 0.
    Heartbeat,
    /// `<prefix>.transaction`.
    Transaction,
}

/// Where a record stood: topic (index into [`EventBatch::topics`]), partition, offset. Its row goes to
/// the table of [`EventBatch::target`], which is of another topic when a transformation changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coordinate {
    /// Index into [`EventBatch::topics`].
    pub topic: u32,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// Units: ms since the Unix epoch.
    pub timestamp_ms: i64,
}

/// What a sink is given at once: events read from topics.
#[derive(Debug, Default)]
pub struct EventBatch {
    /// The topics the events come from.
    pub topics: Vec<Arc<str>>,
    /// The tables that events point to, each belonging to one topic (index into `topics`).
    /// A value without a key or without an envelope has them too: then the row is `after` and
    /// the operation is [`Op::Create`].
    pub tables: Vec<(u32, Arc<TableSchema>)>,
    /// The buffer that rows point into.
    pub data: Bytes,
    /// The events, in the order of their partitions. A [`Op::Tombstone`] (and a
    /// [`Op::Delete`] whose value has no `before`) has its key's columns in `before`, read by
    /// [`EventBatch::keys`].
    pub events: Vec<ChangeEvent>,
    /// Where each event stood; as many as `events`.
    pub coordinates: Vec<Coordinate>,
    /// For events whose `before` is a record key: the table of the key's columns. As many as
    /// `events`; `None`: `before` is an ordinary row.
    pub keys: Vec<Option<Arc<TableSchema>>>,
}

impl EventBatch {
    /// The topic (index into `topics`) whose table an event belongs to; `None`: of a table that
    /// the batch does not have.
    #[must_use]
    pub fn target(&self, event: &ChangeEvent) -> Option<u32> {
        self.tables.get(event.table as usize).map(|(topic, _)| *topic)
    }
}
