//! What is gathered: rows in bytes and what is to be done with them, in the order they came.

use std::{collections::BTreeMap, sync::Arc};

use lattice_core::error::Error;

use crate::layout::{Layout, Place};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Write this row.
    Row,
    /// Delete the row of this key.
    Delete,
    /// Empty the table.
    Truncate,
}

/// One thing to do.
#[derive(Debug, Clone)]
pub(crate) struct Op {
    pub(crate) kind: Kind,
    /// Index of the table in its task.
    pub(crate) table: usize,
    /// `None`: a truncation.
    pub(crate) layout: Option<Arc<Layout>>,
    /// Where the row stands in the pile's bytes.
    pub(crate) start: usize,
    pub(crate) length: usize,
    /// Bytes of the key at its start.
    pub(crate) key: usize,
    pub(crate) place: Place,
}

/// How far a partition has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) next: i64,
    /// The newest record's time. Units: ms.
    pub(crate) timestamp_ms: i64,
}

/// A record that cannot be written.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) place: Place,
    pub(crate) error: Error,
}

/// What is written in one transaction.
#[derive(Debug, Default)]
pub(crate) struct Pile {
    pub(crate) data: Vec<u8>,
    pub(crate) ops: Vec<Op>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) reached: BTreeMap<(Arc<str>, i32), Reached>,
    /// Per table: events, bytes and the newest event's time in ms.
    pub(crate) counts: BTreeMap<usize, (u64, u64, i64)>,
}

impl Pile {
    /// Whether there is nothing to do, not even an offset to move.
    pub(crate) fn is_empty(&self) -> bool {
        self.reached.is_empty() && self.refused.is_empty()
    }

    /// The bytes of an op's row.
    pub(crate) fn row(&self, op: &Op) -> &[u8] {
        self.data.get(op.start..op.start + op.length).unwrap_or_default()
    }

    /// The bytes of an op's key.
    pub(crate) fn key(&self, op: &Op) -> &[u8] {
        self.data.get(op.start..op.start + op.key).unwrap_or_default()
    }

    /// Notes that a record is taken care of.
    pub(crate) fn reach(
        &mut self,
        topic: &Arc<str>,
        partition: i32,
        offset: i64,
        timestamp_ms: i64,
    ) {
        let key = (Arc::clone(topic), partition);
        let reached =
            self.reached.entry(key).or_insert(Reached { next: 0, timestamp_ms: i64::MIN });
        reached.next = reached.next.max(offset + 1);
        reached.timestamp_ms = reached.timestamp_ms.max(timestamp_ms);
    }
}
