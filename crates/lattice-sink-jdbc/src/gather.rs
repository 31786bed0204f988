//! From events to what is to be done: which row an event means, in the bytes that its table takes.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    error::{Error, ErrorKind, Result},
    event::{EventBatch, Op as EventOp, TableSchema},
    value::Value,
};

use crate::{
    config::{KeyMode, Settings},
    layout::{self, Place},
    offsets::Stored,
    pile::{Kind, Op, Pile, Refused},
    tables::Tables,
};

/// What the target knows of the partitions that this task has taken over.
pub(crate) type Claims = HashMap<(Arc<str>, i32), Stored>;

/// Gathers events.
pub(crate) struct Gather {
    pub(crate) settings: Arc<Settings>,
    pub(crate) tables: Tables,
    pub(crate) claims: Claims,
    pub(crate) pile: Pile,
}

/// What an event is for its table.
enum Means {
    Nothing,
    Row,
    Truncate,
    /// `before` is a row, or (`true`) the record's key.
    Delete(bool),
}

impl Gather {
    /// Takes all events of a batch, whose tables are planned. Only CPU.
    pub(crate) fn take(&mut self, batch: &EventBatch) {
        let mut values = Vec::new();
        for at in 0..batch.events.len() {
            self.take_event(batch, at, &mut values);
        }
    }

    fn take_event<'b>(&mut self, batch: &'b EventBatch, at: usize, values: &mut Vec<Value<'b>>) {
        let (Some(event), Some(coordinate)) = (batch.events.get(at), batch.coordinates.get(at))
        else {
            return;
        };
        let Some(topic) = batch.topics.get(coordinate.topic as usize) else { return };
        let place = Place {
            topic: Arc::clone(topic),
            partition: coordinate.partition,
            offset: coordinate.offset,
        };
        if !self.is_new(&place, coordinate.timestamp_ms) {
            return;
        }
        self.pile.reach(topic, place.partition, place.offset, coordinate.timestamp_ms);
        let outcome = self.take_row(batch, at, &place, values);
        match outcome {
            Ok(Some(table)) => {
                let bytes = event.after.or(event.before).map_or(0, |span| u64::from(span.len));
                let count = self.pile.counts.entry(table).or_default();
                *count = (count.0 + 1, count.1 + bytes, count.2.max(event.origin.ts_us / 1000));
            }
            Ok(None) => {}
            Err(error) => self.pile.refused.push(Refused { place, error }),
        }
    }

    /// Whether a record was not written before. One that was refused then, and may not have become
    /// a dead letter, is refused again.
    fn is_new(&mut self, place: &Place, timestamp_ms: i64) -> bool {
        let Some(claim) = self.claims.get(&(Arc::clone(&place.topic), place.partition)) else {
            return true;
        };
        if place.offset >= claim.next {
            return true;
        }
        if timestamp_ms > claim.timestamp_ms && claim.timestamp_ms > i64::MIN + 1 {
            // Newer than everything that was written, so it is none of it: the topic was made anew.
            return true;
        }
        if claim.refused.contains(&place.offset) {
            let error = Error::data("the target refused it before the task was opened anew");
            self.pile.refused.push(Refused { place: place.clone(), error });
        }
        false
    }

    /// Errors: why the record cannot be written.
    fn take_row<'b>(
        &mut self,
        batch: &'b EventBatch,
        at: usize,
        place: &Place,
        values: &mut Vec<Value<'b>>,
    ) -> Result<Option<usize>> {
        let (Some(event), key) = (batch.events.get(at), batch.keys.get(at)) else {
            return Ok(None);
        };
        let key = key.and_then(Option::as_ref);
        let Some((_, structure)) = batch.tables.get(event.table as usize) else { return Ok(None) };
        let means = self.means(event.op, key.is_some());
        let of = match (&means, key) {
            (Means::Delete(true), Some(key)) => key,
            _ => structure,
        };
        let Some(table) = self.tables.of(&place.topic, structure) else { return Ok(None) };
        let (kind, span) = match means {
            Means::Nothing => return Ok(None),
            Means::Truncate => {
                self.pile.ops.push(Op {
                    kind: Kind::Truncate,
                    table,
                    layout: None,
                    start: 0,
                    length: 0,
                    key: 0,
                    place: place.clone(),
                });
                return Ok(Some(table));
            }
            Means::Row => (Kind::Row, event.after),
            Means::Delete(_) => (Kind::Delete, event.before),
        };
        let Some(span) = span else {
            if kind == Kind::Delete {
                return Err(Error::data(
                    "a delete whose row is not known: the record has neither key nor row before",
                ));
            }
            return Ok(None);
        };
        values.clear();
        of.decoder.decode(span.of(&batch.data), values)?;
        let (op, key_only) = (kind, matches!(means, Means::Delete(true)));
        self.encode(table, of, op, key_only, values, place)
    }

    fn means(&self, op: EventOp, by_key: bool) -> Means {
        match op {
            EventOp::Read | EventOp::Create | EventOp::Update => Means::Row,
            EventOp::Truncate if self.settings.truncates => Means::Truncate,
            // The key of a tombstone need not be that of the values.
            EventOp::Delete | EventOp::Tombstone
                if self.settings.deletes
                    && !(by_key && self.settings.key_mode == KeyMode::RecordValue) =>
            {
                Means::Delete(by_key)
            }
            EventOp::Truncate | EventOp::Delete | EventOp::Tombstone | EventOp::Message => {
                Means::Nothing
            }
        }
    }

    fn encode(
        &mut self,
        table: usize,
        structure: &TableSchema,
        kind: Kind,
        key_only: bool,
        values: &[Value<'_>],
        place: &Place,
    ) -> Result<Option<usize>> {
        let Some(planned) = self.tables.plan(table, structure, key_only).cloned() else {
            // Nothing can be deleted from a table that is not.
            return match kind {
                Kind::Row => Err(Error::data("its table is not known")),
                Kind::Delete | Kind::Truncate => Ok(None),
            };
        };
        let plan = match &*planned {
            Ok(plan) => plan,
            Err(error) => return Err(again(error)),
        };
        let start = self.pile.data.len();
        let count = if kind == Kind::Delete { plan.layout.keys } else { plan.layout.slots.len() };
        let policy = self.settings.out_of_range;
        let encoded = layout::encode(plan, count, values, place, policy, &mut self.pile.data)
            .map_err(|why| {
                self.pile.data.truncate(start);
                Error::data(format!("write a row to table {}: {why}", plan.layout.table.name))
                    .with_remedy("see value.out.of.range, or change the column's type")
            })?;
        let layout = match kind {
            Kind::Delete => self.tables.key_of(table, &plan.layout),
            _ if !encoded.absent.is_empty() => {
                self.tables.without(table, &plan.layout, &encoded.absent)
            }
            _ => Arc::clone(&plan.layout),
        };
        self.pile.ops.push(Op {
            kind,
            table,
            layout: Some(layout),
            start,
            length: self.pile.data.len() - start,
            key: encoded.key,
            place: place.clone(),
        });
        Ok(Some(table))
    }
}

/// The same error for another record.
fn again(error: &Error) -> Error {
    let kind = if error.kind() == ErrorKind::Schema { ErrorKind::Schema } else { ErrorKind::Data };
    let copy = Error::new(kind, error.to_string());
    match error.remedy() {
        Some(remedy) => copy.with_remedy(remedy),
        None => copy,
    }
}
