//! A running sink task: gathers batches, and writes them while the next are gathered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use lattice_core::{
    BoxFuture,
    connector::{Rejected, SinkTask, TaskConfig, TaskContext, WriteStatus},
    error::{Error, Result},
    event::EventBatch,
};
use tokio::task::JoinHandle;

use crate::{
    client::Client,
    config::Settings,
    insert,
    profile::Profile,
    write::{Context, Writer},
};

/// Work on fewer bytes than these takes well under half a millisecond and is not worth another
/// thread.
const INLINE_BYTES: usize = 32 << 10;

/// Rows whose records are older than this are a backlog.
const BACKLOG_MS: i64 = 5_000;

/// How long rows of a backlog wait for others at most while more keep coming: they are late anyhow,
/// and fewer, larger parts are less work for the server.
const BACKLOG_LATENCY: Duration = Duration::from_secs(1);

/// When no more came for so long, a backlog has come to its end.
const BACKLOG_PAUSE: Duration = Duration::from_millis(20);

/// A running task.
pub(crate) struct Task {
    context: Arc<Context>,
    max_rows: usize,
    max_bytes: usize,
    /// `None`: it was lost on the way; the task must be opened anew.
    writer: Option<Box<Writer>>,
    /// The write that runs, and of how many batches it is.
    writing: Option<(JoinHandle<Result<Vec<Rejected>>>, usize)>,
    /// Batches that are gathered.
    batches: usize,
    /// When the oldest of them came.
    since: Option<Instant>,
    /// When the newest of them came, if they are of a backlog.
    late: Option<Instant>,
    /// When the last write began.
    begun: Option<Instant>,
    /// Batches that are written and not reported yet.
    written: usize,
    rejected: Vec<Rejected>,
}

impl Task {
    /// Connects and detects what the server can do.
    ///
    /// Errors: `Config`, `Auth`, `Transient`.
    pub(crate) async fn open(task: TaskConfig, context: TaskContext) -> Result<Self> {
        let settings = Arc::new(Settings::from_config(&task.config)?);
        let client = Client::new(Arc::clone(&settings))?;
        let profile = Profile::detect(&client).await?;
        if profile.legacy && settings.lz4 {
            return Err(Error::config(format!(
                "ClickHouse {} does not read lz4 bodies",
                profile.version
            ))
            .with_remedy("set compression to none"));
        }
        let latency = u64::try_from(settings.latency.as_millis()).unwrap_or(u64::MAX);
        // Half of the budget gathers while the other half is being written.
        let max_bytes = settings.max_bytes.min((context.buffer_bytes / 2).max(1 << 20));
        let max_rows = settings.max_rows;
        let context = Arc::new(Context {
            client,
            settings,
            profile,
            progress: context.progress,
            task: format!("{}_{}", task.connector, task.task),
            latency_ms: AtomicU64::new(latency),
        });
        let writer = Some(Box::new(Writer::new(Arc::clone(&context))));
        Ok(Self {
            context,
            max_rows,
            max_bytes,
            writer,
            writing: None,
            batches: 0,
            since: None,
            late: None,
            begun: None,
            written: 0,
            rejected: Vec::new(),
        })
    }

    fn latency(&self) -> Duration {
        Duration::from_millis(self.context.latency_ms.load(Ordering::Relaxed))
    }

    /// When what is gathered is to be written, if a write does not run then. Writes begin no more
    /// often than the latency allows; a row that comes after a pause waits for nothing.
    fn due(&self) -> Option<Instant> {
        let since = self.since?;
        if let Some(taken) = self.late {
            let longest = self.latency().max(BACKLOG_LATENCY);
            return Some((taken + BACKLOG_PAUSE).min(since + longest));
        }
        Some(self.begun.map_or(since, |begun| since.max(begun + self.latency())))
    }

