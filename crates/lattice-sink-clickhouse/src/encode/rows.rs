//! From events to column sets: which row an event means, which of a key's rows is the last, and
//! what becomes of values that the source did not send.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    connector::Rejected,
    error::{Error, Result},
    event::{EventBatch, Op, TableSchema},
    value::Value,
};

use super::{BlockColumn, builder::Builder};
use crate::{
    client::literal,
    config::DeleteMode,
    schema::{Fill, Plan},
};

/// An event among the batches of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) batch: u32,
    pub(crate) event: u32,
}

/// What a write of one table starts from.
pub(crate) struct Job {
    pub(crate) topic: Arc<str>,
    pub(crate) table: String,
    pub(crate) batches: Arc<Vec<EventBatch>>,
    /// The table's events, in order.
    pub(crate) events: Vec<Place>,
    /// Plans by the structure's uid.
    pub(crate) plans: HashMap<u64, Arc<Plan>>,
    pub(crate) delete_mode: DeleteMode,
    /// Rows of one key replace each other, and there may be several of one.
    pub(crate) reduce: bool,
    /// Rows replace each other in the table.
    pub(crate) replaces: bool,
    /// Records of the topic have an envelope: tombstones say nothing new.
    pub(crate) enveloped: bool,
    /// Rows of smaller versions were truncated.
    pub(crate) truncated: u64,
    /// Offsets that are in the table already, by partition.
    pub(crate) written: HashMap<i32, i64>,
}

/// Rows of one structure, ready to be sent.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) columns: Vec<BlockColumn>,
    pub(crate) rows: Vec<Place>,
    /// Columns whose values the source did not send: taken from the table.
    pub(crate) holes: Vec<String>,
    pub(crate) key: Vec<String>,
}

/// What came of a job's events.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) sets: Vec<Set>,
    pub(crate) rejected: Vec<Rejected>,
    /// Keys to delete by statement, as literals, where rows cannot be marked: key columns,
    /// tuple, version.
    pub(crate) deletes: Vec<(Vec<String>, String, u64)>,
    pub(crate) coerced: u64,
    pub(crate) bytes: u64,
}

/// A set under construction.
struct Open {
    uid: u64,
    plan: Arc<Plan>,
    holes: Vec<usize>,
    builders: Vec<Builder>,
    /// Columns of the plan that are sent.
    sent: Vec<usize>,
    rows: Vec<Place>,
}

/// A row whose last version waits for values of an earlier one.
struct Held<'b> {
    row: Row<'b>,
    values: Vec<Value<'b>>,
}

/// An event's row.
#[derive(Clone, Copy)]
struct Row<'b> {
    place: Place,
    op: Op,
    schema: &'b TableSchema,
    bytes: &'b [u8],
    deleted: bool,
    version: u64,
}

struct Seen {
    version: u64,
    held: Option<usize>,
}

/// Encodes a job's events.
pub(crate) fn encode(job: &Job) -> Encoded {
    let mut press = Press {
        job,
        open: Vec::new(),
        out: Encoded::default(),
        seen: HashMap::new(),
        held: Vec::new(),
    };
    let mut values = Vec::new();
    let mut key = Vec::new();
    let mut take = |place: &Place| press.take(*place, &mut values, &mut key);
    // From the end, so that the last row of a key is met first and the others are not encoded.
    if job.reduce {
        job.events.iter().rev().for_each(&mut take);
    } else {
        job.events.iter().for_each(&mut take);
    }
    press.finish()
}

struct Press<'b> {
    job: &'b Job,
    open: Vec<Open>,
    out: Encoded,
    seen: HashMap<Box<[u8]>, Seen>,
    held: Vec<Option<Held<'b>>>,
}

impl<'b> Press<'b> {
    fn take(&mut self, place: Place, values: &mut Vec<Value<'b>>, key: &mut Vec<u8>) {
        let Some(row) = self.row_of(place) else { return };
        if let Err(error) = self.take_row(row, values, key) {
            self.reject(place, error);
        }
    }

