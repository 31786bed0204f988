//! Events as records of schemas and values: what transformations work on. A source without
//! transformations never comes here.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    error::{Error, Result},
    event::{ChangeEvent, Layout, Notice, NoticeKind, Op, SourceBatch, TableId, TableSchema},
    schema::Schema,
    value::Value,
};
use lattice_transform::{Datum, Header, Record};

use super::{
    plan::message_values,
    rows::{Clock, Rows, Transactions},
    same_topic,
};
use crate::{envelope, filler, options::EncoderOptions};

/// A table's records before any transformation.
struct Shape {
    topic: Arc<str>,
    key: Option<Arc<Schema>>,
    key_columns: Vec<usize>,
    envelope: Arc<Schema>,
    /// The columns' schemas.
    columns: Vec<Arc<Schema>>,
    /// Columns that are members of the envelope themselves; `None`: they are those of a row.
    members: Option<Vec<usize>>,
}

/// Schemas of logical decoding messages.
struct Messages {
    topic: Arc<str>,
    id: TableId,
    key: Arc<Schema>,
    value: Arc<Schema>,
}

/// Makes records of events.
#[derive(Default)]
pub(super) struct Unfolder {
    shapes: HashMap<u64, Shape>,
    topics: HashMap<Arc<str>, TableId>,
    messages: Option<Messages>,
    transactions: Transactions,
}

/// One batch's circumstances.
pub(super) struct Scene<'a> {
    pub(super) options: &'a EncoderOptions,
    pub(super) batch: &'a SourceBatch,
    pub(super) clock: Clock,
}

impl Unfolder {
    /// Learns the tables of a batch.
    ///
    /// Errors: `Schema` for names that collide.
    pub(super) fn learn(&mut self, scene: &Scene<'_>) -> Result<()> {
        for table in &scene.batch.tables {
            if !self.shapes.contains_key(&table.uid) {
                let shape = shape(scene, table)?;
                let owner = self.topics.entry(Arc::clone(&shape.topic));
                let owner = owner.or_insert_with(|| table.id.clone());
                if *owner != table.id {
                    return Err(same_topic(owner, &table.id, &shape.topic));
                }
                self.shapes.insert(table.uid, shape);
            }
        }
        Ok(())
    }