    async fn take(&mut self, batch: EventBatch) -> Result<WriteStatus> {
        let mut writer = self.writer.take().ok_or_else(broken)?;
        let late = is_late(&batch);
        let slots = writer.prepare(&batch).await?;
        if batch.data.len() < INLINE_BYTES {
            writer.take(&batch, &slots);
        } else {
            let work = move || {
                writer.take(&batch, &slots);
                writer
            };
            let joined = tokio::task::spawn_blocking(work).await;
            writer = joined.map_err(|error| Error::fatal("encode rows").with_source(error))?;
        }
        let (rows, bytes) = writer.gathered();
        self.writer = Some(writer);
        self.batches += 1;
        self.late = late.then(Instant::now);
        self.since.get_or_insert_with(Instant::now);
        if rows >= self.max_rows || bytes >= self.max_bytes {
            self.join().await?;
            self.begin()?;
        } else {
            self.begin_if_due().await?;
        }
        Ok(self.report())
    }

    /// Begins to write what is gathered, if it is time and no write runs.
    async fn begin_if_due(&mut self) -> Result<()> {
        if self.writing.as_ref().is_some_and(|(write, _)| !write.is_finished()) {
            return Ok(());
        }
        self.join().await?; // it has ended
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.begin()?;
        }
        Ok(())
    }

    /// Begins to write what is gathered.
    fn begin(&mut self) -> Result<()> {
        let writer = self.writer.as_mut().ok_or_else(broken)?;
        if self.batches == 0 {
            return Ok(());
        }
        let (rows, bytes) = writer.gathered();
        let loads = writer.seal();
        let context = Arc::clone(&self.context);
        let waited_ms = self.since.map_or(0, |since| since.elapsed().as_millis());
        let write = tokio::spawn(async move {
            let begun = Instant::now();
            let written = insert::write_all(&context, loads).await;
            let took_ms = begun.elapsed().as_millis();
            tracing::debug!(rows, bytes, waited_ms, took_ms, ok = written.is_ok(), "write ended");
            written
        });
        self.writing = Some((write, std::mem::take(&mut self.batches)));
        self.since = None;
        self.begun = Some(Instant::now());
        Ok(())
    }

    /// Waits for the write that runs. Cancel safe.
    async fn join(&mut self) -> Result<()> {
        let Some((write, batches)) = &mut self.writing else { return Ok(()) };
        let joined = write.await;
        let batches = *batches;
        self.writing = None;
        let written =
            joined.map_err(|error| Error::fatal("write to ClickHouse").with_source(error));
        match written.flatten() {
            Ok(rejected) => {
                self.rejected.extend(rejected);
                self.written += batches;
                Ok(())
            }
            Err(error) => {
                self.writer = None;
                Err(error)
            }
        }
    }

    fn report(&mut self) -> WriteStatus {
        match std::mem::take(&mut self.written) {
            0 => WriteStatus::Accepted,
            batches => {
                WriteStatus::Written { batches, rejected: std::mem::take(&mut self.rejected) }
            }
        }
    }

    /// Writes everything and waits for it.
    async fn settle(&mut self) -> Result<Vec<Rejected>> {
        self.join().await?;
        self.begin()?;
        self.join().await?;
        self.written = 0;
        Ok(std::mem::take(&mut self.rejected))
    }

    async fn step(&mut self) -> Result<WriteStatus> {
        if self.written > 0 {
            return Ok(self.report());
        }
        if self.writing.is_some() {
            self.join().await?;
        } else {
            match self.due() {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        }
        self.begin_if_due().await?;
        Ok(self.report())
    }
}

/// Whether the newest record is of a backlog.
fn is_late(batch: &EventBatch) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let newest = batch.coordinates.last().map_or(i64::MAX, |record| record.timestamp_ms);
    i64::try_from(now).unwrap_or(0).saturating_sub(newest) > BACKLOG_MS
}

fn broken() -> Error {
    Error::transient("an earlier write failed").with_remedy("the task is opened anew")
}

impl SinkTask for Task {
    fn write(&mut self, batch: EventBatch) -> BoxFuture<'_, Result<WriteStatus>> {
        Box::pin(self.take(batch))
    }

    fn flush(&mut self) -> BoxFuture<'_, Result<Vec<Rejected>>> {
        Box::pin(self.settle())
    }

    fn advance(&mut self) -> BoxFuture<'_, Result<WriteStatus>> {
        Box::pin(self.step())
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // Waited for, so that the next task does not meet a write of this one. Its outcome is
            // of no interest: what was not reported durable is delivered again.
            if let Some((write, _)) = &mut self.writing {
                let _ = write.await;
                self.writing = None;
            }
        })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some((write, _)) = &self.writing {
            write.abort();
        }
    }
}
