//! A running task: snapshot, then stream; and the caretaker beside it.

use std::sync::Arc;

use lattice_core::{
    BoxFuture, Error, ErrorKind, Result,
    connector::{SourceTask, TaskContext},
    event::{SourceBatch, SourceInfo},
    position::Position,
};
use tokio::task::JoinSet;

use crate::{
    caretaker,
    config::{Settings, SnapshotMode},
    connection::{Connection, Purpose, quote_ident},
    discover,
    info::PostgresInfo,
    position::{Offset, SnapshotProgress, format_lsn, parse_lsn},
    prepare::{self, Identity, Slot},
    snapshot::{self, Snapshot},
    stream::{self, Stream},
    tables::Tables,
};

enum Phase {
    Snapshot(Box<Snapshot>),
    /// Between the two; also after an error.
    Ready(Box<Offset>),
    Stream(Stream),
    Ended,
}

/// A task of the source.
pub(crate) struct PostgresTask {
    settings: Arc<Settings>,
    context: TaskContext,
    info: Arc<dyn SourceInfo>,
    phase: Phase,
    /// Idle until streaming starts; while a snapshot runs it keeps the exported one alive.
    replication: Option<Connection>,
    tables: Option<Tables>,
    _caretaker: JoinSet<()>,
}

/// What is to be done at a start.
struct Decision {
    /// Read a snapshot first, from this offset.
    snapshot: bool,
    offset: Offset,
    /// The exported snapshot of a new slot.
    exported: Option<String>,
}

impl PostgresTask {
    /// Opens a task. `fresh`: a person's start, not a reconnect, so that `always` means now.
    pub(crate) async fn open(
        settings: Settings,
        resume: Option<Position>,
        context: TaskContext,
        fresh: bool,
    ) -> Result<Self> {
        let settings = Arc::new(settings);
        let stored = resume.as_ref().map(Offset::parse).transpose()?;
        let mut general = Connection::open(&settings.target, Purpose::General).await?;
        prepare::check_server(&mut general).await?;
        prepare::publication(&mut general, &settings).await?;
        let mut replication = Connection::open(&settings.target, Purpose::Replication).await?;
        let identity = prepare::identify(&mut replication).await?;
        let decision =
            decide(&settings, stored, &identity, &mut general, &mut replication, fresh).await?;
        let info: Arc<dyn SourceInfo> = Arc::new(PostgresInfo::new(&settings.prefix));
        let mut tables = Tables::new(Arc::clone(&settings), Arc::clone(&context.progress));
        let phase = if decision.snapshot {
            let start = SnapshotStart { settings: &settings, context: &context, info: &info };
            start.run(general, &mut tables, decision).await?
        } else if settings.snapshot_mode == SnapshotMode::InitialOnly {
            // A restart after the end has nothing to do, which is no error.
            Phase::Ended
        } else {
            Phase::Ready(Box::new(decision.offset))
        };
        let mut tasks = JoinSet::new();
        if settings.snapshot_mode != SnapshotMode::InitialOnly {
            let (settings, progress) = (Arc::clone(&settings), Arc::clone(&context.progress));
            tasks.spawn(caretaker::run(settings, progress));
        }
        let (replication, tables) = (Some(replication), Some(tables));
        Ok(Self { settings, context, info, phase, replication, tables, _caretaker: tasks })
    }

    async fn next(&mut self) -> Result<Option<SourceBatch>> {
        loop {
            match &mut self.phase {
                Phase::Snapshot(snapshot) => {
                    if let Some(batch) = snapshot.next().await? {
                        return Ok(Some(batch));
                    }
                    let offset = snapshot.finished();
                    let ended = self.settings.snapshot_mode == SnapshotMode::InitialOnly;
                    self.phase = if ended { Phase::Ended } else { Phase::Ready(Box::new(offset)) };
                }
                Phase::Ready(offset) => {
                    let offset = Offset::clone(offset);
                    let stream = Box::pin(self.start_stream(offset)).await?;
                    self.phase = Phase::Stream(stream);
                }
                Phase::Stream(stream) => return stream.next().await.map(Some),
                Phase::Ended => return Ok(None),
            }
        }
    }

