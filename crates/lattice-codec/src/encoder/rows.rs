//! What one event is encoded from: its rows' values, the clock, its place in its transaction.

use std::collections::HashMap;

use lattice_core::{
    error::{Error, Result},
    event::{ChangeEvent, Layout, Op, SnapshotMarker, SourceBatch, TableId, TableSchema},
    value::{Text, Value},
};

/// One reading of the clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    pub(super) ns: i64,
}

impl Clock {
    pub(super) fn ms(self) -> i64 {
        self.ns / 1_000_000
    }

    pub(super) fn us(self) -> i64 {
        self.ns / 1000
    }
}

/// The values of an event's rows. The vectors are used again for every event.
#[derive(Default)]
pub(super) struct Rows<'a> {
    pub(super) before: Vec<Value<'a>>,
    pub(super) after: Vec<Value<'a>>,
    pub(super) source: Vec<Value<'a>>,
}

impl<'a> Rows<'a> {
    /// Decodes the rows, each once, and takes unchanged values from the row before.
    pub(super) fn load(
        &mut self,
        batch: &'a SourceBatch,
        table: &'a TableSchema,
        event: &ChangeEvent,
    ) -> Result<()> {
        self.before.clear();
        self.after.clear();
        if let Some(span) = event.before {
            table.decoder.decode(span.of(&batch.data), &mut self.before)?;
            check(table, &self.before)?;
        }
        if let Some(span) = event.after {
            table.decoder.decode(span.of(&batch.data), &mut self.after)?;
            check(table, &self.after)?;
        }
        let missing = match event.op {
            _ if table.layout == Layout::Members => event.after.is_none().then_some("after"),
            Op::Read | Op::Create | Op::Update => event.after.is_none().then_some("after"),
            Op::Delete => event.before.is_none().then_some("before"),
            Op::Truncate | Op::Message | Op::Tombstone => None,
        };
        if let Some(side) = missing {
            return Err(Error::data(format!(
                "a change of table {} without its row {side}",
                table.id
            ))
            .with_remedy("give the table a primary key or REPLICA IDENTITY FULL"));
        }
        for (before, after) in self.before.iter().zip(&mut self.after) {
            if matches!(after, Value::Unchanged)
                && !matches!(before, Value::Missing | Value::Unchanged)
            {
                *after = before.clone();
            }
        }
        Ok(())
    }

    /// Whether the row before is known to have another key than the row after.
    pub(super) fn key_changed(&self, key: &[usize]) -> bool {
        key.iter().any(|column| match (self.before.get(*column), self.after.get(*column)) {
            (Some(before), Some(after)) => {
                !matches!(before, Value::Missing | Value::Unchanged)
                    && !matches!(after, Value::Missing | Value::Unchanged)
                    && before != after
            }
            _ => false,
        })
    }
}

fn check(table: &TableSchema, values: &[Value<'_>]) -> Result<()> {
    if values.len() == table.columns.len() {
        return Ok(());
    }
    Err(Error::fatal(format!(
        "a row of table {} was read as {} values, it has {} columns",
        table.id,
        values.len(),
        table.columns.len()
    )))
}

/// Counts events inside of the current transaction, for `provide.transaction.metadata`.
#[derive(Default)]
pub(super) struct Transactions {
    current: Option<u64>,
    total: i64,
    by_table: HashMap<TableId, i64>,
}

impl Transactions {
    /// The event's `transaction` block; NULL for snapshot rows.
    pub(super) fn block(&mut self, event: &ChangeEvent, table: &TableId) -> Value<'static> {
        let origin = &event.origin;
        let Some(tx_id) = origin.tx_id.filter(|_| origin.snapshot == SnapshotMarker::False) else {
            return Value::Null;
        };
        if self.current != Some(tx_id) {
            self.current = Some(tx_id);
            self.total = 0;
            self.by_table.clear();
        }
        self.total += 1;
        let order = match self.by_table.get_mut(table) {
            Some(order) => order,
            None => self.by_table.entry(table.clone()).or_default(),
        };
        *order += 1;
        let id = match origin.lsn {
            Some(lsn) => format!("{tx_id}:{lsn}"),
            None => tx_id.to_string(),
        };
        let order = *order;
        Value::Struct(vec![Value::Text(Text::owned(id)), Value::Int(self.total), Value::Int(order)])
    }
}
