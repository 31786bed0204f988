//! Source batches → records.

mod plan;
mod rows;
mod source;
mod staged;
mod unfolded;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use lattice_core::{
    error::{Error, Result},
    event::{ChangeEvent, NoticeKind, Op, SourceBatch, TableId},
    record::{Header, RecordRef, RecordSink, TopicHandle},
    value::Value,
};
use lattice_registry::SchemaRegistry;
use lattice_transform::Chain;

use crate::{
    options::EncoderOptions,
    writer::{Fault, Part},
};
use plan::{Messages, NoticePlan, TablePlan};
use rows::{Clock, Rows, Transactions};
use source::SourceBlock;
use staged::Staging;

/// An event that could not be encoded. One may go on from the next.
#[derive(Debug)]
pub struct EncodeError {
    /// Its index in the batch.
    pub event: usize,
    /// Why: kind `Data`, or `Fatal` for an event of a table that was not prepared.
    pub error: Error,
    /// The class of the transformation that could not treat it; `None`: it is the converter.
    pub transform: Option<&'static str>,
}

impl EncodeError {
    fn converter(event: usize, error: Error) -> Self {
        Self { event, error, transform: None }
    }
}

/// Turns a source's batches into records: [`Encoder::prepare`] for what needs the registry, then
/// [`Encoder::encode`], which is CPU only.
pub struct Encoder {
    options: EncoderOptions,
    registry: Arc<dyn SchemaRegistry>,
    by_uid: HashMap<u64, usize>,
    plans: Vec<TablePlan>,
    topics: HashMap<String, TableId>,
    messages: Option<Messages>,
    notices: Vec<NoticePlan>,
    transactions: Transactions,
    scratch: Scratch,
    /// Whether the headers tell the kind of source.
    named: bool,
    /// With transformations, records go another way.
    staging: Option<Staging>,
}

/// Buffers that are used again for every record.
#[derive(Default)]
struct Scratch {
    key: Vec<u8>,
    value: Vec<u8>,
    other_key: Vec<u8>,
    /// By plan.
    sources: Vec<SourceBlock>,
}

/// Larger buffers are given back after a call: one huge row must not be paid for for ever.
/// Units: bytes.
const KEPT_BYTES: usize = 4 << 20;

impl Scratch {
    fn shrink(&mut self) {
        for buffer in [&mut self.key, &mut self.value, &mut self.other_key] {
            if buffer.capacity() > KEPT_BYTES {
                *buffer = Vec::new();
            }
        }
    }
}

/// One call's state.
struct Call<'a, 's> {
    batch: &'a SourceBatch,
    sink: &'s mut dyn RecordSink,
    clock: Clock,
    headers: Vec<Header<'s>>,
    /// Plan and topic of each of the batch's tables, once it was met.
    tables: Vec<Option<(usize, TopicHandle)>>,
    rows: Rows<'a>,
}

impl Encoder {
    /// An encoder for one task.
    #[must_use]
    pub fn new(options: EncoderOptions, registry: Arc<dyn SchemaRegistry>) -> Self {
        Self {
            options,
            registry,
            by_uid: HashMap::new(),
            plans: Vec::new(),
            topics: HashMap::new(),
            messages: None,
            notices: Vec::new(),
            transactions: Transactions::default(),
            scratch: Scratch::default(),
            named: false,
            staging: None,
        }
    }

    /// The same, with transformations between events and converters.
    #[must_use]
    pub fn with_transforms(mut self, chain: Chain) -> Self {
        self.staging = (!chain.is_empty()).then(|| Staging::new(chain));
        self
    }

    /// Makes and registers the schemas of tables that were not seen before.
    ///
    /// With transformations, they are applied here, since what they give decides which schemas
    /// are registered.
    ///
    /// Errors: `Schema` for names that collide and for incompatible changes; the registry's own.
    pub async fn prepare(&mut self, batch: &SourceBatch) -> Result<()> {
        if !self.named {
            self.options.name_connector(&source::kind(&*batch.info));
            self.named = true;
        }
        if let Some(staging) = &mut self.staging {
            return staging.prepare(&self.options, &self.registry, batch).await;
        }
        for table in &batch.tables {
            if self.by_uid.contains_key(&table.uid) {
                continue;
            }
            let topic = self.options.topics.table(&table.id);
            match self.topics.get(&topic) {
                Some(other) if *other != table.id => {
                    return Err(same_topic(other, &table.id, &topic));
                }
                _ => {}
            }
            let source = batch.info.schema();
            let index = self.plans.len();
            let plan =
                TablePlan::make(&self.options, table, (&topic, index), source, &self.registry)
                    .await?;
            self.topics.insert(topic, table.id.clone());
            self.by_uid.insert(table.uid, index);
            self.plans.push(plan);
        }
        if self.messages.is_none() && batch.events.iter().any(|event| event.op == Op::Message) {
            let source = batch.info.schema();
            self.messages = Some(Messages::make(&self.options, source, &self.registry).await?);
        }
        for notice in &batch.notices {
            if !self.notices.iter().any(|plan| plan.fits(notice)) {
                let plan = NoticePlan::make(&self.options, notice, &self.registry).await?;
                self.notices.push(plan);
            }
        }
        Ok(())
    }

