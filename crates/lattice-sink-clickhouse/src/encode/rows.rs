//! From events to column sets: which row an event means, which set takes it, and what becomes of
//! values that the source did not send.
//!
//! Rows become columns as soon as they come; events are not kept. What must happen in order, since
//! versions cannot tell it, is a step of its own.

use std::{collections::HashSet, sync::Arc};

use lattice_core::{
    connector::Rejected,
    error::{Error, Result},
    event::{EventBatch, Op, TableSchema},
    value::Value,
};

use super::{
    open::{Context, Open, Row},
    step::{Deletes, Place, Step},
};
use crate::{
    client::literal,
    config::DeleteMode,
    schema::{Fill, Plan},
};

/// How a table's events become rows.
pub(crate) struct Rules {
    pub(crate) topic: Arc<str>,
    pub(crate) table: String,
    pub(crate) delete_mode: DeleteMode,
    /// Rows of one key replace each other in the table.
    pub(crate) replaces: bool,
    /// The newest row of a key is known by its version, in whatever order rows are inserted.
    pub(crate) versioned: bool,
    /// Records of the topic have an envelope: tombstones say nothing new.
    pub(crate) enveloped: bool,
    /// Rows of smaller versions were truncated.
    pub(crate) truncated: u64,
    /// Records that are in the table already: a table without a key does not get them again.
    pub(crate) present: HashSet<Place>,
}

/// A step that is not finished.
enum Part {
    Rows(Box<Open>),
    Delete(Deletes),
    Truncate(u64),
}

/// What is gathered for a table, in order.
#[derive(Default)]
pub(crate) struct Pile {
    parts: Vec<Part>,
    rejected: Vec<Rejected>,
    bytes_read: u64,
}

/// A pile that takes no more.
pub(crate) struct Sealed {
    pub(crate) steps: Vec<Step>,
    pub(crate) rejected: Vec<Rejected>,
    /// Values that were changed to fit.
    pub(crate) coerced: u64,
    /// Of the rows as they came. Units: bytes.
    pub(crate) bytes: u64,
}