    /// Cancel safety: a start that was dropped is made again, on new connections.
    async fn start_stream(&mut self, offset: Offset) -> Result<Stream> {
        let replication = match self.replication.take() {
            Some(replication) => replication,
            None => Connection::open(&self.settings.target, Purpose::Replication).await?,
        };
        let tables = self.tables.take().unwrap_or_else(|| {
            Tables::new(Arc::clone(&self.settings), Arc::clone(&self.context.progress))
        });
        let start = stream::Start {
            settings: Arc::clone(&self.settings),
            replication,
            tables,
            offset,
            info: Arc::clone(&self.info),
            context: self.context.clone(),
        };
        Stream::start(start).await
    }
}

struct SnapshotStart<'a> {
    settings: &'a Arc<Settings>,
    context: &'a TaskContext,
    info: &'a Arc<dyn SourceInfo>,
}

impl SnapshotStart<'_> {
    async fn run(
        &self,
        mut general: Connection,
        tables: &mut Tables,
        decision: Decision,
    ) -> Result<Phase> {
        let (snapshot, holder) = match decision.exported {
            Some(exported) => (exported, None),
            None => {
                let mut holder = Connection::open(&self.settings.target, Purpose::General).await?;
                holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
                let row = holder.query_one("SELECT pg_export_snapshot()").await?;
                (row.into_iter().next().flatten().unwrap_or_default(), Some(holder))
            }
        };
        let published = discover::published(&mut general, self.settings).await?;
        if published.is_empty() {
            let text = "the publication has none of the captured tables".to_owned();
            self.context.progress.note("warning", Some(text));
        }
        let start = snapshot::Start {
            settings: Arc::clone(self.settings),
            general: &mut general,
            tables,
            published,
            snapshot,
            holder,
            offset: decision.offset,
            info: Arc::clone(self.info),
            context: self.context.clone(),
        };
        let snapshot = Box::pin(Snapshot::start(start)).await?;
        Ok(Phase::Snapshot(Box::new(snapshot)))
    }
}

/// Decides by mode, stored position and slot; makes the slot where there is none.
async fn decide(
    settings: &Settings,
    stored: Option<Offset>,
    identity: &Identity,
    general: &mut Connection,
    replication: &mut Connection,
    fresh: bool,
) -> Result<Decision> {
    let mode = settings.snapshot_mode;
    if mode == SnapshotMode::InitialOnly {
        return initial_only(stored, identity, general).await;
    }
    let slot = prepare::slot(general, &settings.slot).await?;
    if let Some(mut offset) = stored.filter(|offset| !offset.foreign_snapshot) {
        match prepare::check_position(&offset, slot.as_ref(), identity, settings) {
            Ok(()) => {
                remember(&mut offset, identity);
                let again = mode == SnapshotMode::Always && fresh && offset.snapshot.is_none();
                if again {
                    let version_lsn = slot.and_then(|slot| slot.restart_lsn).unwrap_or(0);
                    offset.snapshot =
                        Some(SnapshotProgress { version_lsn, ..SnapshotProgress::default() });
                }
                let snapshot = offset.snapshot.is_some();
                return Ok(Decision { snapshot, offset, exported: None });
            }
            Err(error) if error.kind() == ErrorKind::Fatal && settings.accept_gap => {
                tracing::warn!(error = error.chain(), "the gap is accepted");
            }
            Err(error) if error.kind() == ErrorKind::Fatal && mode == SnapshotMode::WhenNeeded => {
                tracing::warn!(
                    error = error.chain(),
                    "the position is lost; a new snapshot is taken"
                );
                if let Some(slot) = &slot {
                    // Never another client's slot that happens to have the name.
                    prepare::check_slot(slot, settings)?;
                    prepare::drop_slot(general, &settings.slot).await?;
                }
                return begin(settings, None, identity, general, replication, true).await;
            }
            Err(error) => return Err(error),
        }
        let slot = drop_lost(settings, slot, general).await?;
        return begin(settings, slot, identity, general, replication, false).await;
    }
    let slot = drop_lost(settings, slot, general).await?;
    begin(settings, slot, identity, general, replication, mode != SnapshotMode::NoData).await
}