    /// Encodes the events from `from_event` on, each with the notices before it.
    ///
    /// Errors: the first event that cannot be encoded; of its records those were appended that
    /// could be.
    pub fn encode(
        &mut self,
        batch: &SourceBatch,
        from_event: usize,
        out: &mut dyn RecordSink,
    ) -> Result<(), EncodeError> {
        if let Some(staging) = &mut self.staging {
            return staging.write(from_event, out);
        }
        let Self { options, plans, by_uid, messages, notices, transactions, scratch, .. } = self;
        let headers: Vec<Header<'_>> =
            options.context.iter().map(|(name, value)| (*name, Some(value.as_bytes()))).collect();
        let mut call = Call {
            batch,
            sink: out,
            clock: Clock::now(),
            headers,
            tables: vec![None; batch.tables.len()],
            rows: Rows::default(),
        };
        let pressed = Pressed { options, plans, by_uid, messages: messages.as_ref(), notices };
        let mut pending = batch.notices.iter().filter(|notice| notice.before_event >= from_event);
        let mut next = pending.next();
        for (index, event) in batch.events.iter().enumerate().skip(from_event) {
            while let Some(notice) = next.filter(|notice| notice.before_event <= index) {
                pressed
                    .notice(&mut call, notice, scratch)
                    .map_err(|error| EncodeError::converter(index, error))?;
                next = pending.next();
            }
            pressed
                .event(&mut call, event, transactions, scratch)
                .map_err(|error| EncodeError::converter(index, error))?;
        }
        while let Some(notice) = next {
            let event = batch.events.len();
            pressed
                .notice(&mut call, notice, scratch)
                .map_err(|error| EncodeError::converter(event, error))?;
            next = pending.next();
        }
        scratch.shrink();
        Ok(())
    }
}

/// What was compiled, borrowed for one call.
struct Pressed<'e> {
    options: &'e EncoderOptions,
    plans: &'e [TablePlan],
    by_uid: &'e HashMap<u64, usize>,
    messages: Option<&'e Messages>,
    notices: &'e [NoticePlan],
}