    fn reject(&mut self, place: Place, error: Error) {
        let batch = &self.job.batches[place.batch as usize];
        let Some(at) = batch.coordinates.get(place.event as usize) else { return };
        let topic = Arc::clone(&self.job.topic);
        self.out.rejected.push(Rejected {
            topic,
            partition: at.partition,
            offset: at.offset,
            error,
        });
    }

    /// The row that an event means for the table; `None`: none.
    fn row_of(&self, place: Place) -> Option<Row<'b>> {
        let job = self.job;
        let batch = job.batches.get(place.batch as usize)?;
        let at = place.event as usize;
        let (event, coordinate) = (batch.events.get(at)?, batch.coordinates.get(at)?);
        if job.written.get(&coordinate.partition).is_some_and(|last| coordinate.offset <= *last) {
            return None;
        }
        let offset = u64::try_from(coordinate.offset).unwrap_or(0);
        let version = event.origin.lsn.unwrap_or(offset);
        if version < job.truncated {
            return None;
        }
        let table = batch.tables.get(event.table as usize).map(|(_, table)| &**table);
        let deleted = matches!(event.op, Op::Delete | Op::Tombstone);
        let (schema, span) = match event.op {
            Op::Read | Op::Create | Op::Update => (table?, event.after?),
            Op::Delete | Op::Tombstone => {
                let skip = job.delete_mode == DeleteMode::Ignore
                    || (event.op == Op::Tombstone && (job.enveloped || !job.replaces));
                if skip {
                    return None;
                }
                let key = batch.keys.get(at).and_then(Option::as_deref);
                (key.or(table)?, event.before?)
            }
            Op::Truncate | Op::Message => return None,
        };
        let bytes = span.of(&batch.data);
        Some(Row { place, op: event.op, schema, bytes, deleted, version })
    }

    fn take_row(
        &mut self,
        row: Row<'b>,
        values: &mut Vec<Value<'b>>,
        key: &mut Vec<u8>,
    ) -> Result<()> {
        values.clear();
        row.schema.decoder.decode(row.bytes, values)?;
        self.out.bytes += row.bytes.len() as u64;
        let reduce = self.job.reduce && !row.schema.key.is_empty();
        if reduce {
            key.clear();
            row.schema.key.iter().for_each(|at| put_key(key, values.get(*at)));
            if let Some(seen) = self.seen.get(&**key)
                && seen.version >= row.version
            {
                let held = seen.held;
                return match held {
                    Some(held) => self.fill(held, row, values),
                    None => Ok(()),
                };
            }
        }
        let mut held = None;
        if row.op == Op::Update && values.iter().any(|value| matches!(value, Value::Unchanged)) {
            self.fill_from_before(row, values)?;
            if values.iter().any(|value| matches!(value, Value::Unchanged)) {
                if reduce {
                    held = Some(self.held.len());
                    self.held.push(Some(Held { row, values: std::mem::take(values) }));
                } else {
                    self.push(row, values)?;
                }
            } else {
                self.push(row, values)?;
            }
        } else {
            self.push(row, values)?;
        }
        if reduce {
            self.seen.insert(key.as_slice().into(), Seen { version: row.version, held });
        }
        Ok(())
    }

    /// Values that the change did not touch are in the row before, if the source sent it.
    fn fill_from_before(&self, row: Row<'b>, values: &mut [Value<'b>]) -> Result<()> {
        let batch = &self.job.batches[row.place.batch as usize];
        let at = row.place.event as usize;
        let ordinary = batch.keys.get(at).is_none_or(Option::is_none);
        let before = batch.events.get(at).and_then(|event| event.before);
        let (Some(before), true) = (before, ordinary) else { return Ok(()) };
        let mut old = Vec::new();
        row.schema.decoder.decode(before.of(&batch.data), &mut old)?;
        for (value, old) in values.iter_mut().zip(old) {
            // Sources that send only the key leave the other columns NULL in `before`.
            if matches!(value, Value::Unchanged) && !old.is_absent() {
                *value = old;
            }
        }
        Ok(())
    }

    /// Fills a later row's untouched values from this, its key's earlier row.
    fn fill(&mut self, held: usize, row: Row<'b>, values: &[Value<'b>]) -> Result<()> {
        let Some(Some(later)) = self.held.get_mut(held) else { return Ok(()) };
        if row.deleted || later.row.schema.uid != row.schema.uid {
            return Ok(());
        }
        for (hole, value) in later.values.iter_mut().zip(values) {
            if matches!(hole, Value::Unchanged) {
                *hole = value.clone();
            }
        }
        if !later.values.iter().any(|value| matches!(value, Value::Unchanged))
            && let Some(later) = self.held[held].take()
            && let Err(error) = self.push(later.row, &later.values)
        {
            self.reject(later.row.place, error);
        }
        Ok(())
    }

    /// Appends a row to its set.
    fn push(&mut self, row: Row<'b>, values: &[Value<'b>]) -> Result<()> {
        let Some(plan) = self.job.plans.get(&row.schema.uid) else {
            // A row is never skipped: without a plan the write fails and is delivered again.
            return Err(Error::fatal(format!("rows of table {} have no plan", self.job.table)));
        };
        let as_row =
            !row.deleted || plan.marks_deletes() || (plan.tells_op() && !self.job.replaces);
        if !as_row {
            let tuple: Vec<_> =
                row.schema.key.iter().map(|at| key_literal(values.get(*at))).collect();
            let tuple = format!("({})", tuple.join(", "));
            self.out.deletes.push((plan.key.clone(), tuple, row.version));
            return Ok(());
        }
        let unchanged = |at: &usize| match plan.columns[*at].fill {
            Fill::Field(field) => matches!(values.get(field), Some(Value::Unchanged)),
            _ => false,
        };
        // Without a key no present row can be found.
        let holes: Vec<usize> = if row.op == Op::Update && !plan.key.is_empty() {
            (0..plan.columns.len()).filter(unchanged).collect()
        } else {
            Vec::new()
        };
        let fits = |open: &Open| open.uid == row.schema.uid && open.holes == holes;
        let found = if self.job.replaces {
            self.open.iter().position(fits)
        } else {
            // Rows without versions are written in the order of their records, so that after a
            // crash the last one that is there tells that those before it are there, too.
            self.open.last().is_some_and(fits).then(|| self.open.len() - 1)
        };
        let at = found.unwrap_or_else(|| {
            self.open.push(Open::new(row.schema.uid, Arc::clone(plan), holes));
            self.open.len() - 1
        });
        let batch = &self.job.batches[row.place.batch as usize];
        let context = Context { row, batch, topic: &self.job.topic };
        self.open[at].push(&context, values).map_err(|(column, refusal)| {
            Error::data(format!("column {column} of table {}: {refusal}", self.job.table))
                .with_remedy("correct the value at the source, or change the column's type")
        })
    }

    fn finish(mut self) -> Encoded {
        for at in 0..self.held.len() {
            if let Some(held) = self.held[at].take()
                && let Err(error) = self.push(held.row, &held.values)
            {
                self.reject(held.row.place, error);
            }
        }
        for open in self.open.into_iter().filter(|open| !open.rows.is_empty()) {
            self.out.coerced += open.builders.iter().map(|builder| builder.coerced).sum::<u64>();
            self.out.sets.push(open.close());
        }
        self.out
    }
}

