//! A running task: snapshot, then stream.

use std::sync::Arc;

use lattice_core::{
    BoxFuture, Error, Result,
    connector::{SourceTask, TaskContext},
    event::SourceBatch,
    position::Position,
};
use mongodb::raw_batch_cursor::RawBatchCursor;

use crate::{
    client::{self, Deployment},
    config::{Settings, SnapshotMode},
    discover,
    error::{explain, is_lost},
    position::{Offset, SnapshotProgress},
    snapshot::Snapshot,
    stream::{self, Stream},
};

enum Phase {
    Snapshot(Box<Snapshot>),
    /// Between the two; also after an error.
    Ready(Offset),
    Stream(Box<Stream>),
    Ended,
}

/// A task of the source.
pub(crate) struct MongoTask {
    settings: Arc<Settings>,
    context: TaskContext,
    deployment: Deployment,
    phase: Phase,
}

impl MongoTask {
    /// Opens a task. `fresh`: a person's start, not a reconnect, so that `always` means now.
    pub(crate) async fn open(
        settings: Settings,
        resume: Option<Position>,
        context: TaskContext,
        fresh: bool,
    ) -> Result<Self> {
        let settings = Arc::new(settings);
        let stored = resume.as_ref().map(Offset::parse).transpose()?;
        let deployment = client::connect(&settings.target).await?;
        let phase = Box::pin(decide(&deployment, &settings, &context, stored, fresh)).await?;
        Ok(Self { settings, context, deployment, phase })
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
                    self.phase = if ended { Phase::Ended } else { Phase::Ready(offset) };
                }
                Phase::Ready(offset) => {
                    let offset = offset.clone();
                    let opened =
                        stream::open(&self.deployment, &self.settings, Some(&offset)).await;
                    let cursor =
                        opened.map_err(|error| explain("resume the change stream", &error))?;
                    self.phase = self.stream(offset, cursor);
                }
                Phase::Stream(stream) => return stream.next().await.map(Some),
                Phase::Ended => return Ok(None),
            }
        }
    }

    fn stream(&self, offset: Offset, cursor: RawBatchCursor) -> Phase {
        let start = stream::Start {
            deployment: self.deployment.clone(),
            settings: Arc::clone(&self.settings),
            context: self.context.clone(),
            offset,
            cursor,
        };
        Phase::Stream(Box::new(Stream::start(start)))
    }
}

/// Decides by mode and stored position, which is tried out.
async fn decide(
    deployment: &Deployment,
    settings: &Arc<Settings>,
    context: &TaskContext,
    stored: Option<Offset>,
    fresh: bool,
) -> Result<Phase> {
    let mode = settings.snapshot_mode;
    let Some(mut offset) = stored.filter(|offset| !offset.foreign_snapshot) else {
        return begin(deployment, settings, context, mode != SnapshotMode::NoData).await;
    };
    if mode == SnapshotMode::InitialOnly && offset.snapshot.is_none() {
        // A restart after the end has nothing to do, which is no error.
        return Ok(Phase::Ended);
    }
    if let Err(error) = stream::open(deployment, settings, Some(&offset)).await {
        let lost = is_lost(&error);
        let error = explain("resume the change stream from the stored position", &error);
        if lost && settings.accept_gap {
            tracing::warn!(error = error.chain(), "the gap is accepted");
            return begin(deployment, settings, context, false).await;
        }
        if lost && mode == SnapshotMode::WhenNeeded {
            tracing::warn!(error = error.chain(), "the position is lost; a new snapshot is taken");
            return begin(deployment, settings, context, true).await;
        }
        return Err(error);
    }
    if mode == SnapshotMode::Always && fresh && offset.snapshot.is_none() {
        offset.snapshot = Some(SnapshotProgress::default());
    }
    if offset.snapshot.is_some() {
        return snapshot(deployment, settings, context, offset).await;
    }
    Ok(Phase::Ready(offset))
}

/// A start without a position.
async fn begin(
    deployment: &Deployment,
    settings: &Arc<Settings>,
    context: &TaskContext,
    with_snapshot: bool,
) -> Result<Phase> {
    let mut offset = stream::now(deployment, settings).await?;
    if !with_snapshot {
        if let Some(time) = settings.start_time {
            offset = Offset { time: Some(time), ..Offset::default() };
        }
        return Ok(Phase::Ready(offset));
    }
    offset.snapshot = Some(SnapshotProgress::default());
    snapshot(deployment, settings, context, offset).await
}

async fn snapshot(
    deployment: &Deployment,
    settings: &Arc<Settings>,
    context: &TaskContext,
    offset: Offset,
) -> Result<Phase> {
    let mut found = discover::all(deployment, settings).await?;
    found.retain(|found| settings.filter.snapshots(&found.database, &found.collection));
    if found.is_empty() {
        let text = "no collection matches the lists yet; those that come later are captured";
        context.progress.note("warning", Some(text.to_owned()));
    }
    let snapshot = Snapshot::start(deployment, settings, context, offset, found).await?;
    Ok(Phase::Snapshot(Box::new(snapshot)))
}

impl SourceTask for MongoTask {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<SourceBatch>>> {
        Box::pin(self.next())
    }

    fn committed<'a>(&'a mut self, _position: &'a Position) -> BoxFuture<'a, Result<()>> {
        // The server keeps its oplog by size and time, whoever reads it.
        Box::pin(async { Ok::<(), Error>(()) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { drop(self) })
    }
}
