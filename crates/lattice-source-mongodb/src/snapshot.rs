//! Reads the documents that are there: several cursors at once, each through a range of `_id`s in their
//! order, so that an interrupted snapshot goes on behind the last document that was stored.
//!
//! It is not of one moment: the change stream is followed from before it, and what it shows again ends
//! as the collection is.

mod plan;
mod read;

use std::sync::{Arc, atomic::Ordering};

use lattice_core::{
    Result,
    connector::TaskContext,
    event::{ChangeEvent, Op, Origin, SnapshotMarker, SourceBatch, SourceInfo, TableSchema},
    position::Position,
    progress::{TableProgress, TableState},
};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    client::Deployment,
    config::Settings,
    discover::Found,
    info::MongoInfo,
    position::{Offset, SnapshotProgress, partition},
    row::{self, Kind},
    stream::now_us,
};
use read::{Piece, Queue, Work};

/// One collection of the snapshot.
struct Unit {
    name: String,
    schema: Arc<TableSchema>,
    progress: Arc<TableProgress>,
}

/// A running snapshot.
pub(crate) struct Snapshot {
    settings: Arc<Settings>,
    info: Arc<dyn SourceInfo>,
    offset: Offset,
    units: Vec<Unit>,
    pieces: mpsc::Receiver<Result<Piece>>,
    _readers: JoinSet<()>,
    /// Kept back until it is known whether its last document is the last of all.
    held: Option<SourceBatch>,
    /// The end was handed over.
    ended: bool,
}

impl Snapshot {
    /// Cuts collections that were not begun into ranges, and begins to read.
    ///
    /// Errors: the server's.
    pub(crate) async fn start(
        deployment: &Deployment,
        settings: &Arc<Settings>,
        context: &TaskContext,
        mut offset: Offset,
        found: Vec<Found>,
    ) -> Result<Self> {
        let mut progress = offset.snapshot.take().unwrap_or_default();
        let mut units = Vec::new();
        let mut queue = Queue::default();
        for found in found {
            let name = found.name();
            let report = context.progress.table(&name);
            report.set_state(TableState::Snapshotting);
            if !progress.0.contains_key(&name) {
                let ranges = plan::ranges(deployment, settings, &found, &report).await?;
                progress.0.insert(name.clone(), ranges);
            }
            let ranges = progress.0.get(&name).map(Vec::as_slice).unwrap_or_default();
            report.snapshot_chunks_expected.store(ranges.len() as u64, Ordering::Relaxed);
            let done = ranges.iter().filter(|range| range.done).count();
            report.snapshot_chunks.store(done as u64, Ordering::Relaxed);
            if done == ranges.len() {
                report.set_state(TableState::Streaming);
            }
            for (range, cut) in ranges.iter().enumerate().filter(|(_, range)| !range.done) {
                let unit = units.len();
                let found = found.clone();
                queue.push(Work { unit, range, found, cut: cut.clone() });
            }
            let (serialization, fields) =
                (settings.serialization, settings.fields.of(&found.database, &found.collection));
            let names = (found.database.as_str(), found.collection.as_str());
            let schema = row::table(names, Kind::Snapshot, serialization, fields);
            units.push(Unit { name, schema: Arc::new(schema), progress: report });
        }
        offset.snapshot = Some(progress);
        let mut readers = JoinSet::new();
        let pieces = read::spawn(&mut readers, deployment, settings, queue);
        let info = Arc::new(MongoInfo::new(&settings.prefix, deployment.wall_time));
        let settings = Arc::clone(settings);
        let (held, ended) = (None, false);
        Ok(Self { settings, info, offset, units, pieces, _readers: readers, held, ended })
    }

    /// The next batch; `None`: all was read, and the position after it is [`Snapshot::finished`].
    ///
    /// Cancel safety: dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<SourceBatch>> {
        if self.ended {
            return Ok(None);
        }
        while let Some(piece) = self.pieces.recv().await {
            let batch = self.batch(piece?);
            if !batch.events.is_empty()
                && let Some(before) = self.held.replace(batch)
            {
                return Ok(Some(before));
            }
        }
        self.ended = true;
        self.offset.snapshot = None;
        let mut last = self.wrap(Vec::new(), bytes::Bytes::new(), Vec::new());
        if let Some(held) = self.held.take() {
            last = SourceBatch { position: last.position, ..held };
        }
        if let Some(event) = last.events.last_mut() {
            event.origin.snapshot = SnapshotMarker::Last;
        }
        Ok(Some(last))
    }

    /// Where streaming begins.
    pub(crate) fn finished(&self) -> Offset {
        Offset { snapshot: None, ..self.offset.clone() }
    }

    fn batch(&mut self, piece: Piece) -> SourceBatch {
        let Piece { unit, range, reply, last, done } = piece;
        let origin = Origin {
            ts_us: now_us(),
            lsn: self.offset.time,
            snapshot: SnapshotMarker::True,
            ..Origin::default()
        };
        let event = |span| ChangeEvent {
            op: Op::Read,
            table: 0,
            before: None,
            after: Some(span),
            origin: origin.clone(),
        };
        let events: Vec<ChangeEvent> = reply.documents.iter().copied().map(event).collect();
        let Some(unit) = self.units.get(unit) else {
            return self.wrap(Vec::new(), bytes::Bytes::new(), Vec::new());
        };
        let SnapshotProgress(progress) = self.offset.snapshot.get_or_insert_default();
        let ranges = progress.entry(unit.name.clone()).or_default();
        if let Some(range) = ranges.get_mut(range) {
            range.last = last.or(range.last.take());
            range.done = done;
        }
        let report = &unit.progress;
        report.snapshot_rows.fetch_add(events.len() as u64, Ordering::Relaxed);
        report.bytes.fetch_add(reply.data.len() as u64, Ordering::Relaxed);
        let finished = ranges.iter().filter(|range| range.done).count();
        report.snapshot_chunks.store(finished as u64, Ordering::Relaxed);
        if finished == ranges.len() {
            report.set_state(TableState::Streaming);
        }
        self.wrap(vec![Arc::clone(&unit.schema)], reply.data, events)
    }

    fn wrap(
        &self,
        tables: Vec<Arc<TableSchema>>,
        data: bytes::Bytes,
        events: Vec<ChangeEvent>,
    ) -> SourceBatch {
        let partition = partition(&self.settings.prefix);
        SourceBatch {
            tables,
            data: if events.is_empty() { bytes::Bytes::new() } else { data },
            events,
            position: Position { partition, offset: self.offset.to_map() },
            info: Arc::clone(&self.info),
            notices: Vec::new(),
        }
    }
}
