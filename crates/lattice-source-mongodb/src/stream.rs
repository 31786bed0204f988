//! Reads the change stream into batches. A spawned reader keeps one answer ahead of the task, so that the
//! server works while the log writes; it ends with the [`Stream`].

mod assemble;
mod event;

use std::sync::Arc;

use futures_util::StreamExt;
use lattice_core::{Error, Result, connector::TaskContext, event::SourceBatch};
use mongodb::{
    bson::Document, error::Error as DriverError, options::ReadConcern,
    raw_batch_cursor::RawBatchCursor,
};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    client::Deployment,
    config::{Scope, Settings},
    error::explain,
    pipeline,
    position::Offset,
    reply::Reply,
};
use assemble::Assembler;
pub(crate) use assemble::now_us;

/// What is said of a failure here.
pub(crate) const READING: &str = "read the change stream";

/// Opens the change stream at a position; without one: from now, or from `capture.start.op.time`.
pub(crate) async fn open(
    deployment: &Deployment,
    settings: &Settings,
    resume: Option<&Offset>,
) -> Result<RawBatchCursor, DriverError> {
    let stages = pipeline::stages(settings, resume);
    let client = &deployment.client;
    let majority = ReadConcern::majority();
    match &settings.scope {
        Scope::Deployment | Scope::Database(_) => {
            let name = match &settings.scope {
                Scope::Database(name) => name.as_str(),
                _ => "admin",
            };
            let database = client.database(name);
            let mut call = database.aggregate(stages).read_concern(majority);
            if let Some(wait) = settings.max_await {
                call = call.max_await_time(wait);
            }
            call.batch().await
        }
        Scope::Collection(database, collection) => {
            let collection = client.database(database).collection::<Document>(collection);
            let mut call = collection.aggregate(stages).read_concern(majority);
            if let Some(wait) = settings.max_await {
                call = call.max_await_time(wait);
            }
            call.batch().await
        }
    }
}

/// The position of now, from a change stream that is opened for it.
///
/// Errors: the server's.
pub(crate) async fn now(deployment: &Deployment, settings: &Settings) -> Result<Offset> {
    let error = |error: DriverError| explain("open the change stream", &error);
    let mut cursor = open(deployment, settings, None).await.map_err(error)?;
    let first = cursor.next().await.transpose().map_err(error)?;
    let reply = first.map(Reply::read).transpose()?;
    let (token, time) = reply.map_or((None, None), |reply| (reply.token, reply.time));
    if token.is_none() && time.is_none() {
        return Err(Error::config("the server gives no position to resume from")
            .with_remedy("MongoDB 4.2 or later is needed"));
    }
    Ok(Offset { time, token, ..Offset::default() })
}

/// What a stream is started from.
pub(crate) struct Start {
    pub(crate) deployment: Deployment,
    pub(crate) settings: Arc<Settings>,
    pub(crate) context: TaskContext,
    pub(crate) offset: Offset,
    pub(crate) cursor: RawBatchCursor,
}

/// A running change stream.
pub(crate) struct Stream {
    deployment: Deployment,
    settings: Arc<Settings>,
    replies: mpsc::Receiver<Result<Reply>>,
    assembler: Assembler,
    reader: JoinSet<()>,
}

impl Stream {
    pub(crate) fn start(start: Start) -> Self {
        let Start { deployment, settings, context, offset, cursor } = start;
        let assembler = Assembler::new(&settings, deployment.wall_time, &context, offset);
        let mut reader = JoinSet::new();
        let replies = spawn(&mut reader, cursor);
        Self { deployment, settings, replies, assembler, reader }
    }

    /// The next batch. Cancel safety: dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<SourceBatch> {
        loop {
            match self.replies.recv().await {
                Some(reply) => {
                    if let Some(batch) = self.assembler.batch(reply?)? {
                        return Ok(batch);
                    }
                }
                None => self.reopen().await?,
            }
        }
    }

    /// The server ends a stream after an invalidation; the next one begins behind it.
    async fn reopen(&mut self) -> Result<()> {
        if !self.assembler.invalidated() {
            return Err(Error::transient("the server has closed the change stream"));
        }
        let opened = open(&self.deployment, &self.settings, Some(self.assembler.offset())).await;
        let cursor = opened.map_err(|error| explain("open the change stream again", &error))?;
        self.reader = JoinSet::new();
        self.replies = spawn(&mut self.reader, cursor);
        self.assembler.reopened();
        Ok(())
    }
}

fn spawn(reader: &mut JoinSet<()>, mut cursor: RawBatchCursor) -> mpsc::Receiver<Result<Reply>> {
    // An answer has at most 16 MB and a bit: one waits here, one is in the task's hands.
    let (sender, replies) = mpsc::channel(1);
    reader.spawn(async move {
        while let Some(batch) = cursor.next().await {
            let reply = match batch {
                Ok(batch) => Reply::read(batch),
                Err(error) => Err(explain(READING, &error)),
            };
            let failed = reply.is_err();
            if sender.send(reply).await.is_err() || failed {
                return;
            }
        }
    });
    replies
}
