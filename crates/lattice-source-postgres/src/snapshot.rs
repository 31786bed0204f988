//! The initial snapshot: tables cut into ranges of pages, read in parallel by `COPY` from one
//! exported snapshot, resumable range by range.
//!
//! Why the end is right after a crash, when the exported snapshot is gone: the ranges that are
//! left are read with a new snapshot, and those that were done are looked through once more for
//! rows that a transaction since the first snapshot wrote (a row may have moved into a range that
//! was done, or out of one that was not). Then the stream replays every change since the slot's
//! first position. Snapshot rows carry an LSN below all of them, so each change wins over them,
//! and a row that was deleted since is deleted again.

mod plan;
mod read;

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use lattice_core::{
    Error, Result,
    connector::TaskContext,
    event::{ChangeEvent, Op, Origin, SnapshotMarker, SourceBatch, SourceInfo, TableSchema},
    position::Position,
    progress::TableState,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};

pub use plan::Unit;

use crate::{
    config::Settings,
    connection::{Connection, quote_literal},
    discover::Published,
    position::{Offset, SnapshotProgress, partition},
    tables::Tables,
};

/// What a snapshot is started from.
pub struct Start<'a> {
    /// The configuration.
    pub settings: Arc<Settings>,
    /// For the catalog.
    pub general: &'a mut Connection,
    /// Gives schemas.
    pub tables: &'a mut Tables,
    /// Which tables.
    pub published: Vec<Published>,
    /// The exported snapshot.
    pub snapshot: String,
    /// Keeps the exported snapshot alive, when it is not the replication connection.
    pub holder: Option<Connection>,
    /// Where streaming will start, and what an earlier attempt had done.
    pub offset: Offset,
    /// The `source` block.
    pub info: Arc<dyn SourceInfo>,
    /// The task's report and budget.
    pub context: TaskContext,
}

/// A piece of a range.
struct Piece {
    unit: usize,
    data: Bytes,
    rows: Vec<lattice_core::event::Span>,
    /// The range that is complete with this piece.
    done: Option<u32>,
}

type Delivered = Result<(Piece, OwnedSemaphorePermit)>;

/// A running snapshot.
pub struct Snapshot {
    settings: Arc<Settings>,
    pieces: mpsc::Receiver<Delivered>,
    _workers: JoinSet<()>,
    _holder: Option<Connection>,
    units: Vec<Unit>,
    progress: SnapshotProgress,
    offset: Offset,
    origin: Origin,
    info: Arc<dyn SourceInfo>,
    context: TaskContext,
    /// Held back until it is known whether it is the last.
    waiting: Option<SourceBatch>,
    announced: bool,
    first: bool,
    started: Vec<Arc<str>>,
    ended: bool,
}

impl Snapshot {
    /// Plans and starts reading.
    ///
    /// Errors: the server's.
    pub async fn start(start: Start<'_>) -> Result<Self> {
        let Start { settings, general, tables, published, snapshot, holder, offset, info, context } =
            start;
        let earlier = offset.snapshot.clone();
        let version_lsn = earlier.as_ref().map_or(0, |earlier| earlier.version_lsn);
        let planned = plan::plan(general, tables, &settings, &published, earlier.as_ref()).await?;
        let moment = moment(general, &snapshot).await?;
        let xmin =
            earlier.filter(|earlier| !earlier.units.is_empty()).map_or(moment.oldest, |e| e.xmin);
        let progress = SnapshotProgress { version_lsn, xmin, units: planned.progress.clone() };
        for unit in &planned.units {
            let table = context.progress.table(&unit.table.id.to_string());
            table.set_state(TableState::Snapshotting);
            table.snapshot_rows_expected.fetch_add(unit.rows, Ordering::Relaxed);
            table.snapshot_chunks_expected.fetch_add(u64::from(unit.chunks), Ordering::Relaxed);
        }
        let (sender, pieces) = mpsc::channel(16);
        let workers = read::start(&settings, &snapshot, &planned, xmin, &context, sender).await?;
        let origin = Origin {
            ts_us: moment.now_us,
            tx_id: moment.tx_id,
            lsn: Some(version_lsn),
            snapshot: SnapshotMarker::True,
            ..Origin::default()
        };
        Ok(Self {
            settings,
            pieces,
            _workers: workers,
            _holder: holder,
            units: planned.units,
            progress,
            offset,
            origin,
            info,
            context,
            waiting: None,
            announced: false,
            first: true,
            started: Vec::new(),
            ended: false,
        })
    }

