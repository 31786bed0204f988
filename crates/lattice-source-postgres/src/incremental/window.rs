//! Between two watermarks: which of a chunk's rows are to become events.
//!
//! The chunk's transaction saw a state of the table somewhere between the watermarks. A row that the
//! stream told of in between is in the chunk as it was before that change, or after it: the
//! chunk's transaction knows which changes it saw. A row that is older than what the stream said is
//! left out. If the stream said it without the large values that the change did not touch, the
//! chunk may hold their only copy: then it is read again.

use std::collections::{HashMap, HashSet};

use lattice_core::event::TableSchema;

use super::Chunk;
use crate::{
    protocol::pgoutput::Relation,
    row::{Field, fields},
};

/// Rows that are noted at most; a chunk with more changes beside it is read again.
const MOST_ROWS: usize = 100_000;

/// Which transactions a snapshot sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visible {
    /// The first that had not begun. The lower 32 bits of an id.
    xmax: u32,
    /// Those that had begun and not ended.
    running: HashSet<u32>,
}

impl Visible {
    /// Of `pg_current_snapshot()`'s text, `xmin:xmax:running,…`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':').skip(1);
        // Only the lower half of an id stands in the stream.
        let low = |id: &str| Some((id.parse::<u64>().ok()? & u64::from(u32::MAX)) as u32);
        let xmax = low(parts.next()?)?;
        let running = parts.next()?.split(',').filter(|id| !id.is_empty());
        Some(Self { xmax, running: running.map(low).collect::<Option<_>>()? })
    }

    /// Whether a committed transaction is seen.
    fn sees(&self, xid: u32) -> bool {
        // Ids go round: the half of their range before xmax is its past.
        xid.wrapping_sub(self.xmax).cast_signed() < 0 && !self.running.contains(&xid)
    }
}

/// The last that the stream said about a row.
#[derive(Debug, Clone, Copy)]
struct Told {
    xid: u32,
    /// Without values that were not touched.
    holes: bool,
}

/// What came between the watermarks.
#[derive(Debug)]
pub(super) struct Window {
    /// Transactions that came before it.
    before: Vec<u32>,
    rows: HashMap<Box<[u8]>, Told>,
    disturbed: bool,
}

/// What becomes of a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// These rows of it become events.
    Keep(Vec<usize>),
    /// It is read again.
    Again,
}

impl Window {
    pub(super) fn open(before: Vec<u32>) -> Self {
        Self { before, rows: HashMap::new(), disturbed: false }
    }

    /// The chunk cannot be judged: it is read again.
    pub(super) fn disturb(&mut self) {
        self.disturbed = true;
    }

    pub(super) fn note(
        &mut self,
        schema: &TableSchema,
        relation: &Relation,
        xid: u32,
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) {
        let places: Option<Vec<usize>> = schema
            .key
            .iter()
            .map(|at| {
                let name = &*schema.columns.get(*at)?.name;
                relation.columns.iter().position(|column| column.name == name)
            })
            .collect();
        let Some(places) = places else { return self.disturb() };
        let holes = new.is_some_and(|row| {
            fields(row).is_ok_and(|fields| fields.iter().any(|f| matches!(f, Field::Unchanged)))
        });
        for row in [old, new].into_iter().flatten() {
            match key_of(row, &places) {
                Some(key) => {
                    self.rows.insert(key, Told { xid, holes });
                }
                None => self.disturb(),
            }
        }
        if self.rows.len() > MOST_ROWS {
            self.rows.clear();
            self.disturb();
        }
    }

    pub(super) fn judge(&self, chunk: &Chunk) -> Verdict {
        // A commit comes in the stream before others see it. The chunk would bring back what was
        // before such a change.
        let overtaken = self.before.iter().any(|xid| !chunk.visible.sees(*xid));
        if self.disturbed || overtaken {
            return Verdict::Again;
        }
        let mut kept = Vec::with_capacity(chunk.keys.len());
        for (at, key) in chunk.keys.iter().enumerate() {
            match self.rows.get(key) {
                Some(told) if !chunk.visible.sees(told.xid) => {
                    if told.holes {
                        return Verdict::Again;
                    }
                }
                _ => kept.push(at),
            }
        }
        Verdict::Keep(kept)
    }
}

/// The key's columns of a row, in a form in which equal means equal; `None`: not all are there.
pub(super) fn key_of(row: &[u8], places: &[usize]) -> Option<Box<[u8]>> {
    let fields = fields(row).ok()?;
    let mut key = Vec::new();
    for place in places {
        let Field::Text(text) = fields.get(*place)? else { return None };
        key.extend_from_slice(&(text.len() as u64).to_le_bytes());
        key.extend_from_slice(text);
    }
    Some(key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_sees_what_had_ended() {
        let visible = Visible::parse("10:15:11,13").unwrap();
        let seen: Vec<u32> = (8..18).filter(|xid| visible.sees(*xid)).collect();
        assert_eq!(seen, [8, 9, 10, 12, 14]);
        // The counter has gone round once: 4294967300 is 4.
        let visible = Visible::parse("4294967290:4294967300:4294967299").unwrap();
        assert!(visible.sees(u32::MAX) && visible.sees(2));
        assert!(!visible.sees(3) && !visible.sees(4) && !visible.sees(5));
        assert_eq!(Visible::parse("nonsense"), None);
    }
}