impl Pile {
    /// Takes an event. One that cannot be a row is rejected and keeps no other from being one.
    pub(crate) fn take<'b>(
        &mut self,
        rules: &Rules,
        plan_of: impl Fn(u64) -> Option<Arc<Plan>>,
        batch: &'b EventBatch,
        at: usize,
        values: &mut Vec<Value<'b>>,
    ) {
        let Some(row) = row_of(rules, batch, at) else { return };
        if let Err(error) = self.take_row(rules, plan_of, batch, row, values) {
            self.rejected.push(Rejected {
                topic: Arc::clone(&rules.topic),
                partition: row.place.partition,
                offset: row.place.offset,
                error,
            });
        }
    }

    /// Everything before happens before the truncation.
    pub(crate) fn truncate(&mut self, version: u64) {
        self.parts.push(Part::Truncate(version));
    }

    /// Forgets what is made ready for rows like the last: they will be written otherwise.
    pub(crate) fn forget_ready(&mut self) {
        self.parts.retain(|part| !matches!(part, Part::Rows(open) if open.rows.is_empty()));
    }

    /// Whether there is nothing to write or to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.rejected.is_empty()
            && self.parts.iter().all(|part| match part {
                Part::Rows(open) => open.rows.is_empty(),
                Part::Delete(_) | Part::Truncate(_) => false,
            })
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> usize {
        let rows = |part: &Part| match part {
            Part::Rows(open) => open.rows.len(),
            Part::Delete(deletes) => deletes.tuples.len(),
            Part::Truncate(_) => 0,
        };
        self.parts.iter().map(rows).sum()
    }

    /// Memory in use. Units: bytes.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |part: &Part| match part {
            Part::Rows(open) => open.bytes(),
            Part::Delete(deletes) => deletes.tuples.iter().map(|(text, _)| text.len() + 32).sum(),
            Part::Truncate(_) => 0,
        };
        self.parts.iter().map(bytes).sum()
    }

    /// The steps; the pile is empty afterwards.
    pub(crate) fn seal(&mut self) -> Sealed {
        let mut coerced = 0;
        let mut steps = Vec::with_capacity(self.parts.len());
        // Under load the next set is like the last: its buffers need not grow step by step.
        let next = match self.parts.last() {
            Some(Part::Rows(open)) if open.is_plain() => Some(Part::Rows(Box::new(open.another()))),
            _ => None,
        };
        for part in self.parts.drain(..) {
            match part {
                Part::Rows(open) => {
                    coerced += open.coerced();
                    if !open.rows.is_empty() {
                        steps.push(Step::Rows(open.close()));
                    }
                }
                Part::Delete(deletes) => steps.push(Step::Delete(deletes)),
                Part::Truncate(version) => steps.push(Step::Truncate(version)),
            }
        }
        let (rejected, bytes) =
            (std::mem::take(&mut self.rejected), std::mem::take(&mut self.bytes_read));
        self.parts.extend(next);
        Sealed { steps, rejected, coerced, bytes }
    }

    fn take_row<'b>(
        &mut self,
        rules: &Rules,
        plan_of: impl Fn(u64) -> Option<Arc<Plan>>,
        batch: &'b EventBatch,
        row: Row<'b>,
        values: &mut Vec<Value<'b>>,
    ) -> Result<()> {
        self.bytes_read += row.bytes.len() as u64;
        let context = Context { row, batch, topic: &rules.topic };
        // Nearly every row is like the last. What is not, or cannot be, is looked at below.
        if !row.deleted
            && let Some(Part::Rows(open)) = self.parts.last_mut()
            && open.takes(row.schema.uid, &[])
            && matches!(open.push_straight(&context), Ok(true))
        {
            return Ok(());
        }
        values.clear();
        row.schema.decoder.decode(row.bytes, values)?;
        let mut whole = true;
        if row.op == Op::Update && values.iter().any(is_unchanged) {
            fill_from_before(batch, row, values)?;
            whole = !values.iter().any(is_unchanged);
        }
        if whole
            && !row.deleted
            && let Some(Part::Rows(open)) = self.parts.last_mut()
            && open.takes(row.schema.uid, &[])
        {
            return push(open, rules, &context, values);
        }
        // A row is never skipped: without a plan the write fails and is delivered again.
        let lost = || Error::fatal(format!("rows of table {} have no plan", rules.table));
        let plan = plan_of(row.schema.uid).ok_or_else(lost)?;
        let marked = !row.deleted || plan.marks_deletes() || (plan.tells_op() && !rules.replaces);
        if !marked {
            self.delete(&plan, row, values);
            return Ok(());
        }
        let holes = holes(rules, &plan, row, values);
        let open = self.set_for(rules, &plan, row, holes, values).ok_or_else(lost)?;
        push(open, rules, &context, values)
    }

    fn delete(&mut self, plan: &Plan, row: Row<'_>, values: &[Value<'_>]) {
        let tuple: Vec<_> = row.schema.key.iter().map(|at| key_literal(values.get(*at))).collect();
        let tuple = (format!("({})", tuple.join(", ")), row.version);
        match self.parts.last_mut() {
            Some(Part::Delete(deletes)) if deletes.key == plan.key => deletes.tuples.push(tuple),
            _ => {
                let (key, tuples) = (plan.key.clone(), vec![tuple]);
                self.parts.push(Part::Delete(Deletes { key, tuples }));
            }
        }
    }

    /// The set that takes a row, without changing what comes of its key.
    ///
    /// With versions, whole rows may go to any earlier set. A row with holes takes their values
    /// from what is in the table when its set is inserted: it must not go before a row with other
    /// holes of the same key. Without versions only the last set keeps the order.
    fn set_for(
        &mut self,
        rules: &Rules,
        plan: &Arc<Plan>,
        row: Row<'_>,
        holes: Vec<usize>,
        values: &[Value<'_>],
    ) -> Option<&mut Open> {
        let key = if holes.is_empty() { None } else { Some(key_bytes(row.schema, values)) };
        let mut found = None;
        for (at, part) in self.parts.iter().enumerate().rev() {
            let Part::Rows(open) = part else { break };
            if open.takes(row.schema.uid, &holes) {
                found = Some(at);
                break;
            }
            let before = key.as_ref().is_some_and(|key| open.keys.contains(key));
            if !rules.versioned || before {
                break;
            }
        }
        let at = found.unwrap_or_else(|| {
            self.parts.push(Part::Rows(Box::new(Open::new(row.schema.uid, plan, holes))));
            self.parts.len() - 1
        });
        let Some(Part::Rows(open)) = self.parts.get_mut(at) else { return None };
        open.keys.extend(key);
        Some(open)
    }
}

