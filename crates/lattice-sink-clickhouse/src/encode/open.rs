//! A set that still takes rows.

use std::{collections::HashSet, sync::Arc};

use lattice_core::{
    event::{EventBatch, Op, TableSchema},
    value::Value,
};

use super::{
    BlockColumn,
    builder::Builder,
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
    pub(super) rows: Vec<Place>,
    /// Keys of its rows, if these have holes.
    pub(super) keys: HashSet<Box<[u8]>>,
}

impl Open {
    pub(super) fn new(uid: u64, plan: &Arc<Plan>, holes: Vec<usize>) -> Self {
        let sent = plan.columns.iter().enumerate().filter(|(at, _)| !holes.contains(at));
        let columns = sent.map(|(at, column)| (at, column.fill, column.empty.clone())).collect();
        let plan = Arc::clone(plan);
        Self { uid, plan, holes, columns, rows: Vec::new(), keys: HashSet::new() }
    }

    /// An empty set of the same kind, with room for as many rows.
    pub(super) fn another(&self) -> Self {
        let column = |(at, fill, builder): &(usize, Fill, Builder)| (*at, *fill, builder.another());
        Self {
            uid: self.uid,
            plan: Arc::clone(&self.plan),
            holes: self.holes.clone(),
            columns: self.columns.iter().map(column).collect(),
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
    ) -> Result<(), (String, String)> {
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
