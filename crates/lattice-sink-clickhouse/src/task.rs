//! A running sink task: gathers batches, and writes them while the next are gathered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
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
    profile::Profile,
    write::{Context, Writer},
};

/// Events cost memory beside their rows. Units: bytes.
const EVENT_BYTES: usize = 128;

type Written = (Box<Writer>, Result<Vec<Rejected>>);

/// The writer, or the write that has it.
enum Stage {
    Idle(Box<Writer>),
    Writing(JoinHandle<Written>),
    /// A write was lost; the task must be opened anew.
    Broken,
}

/// A running task.
pub(crate) struct Task {
    context: Arc<Context>,
    max_rows: usize,
    max_bytes: usize,
    stage: Stage,
    gathered: Vec<EventBatch>,
    rows: usize,
    bytes: usize,
    /// When the oldest gathered batch came.
    since: Option<Instant>,
    /// Batches of the write that runs.
    writing: usize,
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
        let writer = Box::new(Writer::new(Arc::clone(&context)));
        Ok(Self {
            context,
            max_rows,
            max_bytes,
            stage: Stage::Idle(writer),
            gathered: Vec::new(),
            rows: 0,
            bytes: 0,
            since: None,
            writing: 0,
            written: 0,
            rejected: Vec::new(),
        })
    }

    fn latency(&self) -> Duration {
        Duration::from_millis(self.context.latency_ms.load(Ordering::Relaxed))
    }

    fn is_full(&self) -> bool {
        self.rows >= self.max_rows || self.bytes >= self.max_bytes
    }

    async fn take(&mut self, batch: EventBatch) -> Result<WriteStatus> {
        let now = Instant::now();
        self.rows += batch.events.len();
        self.bytes += batch.data.len() + batch.events.len() * EVENT_BYTES;
        self.gathered.push(batch);
        let since = *self.since.get_or_insert(now);
        let due = now.duration_since(since) >= self.latency();
        let busy = matches!(&self.stage, Stage::Writing(write) if !write.is_finished());
        if self.is_full() || (due && !busy) {
            self.start().await?;
        }
        if self.written > 0 {
            let batches = std::mem::take(&mut self.written);
            let rejected = std::mem::take(&mut self.rejected);
            return Ok(WriteStatus::Written { batches, rejected });
        }
        Ok(WriteStatus::Accepted)
    }

    /// Waits for the write before, if any, and starts to write what was gathered.
    async fn start(&mut self) -> Result<()> {
        self.join().await?;
        if self.gathered.is_empty() {
            return Ok(());
        }
        let Stage::Idle(mut writer) = std::mem::replace(&mut self.stage, Stage::Broken) else {
            return Err(broken());
        };
        let batches = std::mem::take(&mut self.gathered);
        self.writing = batches.len();
        (self.rows, self.bytes, self.since) = (0, 0, None);
        self.stage = Stage::Writing(tokio::spawn(async move {
            let written = writer.write(batches).await;
            (writer, written)
        }));
        Ok(())
    }

    async fn join(&mut self) -> Result<()> {
        let Stage::Writing(write) = &mut self.stage else {
            return match self.stage {
                Stage::Broken => Err(broken()),
                Stage::Idle(_) | Stage::Writing(_) => Ok(()),
            };
        };
        let joined = write.await;
        self.stage = Stage::Broken;
        let (writer, written) =
            joined.map_err(|error| Error::fatal("write to ClickHouse").with_source(error))?;
        self.rejected.extend(written?);
        self.written += std::mem::take(&mut self.writing);
        self.stage = Stage::Idle(writer);
        Ok(())
    }

    /// Writes everything and waits for it.
    async fn settle(&mut self) -> Result<Vec<Rejected>> {
        self.start().await?;
        self.join().await?;
        self.written = 0;
        Ok(std::mem::take(&mut self.rejected))
    }
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

    fn flush_deadline(&self) -> Option<Instant> {
        let unsettled = self.writing > 0 || self.written > 0;
        match self.since {
            Some(since) => Some(since + self.latency()),
            // Nothing is gathered, but a write is not known to have ended.
            None => unsettled.then(|| Instant::now() + Duration::from_millis(5)),
        }
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // Waited for, so that the next task does not meet a write of this one. Its outcome is
            // of no interest: what was not reported durable is delivered again.
            if let Stage::Writing(write) = &mut self.stage {
                let _ = write.await;
                self.stage = Stage::Broken;
            }
        })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Stage::Writing(write) = &self.stage {
            write.abort();
        }
    }
}