fn push(open: &mut Open, rules: &Rules, context: &Context<'_>, values: &[Value<'_>]) -> Result<()> {
    open.push(context, values).map_err(|(column, refusal)| {
        Error::data(format!("column {column} of table {}: {refusal}", rules.table))
            .with_remedy(remedy(rules.replaces))
    })
}

/// What helps against a refused row, and what the table has until then.
pub(crate) fn remedy(replaces: bool) -> &'static str {
    if replaces {
        "correct the value at the source, or change the column's type; until then the table keeps \
         the row as it was before this change"
    } else {
        "correct the value at the source, or change the column's type"
    }
}

/// The row that an event means for the table; `None`: none.
fn row_of<'b>(rules: &Rules, batch: &'b EventBatch, at: usize) -> Option<Row<'b>> {
    let (event, coordinate) = (batch.events.get(at)?, batch.coordinates.get(at)?);
    let place = Place { partition: coordinate.partition, offset: coordinate.offset };
    if !rules.present.is_empty() && rules.present.contains(&place) {
        return None;
    }
    let version = event.origin.lsn.unwrap_or(u64::try_from(coordinate.offset).unwrap_or(0));
    if version < rules.truncated {
        return None;
    }
    let table = batch.tables.get(event.table as usize).map(|(_, table)| &**table);
    let deleted = matches!(event.op, Op::Delete | Op::Tombstone);
    let (schema, span) = match event.op {
        Op::Read | Op::Create | Op::Update => (table?, event.after?),
        Op::Delete | Op::Tombstone => {
            let skip = rules.delete_mode == DeleteMode::Ignore
                || (event.op == Op::Tombstone && (rules.enveloped || !rules.replaces));
            if skip {
                return None;
            }
            let key = batch.keys.get(at).and_then(Option::as_deref);
            (key.or(table)?, event.before?)
        }
        Op::Truncate | Op::Message => return None,
    };
    let bytes = span.of(&batch.data);
    Some(Row { at, place, op: event.op, schema, bytes, deleted, version })
}

fn is_unchanged(value: &Value<'_>) -> bool {
    matches!(value, Value::Unchanged)
}

/// Values that the change did not touch are in the row before, if the source sent it.
fn fill_from_before<'b>(
    batch: &'b EventBatch,
    row: Row<'b>,
    values: &mut [Value<'b>],
) -> Result<()> {
    let ordinary = batch.keys.get(row.at).is_none_or(Option::is_none);
    let before = batch.events.get(row.at).and_then(|event| event.before);
    let (Some(before), true) = (before, ordinary) else { return Ok(()) };
    let mut old = Vec::new();
    row.schema.decoder.decode(before.of(&batch.data), &mut old)?;
    for (value, old) in values.iter_mut().zip(old) {
        // Sources that send only the key leave the other columns NULL in `before`.
        if is_unchanged(value) && !old.is_absent() {
            *value = old;
        }
    }
    Ok(())
}

/// Columns of the plan, and behind them its others, whose values must come from the table's
/// present row.
fn holes(rules: &Rules, plan: &Plan, row: Row<'_>, values: &[Value<'_>]) -> Vec<usize> {
    // Without a key no present row can be found.
    if plan.key.is_empty() {
        return Vec::new();
    }
    let soft = row.deleted && rules.delete_mode == DeleteMode::Soft && rules.replaces;
    let is_hole = |at: &usize| match plan.columns[*at].fill {
        Fill::Field(field) if soft => {
            !row.schema.key.contains(&field) && values.get(field).is_none_or(Value::is_absent)
        }
        Fill::Field(field) => row.op == Op::Update && values.get(field).is_some_and(is_unchanged),
        _ => false,
    };
    let others = if soft { plan.others.len() } else { 0 };
    let columns = plan.columns.len();
    (0..columns).filter(is_hole).chain(columns..columns + others).collect()
}

/// A key in a form in which equal means equal.
fn key_bytes(schema: &TableSchema, values: &[Value<'_>]) -> Box<[u8]> {
    let mut key = Vec::new();
    for at in &schema.key {
        match values.get(*at) {
            Some(Value::Int(number)) => put_part(&mut key, 1, &number.to_le_bytes()),
            Some(Value::Text(text)) => put_part(&mut key, 2, text.as_bytes()),
            Some(Value::Bytes(bytes)) => put_part(&mut key, 3, bytes.as_slice()),
            other => put_part(&mut key, 4, format!("{other:?}").as_bytes()),
        }
    }
    key.into()
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
