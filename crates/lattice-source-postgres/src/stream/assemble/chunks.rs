//! What an incremental snapshot reads beside the stream, put in its place.

use std::sync::{Arc, atomic::Ordering};

use lattice_core::{
    Result,
    event::{ChangeEvent, Op, Origin, SnapshotMarker, SourceBatch},
};

use super::{Assembler, now_us};
use crate::{
    incremental::Signal,
    protocol::pgoutput::Tuple,
    row::{Field, fields},
};

impl Assembler {
    /// Notes a row beside which a chunk is being read.
    #[inline]
    pub(super) fn note(
        &mut self,
        relation: u32,
        payload: &[u8],
        old: Option<Tuple>,
        new: Option<Tuple>,
    ) {
        if !self.incremental.is_reading() {
            return;
        }
        let Some(Some(captured)) = self.relations.get(&relation) else { return };
        let bytes = |tuple: Option<Tuple>| tuple.and_then(|at| payload.get(at.start..at.end));
        let xid = self.offset.tx_id.unwrap_or(0);
        let rows = (bytes(old), bytes(new));
        self.incremental.row(&captured.schema, &captured.relation, xid, rows);
    }

    /// Acts on a row of the table of signals: its columns are id, type and data.
    pub(super) fn signal(&mut self, payload: &[u8], row: Tuple) {
        let fields = payload.get(row.start..row.end).and_then(|row| fields(row).ok());
        let text = |at: usize| match fields.as_ref().and_then(|fields| fields.get(at)) {
            Some(Field::Text(text)) => String::from_utf8_lossy(text),
            _ => "".into(),
        };
        let signal = Signal::parse(&text(0), &text(1), &text(2));
        self.incremental.signal(signal);
    }

    /// Lets the incremental snapshot go on.
    pub(in crate::stream) fn advance(&mut self) {
        self.incremental.advance();
    }

    /// What the incremental snapshot has read, once everything before it was taken.
    ///
    /// Errors: `Transient`.
    pub(in crate::stream) async fn chunk(&mut self) -> Result<Option<SourceBatch>> {
        self.moved = true;
        let Some((chunk, kept)) = self.incremental.finish().await? else { return Ok(None) };
        let origin = Origin {
            ts_us: now_us(),
            lsn: Some(chunk.version_lsn),
            last_commit_lsn: self.last_commit,
            snapshot: SnapshotMarker::Incremental,
            ..Origin::default()
        };
        let events = kept.iter().filter_map(|at| chunk.rows.get(*at)).map(|row| ChangeEvent {
            op: Op::Read,
            table: 0,
            before: None,
            after: Some(*row),
            origin: origin.clone(),
        });
        let events: Vec<ChangeEvent> = events.collect();
        let report = self.progress.table(&chunk.schema.id.to_string());
        report.snapshot_rows.fetch_add(events.len() as u64, Ordering::Relaxed);
        report.bytes.fetch_add(chunk.data.len() as u64, Ordering::Relaxed);
        Ok(Some(SourceBatch {
            tables: vec![chunk.schema],
            data: chunk.data,
            events,
            position: self.position(),
            info: Arc::clone(&self.info),
            notices: Vec::new(),
        }))
    }
}