/// What fills the columns that are no fields.
struct Context<'a> {
    row: Row<'a>,
    batch: &'a EventBatch,
    topic: &'a str,
}

impl Context<'_> {
    fn value(&self, fill: Fill) -> Value<'_> {
        let at = self.row.place.event as usize;
        let coordinate = self.batch.coordinates.get(at);
        match fill {
            Fill::Field(_) => Value::Missing,
            Fill::Version => Value::Int(i64::try_from(self.row.version).unwrap_or(i64::MAX)),
            Fill::Deleted => Value::Bool(self.row.deleted),
            Fill::DeletedText => Value::text(if self.row.deleted { "true" } else { "false" }),
            Fill::Op => Value::text(if self.row.deleted { "d" } else { self.row.op.as_str() }),
            Fill::SourceMs => {
                let event = self.batch.events.get(at);
                Value::Int(event.map_or(0, |event| event.origin.ts_us.div_euclid(1000)))
            }
            Fill::Topic => Value::text(self.topic),
            Fill::Partition => {
                Value::Int(coordinate.map_or(0, |coordinate| i64::from(coordinate.partition)))
            }
            Fill::Offset => Value::Int(coordinate.map_or(0, |coordinate| coordinate.offset)),
        }
    }
}

impl Open {
    fn new(uid: u64, plan: Arc<Plan>, holes: Vec<usize>) -> Self {
        let sent: Vec<usize> = (0..plan.columns.len()).filter(|at| !holes.contains(at)).collect();
        let builders = sent.iter().map(|at| plan.columns[*at].empty.fresh()).collect();
        Self { uid, plan, holes, builders, sent, rows: Vec::new() }
    }

