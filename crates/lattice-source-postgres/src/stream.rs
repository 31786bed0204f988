//! Reads the replication stream into batches, beside the task, within a budget of bytes.
//!
//! Two spawned tasks belong to a [`Stream`] and end with it: the reader, which turns the socket's
//! bytes into batches without copying a row, and the reporter, which tells the server the position
//! on its own timer, so that a log that stalls never ends the connection.

mod assemble;
mod reader;
mod report;
mod reselect;

pub(crate) use assemble::HEARTBEAT_PREFIX;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use lattice_core::{
    Error, Result,
    connector::TaskContext,
    event::{SourceBatch, SourceInfo},
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};

use crate::{
    buffers::Buffers,
    config::Settings,
    connection::{Connection, quote_ident, quote_literal},
    incremental::{self, Incremental},
    position::{Offset, format_lsn},
    tables::Tables,
};

/// Batches in the way; their bytes are bounded by the budget.
const QUEUE: usize = 64;

/// What a stream is started from.
#[derive(Debug)]
pub struct Start {
    /// The configuration.
    pub settings: Arc<Settings>,
    /// The replication connection, idle.
    pub replication: Connection,
    /// Looks up tables.
    pub tables: Tables,
    /// Where to resume.
    pub offset: Offset,
    /// The `source` block.
    pub info: Arc<dyn SourceInfo>,
    /// The task's report and budget.
    pub context: TaskContext,
}

type Delivered = Result<(SourceBatch, OwnedSemaphorePermit)>;

/// A running replication stream.
#[derive(Debug)]
pub struct Stream {
    batches: mpsc::Receiver<Delivered>,
    confirmed: Arc<AtomicU64>,
    wake: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Stream {
    /// Starts streaming.
    ///
    /// Errors: the server's.
    pub async fn start(start: Start) -> Result<Self> {
        let Start { settings, replication, tables, offset, info, context } = start;
        let from = offset.commit_lsn.unwrap_or(0);
        let messages = replication.version() >= 140_000;
        let command = command(&settings, messages, from);
        let halves = replication.start_replication(&command).await?;
        let confirmed = Arc::new(AtomicU64::new(from));
        let received = Arc::new(AtomicU64::new(from));
        let wake = Arc::new(Notify::new());
        let (sender, batches) = mpsc::channel(QUEUE);
        let budget = context.buffer_bytes.clamp(1 << 20, Semaphore::MAX_PERMITS.min(1 << 30));
        let (orders, ordered) = mpsc::channel(1);
        let (answer, answers) = mpsc::channel(1);
        let first = report::now_us().unsigned_abs();
        let report = Arc::clone(&context.progress);
        let left = offset.incremental.clone();
        let mut incremental =
            Incremental::new(orders, answers, report, left, settings.incremental_rows, first);
        if messages {
            incremental.allow();
        }
        let assembler =
            assemble::Assembler::new(&settings, tables, offset, info, &context, incremental);
        let reader = reader::Reader {
            half: halves.read,
            pace: halves.pace,
            buffer: halves.rest,
            buffers: Buffers::default(),
            at: 0,
            assembler,
            received: Arc::clone(&received),
            wake: Arc::clone(&wake),
            sender: sender.clone(),
            budget: Arc::new(Semaphore::new(budget)),
            budget_bytes: budget,
            heartbeat: settings.heartbeat,
        };
        let mut tasks = JoinSet::new();
        let progress = Arc::clone(&context.progress);
        let reading = incremental::run(Arc::clone(&settings), progress, ordered, answer);
        tasks.spawn(Box::pin(reading));
        tasks.spawn(async move {
            if let Err(error) = Box::pin(reader.run()).await {
                // The receiver may be gone; then nobody wants to know.
                let _ = sender.send(Err(error)).await;
            }
        });
        let interval = settings.status_interval;
        let (flushed, waker) = (Arc::clone(&confirmed), Arc::clone(&wake));
        tasks.spawn(report::run(halves.write, interval, received, flushed, waker));
        Ok(Self { batches, confirmed, wake, _tasks: tasks })
    }

    /// The next batch. Cancel safety: dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<SourceBatch> {
        match self.batches.recv().await {
            // The permit ends here: from now on the batch is the runtime's.
            Some(delivered) => delivered.map(|(batch, _permit)| batch),
            None => Err(Error::transient("the replication stream ended")),
        }
    }

    /// Lets the server forget what lies before `lsn`.
    pub fn confirm(&self, lsn: u64) {
        if self.confirmed.fetch_max(lsn, Ordering::AcqRel) < lsn {
            self.wake.notify_one();
        }
    }
}

fn command(settings: &Settings, messages: bool, from: u64) -> String {
    let publication = quote_literal(&quote_ident(&settings.publication));
    let messages = if messages { ", messages 'true'" } else { "" };
    format!(
        "START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', publication_names {publication}{messages})",
        quote_ident(&settings.slot),
        format_lsn(from)
    )
}