    /// An event's records: of a delete with its tombstone, of a change of the key all three.
    ///
    /// Errors: `Data`.
    pub(super) fn event(&mut self, scene: &Scene<'_>, event: &ChangeEvent) -> Result<Vec<Record>> {
        let options = scene.options;
        if options.skipped.contains(&event.op) || event.op == Op::Tombstone {
            return Ok(Vec::new());
        }
        if event.op == Op::Message {
            return Ok(vec![self.message(scene, event)]);
        }
        let Some(table) = scene.batch.tables.get(event.table as usize) else {
            return Err(Error::fatal("an event of a table that the batch does not have"));
        };
        let mut rows = Rows::default();
        rows.load(scene.batch, table, event)?;
        let transaction = if options.transactions {
            self.transactions.block(event, &table.id)
        } else {
            Value::Null
        };
        let Some(shape) = self.shapes.get(&table.uid) else {
            return Err(Error::fatal(format!("table {} was not prepared", table.id)));
        };
        let mut source = Vec::new();
        scene.batch.info.values(&table.id, &event.origin, &mut source);
        let moved = event.op == Op::Update && rows.key_changed(&shape.key_columns);
        let row = |values: &[Value<'_>]| Value::Struct(settled(&shape.columns, values, options));
        let before = (event.before.is_some()).then(|| row(&rows.before));
        let after = (event.after.is_some()).then(|| row(&rows.after));
        let source = Value::Struct(source.into_iter().map(Value::into_owned).collect());
        let make = Make { scene, shape, source, transaction };
        if let Some(members) = &shape.members {
            return Ok(make.document(event.op, members, after));
        }
        Ok(if moved { make.moved(before, after) } else { make.plain(event.op, before, after) })
    }

    fn message(&mut self, scene: &Scene<'_>, event: &ChangeEvent) -> Record {
        let options = scene.options;
        let messages = self.messages.get_or_insert_with(|| {
            let (key, value) = envelope::of_messages(scene.batch.info.schema(), options.message);
            Messages {
                topic: options.topics.message().into(),
                id: TableId { database: "".into(), schema: "".into(), table: "".into() },
                key: Arc::new(key),
                value: Arc::new(value),
            }
        });
        let mut source = Vec::new();
        scene.batch.info.values(&messages.id, &event.origin, &mut source);
        let source = source.into_iter().map(Value::into_owned).collect();
        let transaction = if options.transactions && event.origin.tx_id.is_some() {
            self.transactions.block(event, &messages.id)
        } else {
            Value::Null
        };
        let bytes = |span: Option<lattice_core::event::Span>| {
            span.map_or(&b""[..], |span| span.of(&scene.batch.data))
        };
        let [key, message] =
            message_values(bytes(event.before), bytes(event.after), options.message);
        let value = Value::Struct(vec![
            Value::text("m"),
            Value::Int(scene.clock.ms()),
            Value::Struct(source),
            transaction,
            message.into_owned(),
        ]);
        Record {
            topic: Arc::clone(&messages.topic),
            key: Datum::new(Arc::clone(&messages.key), key.into_owned()),
            value: Datum::new(Arc::clone(&messages.value), value),
            ..Record::default()
        }
    }
}

/// A record of the source's own.
pub(super) fn notice(options: &EncoderOptions, notice: &Notice) -> Record {
    let (topic, partition) = match notice.kind {
        NoticeKind::Heartbeat => (options.topics.heartbeat(), Some(0)),
        NoticeKind::Transaction => (options.topics.transaction(), None),
    };
    Record {
        topic: topic.into(),
        partition,
        key: Datum::new(Arc::clone(&notice.key.0), notice.key.1.clone()),
        value: Datum::new(Arc::clone(&notice.value.0), notice.value.1.clone()),
        ..Record::default()
    }
}

fn shape(scene: &Scene<'_>, table: &TableSchema) -> Result<Shape> {
    let options = scene.options;
    let topic = options.topics.table(&table.id);
    let (schemas, fields) = (options.schema_names, options.field_names);
    let made = envelope::of_table(table, &topic, scene.batch.info.schema(), schemas, fields)?;
    let in_row = |index: &usize| *index < table.columns.len();
    let key_columns: Vec<usize> = table.key.iter().copied().filter(in_row).collect();
    let others = (0..table.columns.len()).filter(|at| !key_columns.contains(at));
    let members = (table.layout == Layout::Members).then(|| others.collect());
    Ok(Shape {
        topic: topic.into(),
        key: made.key.map(Arc::new),
        key_columns,
        envelope: Arc::new(made.envelope),
        columns: table.columns.iter().map(|column| Arc::clone(&column.schema)).collect(),
        members,
    })
}

/// A row's values with what stands for those that were not sent.
fn settled(
    columns: &[Arc<Schema>],
    values: &[Value<'_>],
    options: &EncoderOptions,
) -> Vec<Value<'static>> {
    let one = |schema: &Schema, value: &Value<'_>| match value {
        Value::Missing if schema.optional => Value::Null,
        Value::Missing => filler::zero(schema),
        Value::Unchanged => filler::placeholder(schema, &options.placeholder)
            .unwrap_or_else(|| if schema.optional { Value::Null } else { filler::zero(schema) }),
        value => value.clone().into_owned(),
    };
    columns.iter().zip(values).map(|(schema, value)| one(schema, value)).collect()
}

/// Makes the records of one event.
struct Make<'m> {
    scene: &'m Scene<'m>,
    shape: &'m Shape,
    source: Value<'static>,
    transaction: Value<'static>,
}