    /// The next batch; `None`: the snapshot is complete, and [`Snapshot::finished`] is where
    /// streaming starts. Cancel safety: dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<SourceBatch>> {
        if !self.announced {
            // So that the plan is durable before the first row.
            self.announced = true;
            let position = self.position();
            return Ok(Some(self.batch(Vec::new(), Bytes::new(), Vec::new(), position)));
        }
        while !self.ended {
            match self.pieces.recv().await {
                Some(piece) => {
                    let (piece, _permit) = piece?;
                    if let Some(batch) = self.take(piece) {
                        return Ok(Some(batch));
                    }
                }
                None => {
                    let missing = self
                        .progress
                        .units
                        .iter()
                        .find(|(_, unit)| unit.done.len() < unit.chunks as usize);
                    if let Some((name, _)) = missing {
                        return Err(Error::transient(format!("the snapshot of {name} broke off")));
                    }
                    self.ended = true;
                    for unit in &self.units {
                        let table = self.context.progress.table(&unit.table.id.to_string());
                        table.set_state(TableState::Streaming);
                    }
                    let mut batch = match self.waiting.take() {
                        Some(batch) => batch,
                        None => self.batch(Vec::new(), Bytes::new(), Vec::new(), self.position()),
                    };
                    if let Some(event) = batch.events.last_mut() {
                        event.origin.snapshot = SnapshotMarker::Last;
                    }
                    batch.position.offset = self.finished().to_map();
                    return Ok(Some(batch));
                }
            }
        }
        Ok(None)
    }

    /// Where streaming starts.
    #[must_use]
    pub fn finished(&self) -> Offset {
        Offset { snapshot: None, ..self.offset.clone() }
    }

    fn position(&self) -> Position {
        let offset = Offset { snapshot: Some(self.progress.clone()), ..self.offset.clone() };
        Position { partition: partition(&self.settings.prefix), offset: offset.to_map() }
    }

    fn batch(
        &self,
        tables: Vec<Arc<TableSchema>>,
        data: Bytes,
        events: Vec<ChangeEvent>,
        position: Position,
    ) -> SourceBatch {
        let info = Arc::clone(&self.info);
        SourceBatch { tables, data, events, position, info, notices: Vec::new() }
    }

    /// Takes a piece in; gives the batch before it.
    fn take(&mut self, piece: Piece) -> Option<SourceBatch> {
        let unit = self.units.get(piece.unit)?;
        let table = Arc::clone(&unit.table);
        let key = unit.key.clone();
        let report = self.context.progress.table(&table.id.to_string());
        report.snapshot_rows.fetch_add(piece.rows.len() as u64, Ordering::Relaxed);
        report.bytes.fetch_add(piece.data.len() as u64, Ordering::Relaxed);
        let mut events: Vec<ChangeEvent> = piece
            .rows
            .iter()
            .map(|row| ChangeEvent {
                op: Op::Read,
                table: 0,
                before: None,
                after: Some(*row),
                origin: self.origin.clone(),
            })
            .collect();
        if let Some(event) = events.first_mut() {
            let name = &table.id.to_string();
            if !self.started.iter().any(|started| **started == **name) {
                self.started.push(name.as_str().into());
                event.origin.snapshot = SnapshotMarker::FirstInDataCollection;
            }
            if std::mem::take(&mut self.first) {
                event.origin.snapshot = SnapshotMarker::First;
            }
        }
        if let (Some(chunk), Some(progress)) = (piece.done, self.progress.units.get_mut(&key)) {
            if !progress.done.contains(&chunk) {
                progress.done.push(chunk);
            }
            report.snapshot_chunks.fetch_add(1, Ordering::Relaxed);
            // A row that is the first of all and the last of its table is told as the first.
            if progress.done.len() >= progress.chunks as usize
                && let Some(event) = events.last_mut()
                && event.origin.snapshot != SnapshotMarker::First
            {
                event.origin.snapshot = SnapshotMarker::LastInDataCollection;
            }
        }
        let batch = self.batch(vec![table], piece.data, events, self.position());
        if batch.events.is_empty() {
            // Its position comes with the next batch, or with the end.
            return None;
        }
        self.waiting.replace(batch)
    }
}

/// The moment that a snapshot shows.
struct Moment {
    /// Units: µs since the Unix epoch.
    now_us: i64,
    /// The oldest transaction that the snapshot may not see in full.
    oldest: u64,
    /// The transaction that was begun to learn this, as events name one; none on a standby.
    tx_id: Option<u64>,
}

async fn moment(general: &mut Connection, snapshot: &str) -> Result<Moment> {
    let sql = format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT {}; \
         SELECT (extract(epoch FROM now()) * 1000000)::bigint, \
         txid_snapshot_xmin(txid_current_snapshot()), \
         CASE WHEN NOT pg_is_in_recovery() THEN txid_current() END; COMMIT",
        quote_literal(snapshot)
    );
    let row = general.query_one(&sql).await?;
    let number = |index: usize| row.get(index).and_then(Option::as_deref);
    Ok(Moment {
        now_us: number(0).and_then(|text| text.parse().ok()).unwrap_or(0),
        oldest: number(1).and_then(|text| text.parse().ok()).unwrap_or(0),
        tx_id: number(2).and_then(|text| text.parse().ok()),
    })
}

/// Room for a piece. At most the whole budget, so that one huge row passes alone.
async fn permit(budget: &Arc<Semaphore>, bytes: usize, all: usize) -> Option<OwnedSemaphorePermit> {
    let cost = u32::try_from(bytes.clamp(1, all)).unwrap_or(u32::MAX);
    Arc::clone(budget).acquire_many_owned(cost).await.ok()
}