    fn push(
        &mut self,
        context: &Context<'_>,
        values: &[Value<'_>],
    ) -> Result<(), (String, String)> {
        for (done, (builder, at)) in self.builders.iter_mut().zip(&self.sent).enumerate() {
            let fill = self.plan.columns[*at].fill;
            let pushed = match fill {
                Fill::Field(field) => {
                    let value = values.get(field).unwrap_or(&Value::Missing);
                    // A value that the source did not send and no row has is unknown; it must not
                    // stop the rows behind it.
                    let unknown = matches!(value, Value::Unchanged);
                    if unknown {
                        builder.coerced += 1;
                    }
                    if context.row.deleted || unknown {
                        builder.push_or_default(value);
                        Ok(())
                    } else {
                        builder.push(value)
                    }
                }
                fill => builder.push(&context.value(fill)),
            };
            if let Err(refusal) = pushed {
                self.builders[..done].iter_mut().for_each(Builder::pop);
                return Err((self.plan.columns[*at].name.clone(), refusal));
            }
        }
        self.rows.push(context.row.place);
        Ok(())
    }

    fn close(self) -> Set {
        let name = |at: &usize| self.plan.columns[*at].name.clone();
        let holes = self.holes.iter().map(name).collect();
        let column = |(builder, at): (Builder, &usize)| BlockColumn {
            name: name(at),
            wire: self.plan.columns[*at].wire.clone(),
            values: builder.freeze(),
        };
        let columns = self.builders.into_iter().zip(&self.sent).map(column).collect();
        Set { columns, rows: self.rows, holes, key: self.plan.key.clone() }
    }
}

/// A key's value in a form in which equal means equal.
fn put_key(out: &mut Vec<u8>, value: Option<&Value<'_>>) {
    match value {
        Some(Value::Int(number)) => {
            out.push(1);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Some(Value::Text(text)) => put_part(out, 2, text.as_bytes()),
        Some(Value::Bytes(bytes)) => put_part(out, 3, bytes.as_slice()),
        other => put_part(out, 4, format!("{other:?}").as_bytes()),
    }
}

fn put_part(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn key_literal(value: Option<&Value<'_>>) -> String {
    match value {
        Some(Value::Int(number)) => number.to_string(),
        Some(Value::Bool(flag)) => u8::from(*flag).to_string(),
        Some(Value::Float64(number)) => number.to_string(),
        Some(Value::Float32(number)) => number.to_string(),
        Some(Value::Text(text)) => literal(text.as_str()),
        _ => "NULL".to_owned(),
    }
}