impl Pressed<'_> {
    fn event<'a>(
        &self,
        call: &mut Call<'a, '_>,
        event: &'a ChangeEvent,
        transactions: &mut Transactions,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if self.options.skipped.contains(&event.op) || event.op == Op::Tombstone {
            return Ok(());
        }
        if event.op == Op::Message {
            return self.message(call, event, transactions, scratch);
        }
        let (plan, topic) = self.table(call, event.table)?;
        let table = &call.batch.tables[event.table as usize];
        call.rows.load(call.batch, table, event)?;
        let transaction = if self.options.transactions {
            transactions.block(event, &table.id)
        } else {
            Value::Null
        };
        let index = plan.index;
        if scratch.sources.len() <= index {
            scratch.sources.resize_with(index + 1, SourceBlock::default);
        }
        let mut source = std::mem::take(&mut scratch.sources[index]);
        let loaded = source.load(plan, call.batch, &table.id, &event.origin, &mut call.rows.source);
        let row = Row { plan, topic, transaction: &transaction, source: &source, event };
        let emitted = loaded.and_then(|()| match event.op {
            _ if plan.members.is_some() => self.document(call, &row, scratch),
            Op::Update if call.rows.key_changed(&plan.key_columns) => {
                self.moved(call, &row, scratch)
            }
            _ => self.plain(call, &row, scratch),
        });
        scratch.sources[index] = source;
        emitted.map_err(|fault| explain(&fault, plan, &table.id))
    }

    /// Plan and topic of one of the batch's tables.
    fn table<'p>(
        &'p self,
        call: &mut Call<'_, '_>,
        index: u32,
    ) -> Result<(&'p TablePlan, TopicHandle)> {
        let slot = call.tables.get_mut(index as usize);
        let Some(slot) = slot else {
            return Err(Error::fatal("an event of a table that the batch does not have"));
        };
        if let Some((plan, topic)) = slot {
            return Ok((&self.plans[*plan], *topic));
        }
        let table = &call.batch.tables[index as usize];
        let Some(plan) = self.by_uid.get(&table.uid) else {
            return Err(Error::fatal(format!("table {} was not prepared", table.id)));
        };
        let topic = call.sink.topic(&self.plans[*plan].topic);
        *slot = Some((*plan, topic));
        Ok((&self.plans[*plan], topic))
    }

    /// One envelope, and a tombstone after a delete.
    fn plain(
        &self,
        call: &mut Call<'_, '_>,
        row: &Row<'_, '_>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let Call { rows, clock, sink, headers, .. } = call;
        let op = row.event.op;
        let key_row = match op {
            Op::Truncate => None,
            Op::Delete => Some(&rows.before),
            _ => Some(&rows.after),
        };
        let key = row.key(key_row, &mut scratch.key)?;
        let before = matches!(op, Op::Update | Op::Delete) && row.event.before.is_some();
        let before = if before { Part::Row(&rows.before) } else { Part::Null };
        let after = matches!(op, Op::Read | Op::Create | Op::Update);
        let after = if after { Part::Row(&rows.after) } else { Part::Null };
        row.envelope(before, after, op, clock, &rows.source, &mut scratch.value)?;
        let record = RecordRef {
            key: key.then_some(&scratch.key),
            value: Some(&scratch.value),
            headers,
            timestamp_ms: clock.ms(),
        };
        sink.append(row.topic, None, record);
        // Without a key there is nothing that compaction could forget.
        if op == Op::Delete && self.options.tombstones && key {
            sink.append(row.topic, None, RecordRef { value: None, ..record });
        }
        Ok(())
    }

    /// An envelope whose first members are the columns themselves, and a tombstone after a delete.
    fn document(
        &self,
        call: &mut Call<'_, '_>,
        row: &Row<'_, '_>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let Call { rows, clock, sink, headers, .. } = call;
        let key = row.key(Some(&rows.after), &mut scratch.key)?;
        row.members(&rows.after, clock, &rows.source, &mut scratch.value)?;
        let record = RecordRef {
            key: key.then_some(&scratch.key),
            value: Some(&scratch.value),
            headers,
            timestamp_ms: clock.ms(),
        };
        sink.append(row.topic, None, record);
        if row.event.op == Op::Delete && self.options.tombstones && key {
            sink.append(row.topic, None, RecordRef { value: None, ..record });
        }
        Ok(())
    }

    /// A change of the key: the old key is deleted, the new one created.
    fn moved(
        &self,
        call: &mut Call<'_, '_>,
        row: &Row<'_, '_>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let Call { rows, clock, sink, headers, .. } = call;
        let (mut old_header, mut new_header) = (Vec::new(), Vec::new());
        row.key_header(&rows.before, &mut old_header)?;
        row.key_header(&rows.after, &mut new_header)?;
        row.key(Some(&rows.before), &mut scratch.other_key)?;
        row.key(Some(&rows.after), &mut scratch.key)?;
        let mut created = Vec::new();
        let after = Part::Row(&rows.after);
        row.envelope(Part::Null, after, Op::Create, clock, &rows.source, &mut created)?;
        let before = Part::Row(&rows.before);
        row.envelope(before, Part::Null, Op::Delete, clock, &rows.source, &mut scratch.value)?;
        let with = |name: &'static str, value| -> Vec<Header<'_>> {
            std::iter::once((name, Some(value))).chain(headers.iter().copied()).collect()
        };
        let to_new = with("__debezium.newkey", new_header.as_slice());
        let from_old = with("__debezium.oldkey", old_header.as_slice());
        let deleted = RecordRef {
            key: Some(&scratch.other_key),
            value: Some(&scratch.value),
            headers: &to_new,
            timestamp_ms: clock.ms(),
        };
        sink.append(row.topic, None, deleted);
        if self.options.tombstones {
            sink.append(row.topic, None, RecordRef { value: None, ..deleted });
        }
        let created = RecordRef {
            key: Some(&scratch.key),
            value: Some(&created),
            headers: &from_old,
            timestamp_ms: clock.ms(),
        };
        sink.append(row.topic, None, created);
        Ok(())
    }

    fn message<'a>(
        &self,
        call: &mut Call<'a, '_>,
        event: &'a ChangeEvent,
        transactions: &mut Transactions,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Some(messages) = self.messages else {
            return Err(Error::fatal("the schemas of messages were not prepared"));
        };
        let id = messages.table_id();
        let mut source = Vec::new();
        // The source's own table of messages knows the database.
        let table = call.batch.tables.get(event.table as usize).map_or(id, |table| &table.id);
        call.batch.info.values(table, &event.origin, &mut source);
        let transaction = if self.options.transactions && event.origin.tx_id.is_some() {
            transactions.block(event, id)
        } else {
            Value::Null
        };
        scratch.key.clear();
        scratch.value.clear();
        let text = |span: Option<lattice_core::event::Span>| {
            span.map_or(&b""[..], |span| span.of(&call.batch.data))
        };
        messages
            .write(
                text(event.before),
                text(event.after),
                [Value::Int(call.clock.ms()), Value::Struct(source), transaction],
                (&mut scratch.key, &mut scratch.value),
            )
            .map_err(|fault| Error::data(format!("encode a message: {}", fault.reason)))?;
        let topic = call.sink.topic(&messages.topic);
        let record = RecordRef {
            key: Some(&scratch.key),
            value: Some(&scratch.value),
            headers: &[],
            timestamp_ms: call.clock.ms(),
        };
        call.sink.append(topic, None, record);
        Ok(())
    }

    fn notice(
        &self,
        call: &mut Call<'_, '_>,
        notice: &lattice_core::event::Notice,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Some(plan) = self.notices.iter().find(|plan| plan.fits(notice)) else {
            return Err(Error::fatal("the schemas of a notice were not prepared"));
        };
        scratch.key.clear();
        scratch.value.clear();
        plan.write(notice, &mut scratch.key, &mut scratch.value).map_err(|fault| {
            Error::data(format!("encode a record of {}: {}", plan.topic, fault.reason))
        })?;
        let partition = (notice.kind == NoticeKind::Heartbeat).then_some(0);
        let topic = call.sink.topic(&plan.topic);
        let record = RecordRef {
            key: Some(&scratch.key),
            value: Some(&scratch.value),
            headers: &[],
            timestamp_ms: call.clock.ms(),
        };
        call.sink.append(topic, partition, record);
        Ok(())
    }
}

