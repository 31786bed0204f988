//! A set that still takes rows.

use std::{collections::HashSet, sync::Arc};

use lattice_core::{
    error::Result,
    event::{EventBatch, Op, RowVisitor, TableSchema},
    value::Value,
};

use super::{
    BlockColumn,
    builder::{Builder, Refusal},
    step::{Place, Set},
};
use crate::schema::{Fill, Plan};

/// An event's row.
#[derive(Clone, Copy)]
pub(super) struct Row<'b> {
    /// The event's index in its batch.
    pub(super) at: usize,
    pub(super) place: Place,
    pub(super) op: Op,
    pub(super) schema: &'b TableSchema,
    pub(super) bytes: &'b [u8],
    pub(super) deleted: bool,
    pub(super) version: u64,
}

/// What fills the columns that are no fields.
pub(super) struct Context<'a> {
    pub(super) row: Row<'a>,
    pub(super) batch: &'a EventBatch,
    pub(super) topic: &'a str,
}

impl Context<'_> {
    fn value(&self, fill: Fill) -> Value<'_> {
        match fill {
            Fill::Field(_) => Value::Missing,
            Fill::Version => Value::Int(i64::try_from(self.row.version).unwrap_or(i64::MAX)),
            Fill::Deleted => Value::Bool(self.row.deleted),
            Fill::DeletedText => Value::text(if self.row.deleted { "true" } else { "false" }),
            Fill::Op => Value::text(if self.row.deleted { "d" } else { self.row.op.as_str() }),
            Fill::SourceMs => {
                let event = self.batch.events.get(self.row.at);
                Value::Int(event.map_or(0, |event| event.origin.ts_us.div_euclid(1000)))
            }
            Fill::Topic => Value::text(self.topic),
            Fill::Partition => Value::Int(i64::from(self.row.place.partition)),
            Fill::Offset => Value::Int(self.row.place.offset),
        }
    }
}

/// A set under construction.
pub(super) struct Open {
    uid: u64,
    plan: Arc<Plan>,
    holes: Vec<usize>,
    /// What is sent: the column in the plan, what fills it, its values.
    columns: Vec<(usize, Fill, Builder)>,
    /// The columns that are no fields.
    added: Vec<usize>,
    /// The column of each field; none: no column takes it.
    of_field: Vec<Option<usize>>,
    pub(super) rows: Vec<Place>,
    /// Keys of its rows, if these have holes.
    pub(super) keys: HashSet<Box<[u8]>>,
}

impl Open {
    pub(super) fn new(uid: u64, plan: &Arc<Plan>, holes: Vec<usize>) -> Self {
        let sent = plan.columns.iter().enumerate().filter(|(at, _)| !holes.contains(at));
        let columns: Vec<_> =
            sent.map(|(at, column)| (at, column.fill, column.empty.clone())).collect();
        let (mut added, mut of_field) = (Vec::new(), Vec::new());
        for (at, (_, fill, _)) in columns.iter().enumerate() {
            match *fill {
                Fill::Field(field) => {
                    of_field.resize(of_field.len().max(field + 1), None);
                    of_field[field] = Some(at);
                }
                _ => added.push(at),
            }
        }
        let plan = Arc::clone(plan);
        let (rows, keys) = (Vec::new(), HashSet::new());
        Self { uid, plan, holes, columns, added, of_field, rows, keys }
    }

    /// An empty set of the same kind, with room for as many rows.
    pub(super) fn another(&self) -> Self {
        let column = |(at, fill, builder): &(usize, Fill, Builder)| (*at, *fill, builder.another());
        Self {
            uid: self.uid,
            plan: Arc::clone(&self.plan),
            holes: self.holes.clone(),
            columns: self.columns.iter().map(column).collect(),
            added: self.added.clone(),
            of_field: self.of_field.clone(),
            rows: Vec::with_capacity(self.rows.len() + self.rows.len() / 8),
            keys: HashSet::new(),
        }
    }

    /// Whether it is of this structure and these holes.
    #[inline]
    pub(super) fn takes(&self, uid: u64, holes: &[usize]) -> bool {
        self.uid == uid && self.holes == holes
    }

