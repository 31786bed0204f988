//! The `source` block: most of it is the same for all events of a table in one transaction, so
//! that part is encoded once and copied.

use lattice_core::{
    event::{Origin, SourceBatch, SourceInfo, TableId},
    value::Value,
};

use super::plan::TablePlan;
use crate::writer::{Fault, Part, Pieces};

/// What the source calls itself: the block's `connector`.
pub(super) fn kind(info: &dyn SourceInfo) -> String {
    let table = TableId { database: "".into(), schema: "".into(), table: "".into() };
    let (origin, mut values) = (Origin::default(), Vec::new());
    info.values(&table, &origin, &mut values);
    let place = info.schema().field_index("connector");
    match place.and_then(|place| values.get(place)) {
        Some(Value::Text(text)) => text.as_str().to_owned(),
        _ => String::new(),
    }
}

/// One table's block. All its batches are of one source.
#[derive(Default)]
pub(super) struct SourceBlock {
    /// Whose block the pieces are.
    origin: Option<Origin>,
    pieces: Pieces,
    /// The form has no pieces.
    whole: bool,
}

impl SourceBlock {
    /// Makes the block ready for an event; `values` gets what [`SourceBlock::part`] needs.
    pub(super) fn load<'a>(
        &mut self,
        plan: &TablePlan,
        batch: &'a SourceBatch,
        table: &'a TableId,
        origin: &'a Origin,
        values: &mut Vec<Value<'a>>,
    ) -> Result<(), Fault> {
        values.clear();
        if !self.origin.as_ref().is_some_and(|known| alike(known, origin)) {
            self.origin = None;
            batch.info.values(table, origin, values);
            let gaps = batch.info.event_fields();
            self.whole =
                !plan.envelope.pieces(plan.source_member, values, gaps, &mut self.pieces)?;
            self.origin = Some(origin.clone());
            values.clear();
        }
        if self.whole {
            batch.info.values(table, origin, values);
        } else {
            batch.info.event_values(origin, values);
        }
        Ok(())
    }

    /// The envelope's member.
    pub(super) fn part<'p, 'v>(&'p self, values: &'p [Value<'v>]) -> Part<'p, 'v> {
        if self.whole { Part::Row(values) } else { Part::Pieces(&self.pieces, values) }
    }
}

/// Whether two origins differ in their LSN at most.
fn alike(one: &Origin, other: &Origin) -> bool {
    one.ts_us == other.ts_us
        && one.tx_id == other.tx_id
        && one.last_commit_lsn == other.last_commit_lsn
        && one.snapshot == other.snapshot
        && one.extra == other.extra
}