/// A slot that can never be read again makes room for a new one; no position depends on it.
async fn drop_lost(
    settings: &Settings,
    slot: Option<Slot>,
    general: &mut Connection,
) -> Result<Option<Slot>> {
    match slot {
        Some(slot) if slot.wal_status == "lost" => {
            prepare::check_slot(&slot, settings)?;
            prepare::drop_slot(general, &settings.slot).await?;
            Ok(None)
        }
        slot => Ok(slot),
    }
}

/// A start without a position.
async fn begin(
    settings: &Settings,
    slot: Option<Slot>,
    identity: &Identity,
    general: &mut Connection,
    replication: &mut Connection,
    snapshot: bool,
) -> Result<Decision> {
    let mut exported = None;
    let (from, version_lsn) = match slot {
        Some(slot) => {
            prepare::check_slot(&slot, settings)?;
            (slot.confirmed_lsn, slot.restart_lsn)
        }
        None => {
            let new = prepare::create_slot(replication, settings).await?;
            exported = Some(new.snapshot);
            let made = prepare::slot(general, &settings.slot).await?;
            (Some(new.consistent_lsn), made.and_then(|slot| slot.restart_lsn))
        }
    };
    let from = from.ok_or_else(|| {
        Error::transient(format!("replication slot \"{}\" is not ready yet", settings.slot))
    })?;
    let mut offset = Offset { lsn: Some(from), commit_lsn: Some(from), ..Offset::default() };
    remember(&mut offset, identity);
    if snapshot {
        // Changes in flight when the slot was made have LSNs below its consistent point, and must
        // still win over the snapshot's rows: nothing decodable lies below the restart LSN.
        let version_lsn = version_lsn.unwrap_or(from);
        offset.snapshot = Some(SnapshotProgress { version_lsn, ..SnapshotProgress::default() });
    }
    Ok(Decision { snapshot, offset, exported })
}

async fn initial_only(
    stored: Option<Offset>,
    identity: &Identity,
    general: &mut Connection,
) -> Result<Decision> {
    if let Some(offset) = stored.filter(|offset| !offset.foreign_snapshot) {
        // A finished one has nothing to do but to end.
        return Ok(Decision { snapshot: offset.snapshot.is_some(), offset, exported: None });
    }
    let row = general.query_one("SELECT pg_current_wal_lsn()").await?;
    let lsn = row.first().and_then(Option::as_deref).and_then(parse_lsn).unwrap_or(0);
    let mut offset = Offset { lsn: Some(lsn), commit_lsn: Some(lsn), ..Offset::default() };
    remember(&mut offset, identity);
    offset.snapshot = Some(SnapshotProgress { version_lsn: lsn, ..SnapshotProgress::default() });
    Ok(Decision { snapshot: true, offset, exported: None })
}

fn remember(offset: &mut Offset, identity: &Identity) {
    offset.system_id = Some(identity.system_id.clone());
    offset.timeline = Some(identity.timeline);
}

impl SourceTask for PostgresTask {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<SourceBatch>>> {
        Box::pin(self.next())
    }

    fn committed<'a>(&'a mut self, position: &'a Position) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let offset = Offset::parse(position)?;
            if let (Phase::Stream(stream), Some(lsn), false) =
                (&self.phase, offset.commit_lsn, self.settings.flush_manual)
            {
                tracing::debug!(lsn = format_lsn(lsn), "the slot is confirmed");
                stream.confirm(lsn);
            }
            Ok(())
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let settings = Arc::clone(&self.settings);
            drop(self);
            if !settings.slot_drop_on_stop {
                return;
            }
            if let Err(error) = drop_at_stop(&settings).await {
                tracing::warn!(error = error.chain(), "the slot could not be dropped");
            }
        })
    }
}

async fn drop_at_stop(settings: &Settings) -> Result<()> {
    let mut general = Connection::open(&settings.target, Purpose::General).await?;
    tracing::info!(slot = quote_ident(&settings.slot), "the slot is dropped");
    prepare::drop_slot(&mut general, &settings.slot).await
}