    /// Appends a row. On a refusal nothing is appended, and the column is told.
    pub(super) fn push(
        &mut self,
        context: &Context<'_>,
        values: &[Value<'_>],
    ) -> std::result::Result<(), (String, String)> {
        let deleted = context.row.deleted;
        for done in 0..self.columns.len() {
            let Some((at, fill, builder)) = self.columns.get_mut(done) else { break };
            let pushed = match *fill {
                Fill::Field(field) => {
                    let value = values.get(field).unwrap_or(&Value::Missing);
                    // A value that the source did not send and no row has is unknown; it must not
                    // stop the rows behind it.
                    let unknown = matches!(value, Value::Unchanged);
                    if unknown {
                        builder.coerced += 1;
                    }
                    if deleted || unknown {
                        builder.push_or_default(value);
                        continue;
                    }
                    builder.push(value)
                }
                fill => builder.push(&context.value(fill)),
            };
            if let Err(refusal) = pushed {
                let name = self.plan.columns.get(*at).map(|column| column.name.clone());
                self.columns[..done].iter_mut().for_each(|(_, _, builder)| builder.pop());
                return Err((name.unwrap_or_default(), refusal));
            }
        }
        self.rows.push(context.row.place);
        Ok(())
    }

    /// Appends a row as it is read, without gathering its values before. `false`: it has a value
    /// that needs more thought, or cannot be in its column; nothing is appended.
    ///
    /// Errors: bytes that are no row; nothing is appended.
    pub(super) fn push_straight(&mut self, context: &Context<'_>) -> Result<bool> {
        let mut fields = Fields { columns: &mut self.columns, of_field: &self.of_field, done: 0 };
        let row = context.row;
        let read = row.schema.decoder.visit(row.bytes, &mut fields);
        let done = fields.done;
        let mut whole = matches!(read, Ok(true));
        let mut added = 0;
        while let (true, Some(at)) = (whole, self.added.get(added)) {
            let Some((_, fill, builder)) = self.columns.get_mut(*at) else { break };
            whole = builder.push(&context.value(*fill)).is_ok();
            added += usize::from(whole);
        }
        if whole {
            self.rows.push(row.place);
            return Ok(true);
        }
        let of_fields = self.of_field.iter().take(done).flatten();
        for at in of_fields.chain(self.added.iter().take(added)) {
            if let Some((_, _, builder)) = self.columns.get_mut(*at) {
                builder.pop();
            }
        }
        read
    }

    /// Whether it has no holes.
    pub(super) fn is_plain(&self) -> bool {
        self.holes.is_empty()
    }

    /// Memory in use. Units: bytes.
    pub(super) fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(|(_, _, builder)| builder.bytes());
        columns.sum::<usize>() + self.rows.len() * size_of::<Place>()
    }

    /// Values that were changed to fit.
    pub(super) fn coerced(&self) -> u64 {
        self.columns.iter().map(|(_, _, builder)| builder.coerced).sum()
    }

    /// Ready to be sent.
    pub(super) fn close(self) -> Set {
        let (plan, count) = (&self.plan, self.plan.columns.len());
        let name = |at: &usize| match plan.columns.get(*at) {
            Some(column) => column.name.clone(),
            None => plan.others.get(*at - count).cloned().unwrap_or_default(),
        };
        let holes = self.holes.iter().map(name).collect();
        let column = |(at, _, builder): (usize, Fill, Builder)| BlockColumn {
            name: name(&at),
            wire: plan.columns.get(at).map(|column| column.wire.clone()).unwrap_or_default(),
            values: builder.freeze(),
        };
        let columns = self.columns.into_iter().map(column).collect();
        Set { columns, rows: self.rows, holes, key: self.plan.key.clone() }
    }
}

/// The columns of a row's fields, while it is read.
struct Fields<'a> {
    columns: &'a mut [(usize, Fill, Builder)],
    of_field: &'a [Option<usize>],
    /// Fields that were taken.
    done: usize,
}

impl Fields<'_> {
    #[inline]
    fn take(
        &mut self,
        push: impl FnOnce(&mut Builder) -> std::result::Result<(), Refusal>,
    ) -> bool {
        let at = self.of_field.get(self.done).copied().flatten();
        let taken = match at.and_then(|at| self.columns.get_mut(at)) {
            Some((_, _, builder)) => push(builder).is_ok(),
            None => true,
        };
        self.done += usize::from(taken);
        taken
    }
}

impl RowVisitor for Fields<'_> {
    fn null(&mut self) -> bool {
        self.take(|builder| builder.push(&Value::Null))
    }

    fn int(&mut self, value: i64) -> bool {
        self.take(|builder| builder.push_int(value))
    }

    fn text(&mut self, value: &[u8]) -> bool {
        self.take(|builder| builder.push_text(value))
    }

    fn bytes(&mut self, value: &[u8]) -> bool {
        self.take(|builder| builder.push_bytes(value))
    }

    fn value(&mut self, value: &Value<'_>) -> bool {
        !matches!(value, Value::Unchanged) && self.take(|builder| builder.push(value))
    }
}