/// An event with what it needs to be written.
struct Row<'r, 'v> {
    plan: &'r TablePlan,
    topic: TopicHandle,
    transaction: &'r Value<'v>,
    source: &'r SourceBlock,
    event: &'r ChangeEvent,
}

impl Row<'_, '_> {
    /// Writes the key. False: there is none.
    fn key(&self, row: Option<&Vec<Value<'_>>>, out: &mut Vec<u8>) -> Result<bool, Fault> {
        out.clear();
        let (Some(row), Some(key)) = (row, &self.plan.key) else { return Ok(false) };
        key.write_picked(row, &self.plan.key_columns, out)?;
        Ok(true)
    }

    fn key_header(&self, row: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Fault> {
        match &self.plan.key_header {
            Some(header) => header.write_picked(row, &self.plan.key_columns, out),
            None => Ok(()),
        }
    }

    fn members(
        &self,
        values: &[Value<'_>],
        clock: &Clock,
        source: &[Value<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        out.clear();
        let members = self.plan.members.iter().flatten();
        let mut parts: Vec<Part<'_, '_>> =
            members.map(|at| values.get(*at).map_or(Part::Null, Part::One)).collect();
        let (op, ts_ms) = (Value::text(self.event.op.as_str()), Value::Int(clock.ms()));
        let source = self.source.part(source);
        parts.extend([source, Part::One(&op), Part::One(&ts_ms), Part::One(self.transaction)]);
        self.plan.envelope.write_parts(&parts, out)
    }

    fn envelope(
        &self,
        before: Part<'_, '_>,
        after: Part<'_, '_>,
        op: Op,
        clock: &Clock,
        source: &[Value<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        out.clear();
        let op = Value::text(op.as_str());
        self.plan.envelope.write_parts(
            &[
                before,
                after,
                self.source.part(source),
                Part::One(self.transaction),
                Part::One(&op),
                Part::One(&Value::Int(clock.ms())),
                Part::One(&Value::Int(clock.us())),
                Part::One(&Value::Int(clock.ns)),
            ],
            out,
        )
    }
}

fn same_topic(one: &TableId, other: &TableId, topic: &str) -> Error {
    Error::schema(format!("tables {one} and {other} both have the topic \"{topic}\"")).with_remedy(
        "set \"topic.naming.strategy\": \"io.debezium.schema.SchemaUnicodeTopicNamingStrategy\", or \
         leave one of the tables out by \"table.exclude.list\"",
    )
}

fn explain(fault: &Fault, plan: &TablePlan, table: &TableId) -> Error {
    let column = fault.column.and_then(|column| plan.columns.get(column));
    let place = match column {
        Some(column) => format!("column \"{column}\" of table {table}"),
        None => format!("a row of table {table}"),
    };
    Error::data(format!("encode {place}: {}", fault.reason))
}

impl Clock {
    fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { ns: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX) }
    }
}