impl Make<'_> {
    fn key(&self, row: Option<&Value<'static>>) -> Datum {
        let (Some(schema), Some(Value::Struct(values))) = (&self.shape.key, row) else {
            return Datum::default();
        };
        let pick = |index: &usize| values.get(*index).cloned().unwrap_or_default();
        let picked = self.shape.key_columns.iter().map(pick).collect();
        Datum::new(Arc::clone(schema), Value::Struct(picked))
    }

    fn envelope(&self, op: Op, before: Value<'static>, after: Value<'static>) -> Datum {
        let clock = &self.scene.clock;
        let values = vec![
            before,
            after,
            self.source.clone(),
            self.transaction.clone(),
            Value::text(op.as_str()),
            Value::Int(clock.ms()),
            Value::Int(clock.us()),
            Value::Int(clock.ns),
        ];
        Datum::new(Arc::clone(&self.shape.envelope), Value::Struct(values))
    }

    fn record(&self, key: Datum, value: Datum, moved: Option<(&str, Datum)>) -> Record {
        let header = |(name, datum): (&str, Datum)| Header { name: name.into(), datum };
        let context = self.scene.options.context_texts.iter();
        let context = context.map(|(name, text)| header((name, Datum::text(text))));
        Record {
            topic: Arc::clone(&self.shape.topic),
            key,
            value,
            headers: moved.map(header).into_iter().chain(context).collect(),
            ..Record::default()
        }
    }

    fn plain(
        &self,
        op: Op,
        before: Option<Value<'static>>,
        after: Option<Value<'static>>,
    ) -> Vec<Record> {
        let key = self.key(match op {
            Op::Truncate => None,
            Op::Delete => before.as_ref(),
            _ => after.as_ref(),
        });
        let has_before = matches!(op, Op::Update | Op::Delete);
        let has_after = matches!(op, Op::Read | Op::Create | Op::Update);
        let value = self.envelope(
            op,
            before.filter(|_| has_before).unwrap_or_default(),
            after.filter(|_| has_after).unwrap_or_default(),
        );
        let mut records = vec![self.record(key.clone(), value, None)];
        // Without a key there is nothing that compaction could forget.
        if op == Op::Delete && self.scene.options.tombstones && key.schema.is_some() {
            records.push(self.record(key, Datum::default(), None));
        }
        records
    }

    /// An envelope whose first members are the columns themselves.
    fn document(&self, op: Op, members: &[usize], after: Option<Value<'static>>) -> Vec<Record> {
        let key = self.key(after.as_ref());
        let columns = match after {
            Some(Value::Struct(columns)) => columns,
            _ => Vec::new(),
        };
        let mut values: Vec<Value<'static>> =
            members.iter().map(|at| columns.get(*at).cloned().unwrap_or_default()).collect();
        values.extend([
            self.source.clone(),
            Value::text(op.as_str()),
            Value::Int(self.scene.clock.ms()),
            self.transaction.clone(),
        ]);
        let value = Datum::new(Arc::clone(&self.shape.envelope), Value::Struct(values));
        let mut records = vec![self.record(key.clone(), value, None)];
        if op == Op::Delete && self.scene.options.tombstones && key.schema.is_some() {
            records.push(self.record(key, Datum::default(), None));
        }
        records
    }

    fn moved(&self, before: Option<Value<'static>>, after: Option<Value<'static>>) -> Vec<Record> {
        let (old, new) = (self.key(before.as_ref()), self.key(after.as_ref()));
        let to_new = Some(("__debezium.newkey", new.clone()));
        let deleted = self.envelope(Op::Delete, before.unwrap_or_default(), Value::Null);
        let mut records = vec![self.record(old.clone(), deleted, to_new.clone())];
        if self.scene.options.tombstones {
            records.push(self.record(old.clone(), Datum::default(), to_new));
        }
        let created = self.envelope(Op::Create, Value::Null, after.unwrap_or_default());
        records.push(self.record(new, created, Some(("__debezium.oldkey", old))));
        records
    }
}
