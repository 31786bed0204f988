//! A running sink task: gathers batches, and writes them while the next are gathered.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use lattice_core::{
    BoxFuture,
    connector::{Rejected, SinkTask, TaskConfig, TaskContext, WriteStatus},
    error::{Error, Result},
    event::EventBatch,
};
use tokio::{sync::Mutex, task::JoinHandle};

use crate::{
    config::{Settings, Vendor},
    gather::{Claims, Gather},
    layout::Place,
    offsets::{Offsets, Stored},
    pile::Pile,
    prepare,
    tables::Tables,
    target::Target,
    write::{self, Load, Written},
};

/// Work on fewer bytes than these takes well under half a millisecond and is not worth another
/// thread.
const INLINE_BYTES: usize = 32 << 10;

/// A running task.
pub(crate) struct Task {
    settings: Arc<Settings>,
    max_bytes: usize,
    target: Arc<Mutex<Target>>,
    offsets: Option<Arc<Offsets>>,
    /// Where the target stood when the task was opened.
    stored: Vec<Stored>,
    /// `None`: it was lost on the way; the task must be opened anew.
    gather: Option<Box<Gather>>,
    /// The write that runs, and of how many batches it is.
    writing: Option<(JoinHandle<Result<Written>>, usize)>,
    /// Batches that are gathered.
    batches: usize,
    /// When the oldest of them came.
    since: Option<Instant>,
    /// When the last write began.
    begun: Option<Instant>,
    /// Batches that are written and not reported yet.
    written: usize,
    rejected: Vec<Rejected>,
}

impl Task {
    /// Connects, and reads where the target stands.
    ///
    /// Errors: `Config`, `Auth`, `Transient`.
    pub(crate) async fn open(
        task: TaskConfig,
        context: TaskContext,
        vendor: Vendor,
    ) -> Result<Self> {
        let settings = Arc::new(Settings::from_config(&task.config, vendor)?);
        let mut target = Target::connect(&settings).await?;
        let dialect = settings.address.dialect();
        let offsets =
            settings.offsets.as_ref().map(|table| Offsets::new(dialect, table, &task.connector));
        let stored = match &offsets {
            Some(offsets) => {
                offsets.make(&mut target).await?;
                offsets.read(&mut target).await?
            }
            None => Vec::new(),
        };
        let gather = Gather {
            settings: Arc::clone(&settings),
            tables: Tables::new(Arc::clone(&settings), context.progress),
            claims: Claims::new(),
            pile: Pile::default(),
        };
        Ok(Self {
            // Half of the budget gathers while the other half is being written.
            max_bytes: settings.batch_bytes.min((context.buffer_bytes / 2).max(1 << 20)),
            settings,
            target: Arc::new(Mutex::new(target)),
            offsets: offsets.map(Arc::new),
            stored,
            gather: Some(Box::new(gather)),
            writing: None,
            batches: 0,
            since: None,
            begun: None,
            written: 0,
            rejected: Vec::new(),
        })
    }

    /// When what is gathered is to be written, if no write runs then. Writes begin no more often than
    /// the latency allows; a row that comes after a pause waits for nothing.
    fn due(&self) -> Option<Instant> {
        let since = self.since?;
        Some(self.begun.map_or(since, |begun| since.max(begun + self.settings.latency)))
    }

    async fn take(&mut self, batch: EventBatch) -> Result<WriteStatus> {
        let mut gather = self.gather.take().ok_or_else(broken)?;
        if !prepare::is_ready(&gather, &batch, self.offsets.is_some()) {
            gather = self.prepare(gather, &batch).await?;
        }
        if batch.data.len() < INLINE_BYTES {
            gather.take(&batch);
        } else {
            let work = move || {
                gather.take(&batch);
                gather
            };
            let joined = tokio::task::spawn_blocking(work).await;
            gather = joined.map_err(|error| Error::fatal("gather rows").with_source(error))?;
        }
        let full = gather.pile.ops.len() >= self.settings.batch_rows
            || gather.pile.data.len() >= self.max_bytes;
        self.gather = Some(gather);
        self.batches += 1;
        self.since.get_or_insert_with(Instant::now);
        if full {
            self.join().await?;
            self.begin()?;
        } else {
            self.begin_if_due().await?;
        }
        Ok(self.report())
    }

    async fn prepare(
        &mut self,
        mut gather: Box<Gather>,
        batch: &EventBatch,
    ) -> Result<Box<Gather>> {
        let target = Arc::clone(&self.target);
        let changes = {
            let mut target = target.lock().await;
            prepare::find(&mut gather, &mut target, batch, self.offsets.as_deref()).await?
        };
        if !changes.is_empty() {
            self.gather = Some(gather);
            self.join().await?;
            self.begin()?;
            self.join().await?;
            gather = self.gather.take().ok_or_else(broken)?;
            prepare::change(&mut gather, &mut *target.lock().await, &changes).await?;
        }
        prepare::plan(&mut gather, batch);
        Ok(gather)
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
        let gather = self.gather.as_mut().ok_or_else(broken)?;
        if self.batches == 0 {
            return Ok(());
        }
        let pile = std::mem::take(&mut gather.pile);
        let claim = |place: &(Arc<str>, i32)| gather.claims.get(place).cloned();
        let untold = self.rejected.iter().map(|rejected| Place {
            topic: Arc::clone(&rejected.topic),
            partition: rejected.partition,
            offset: rejected.offset,
        });
        let load = Load {
            settings: Arc::clone(&self.settings),
            untold: untold.collect(),
            claims: pile.reached.keys().filter_map(claim).collect(),
            tables: gather.tables.known.iter().map(|known| known.table.clone()).collect(),
            ranks: gather.tables.ranks(),
            offsets: self.offsets.clone(),
            pile,
        };
        let target = Arc::clone(&self.target);
        let write = tokio::spawn(async move {
            if load.pile.is_empty() {
                return Ok(Written::default());
            }
            let (begun, rows) = (Instant::now(), load.pile.ops.len());
            let written = write::write(&mut *target.lock().await, load).await;
            let took_ms = begun.elapsed().as_millis();
            tracing::debug!(rows, took_ms, ok = written.is_ok(), "write ended");
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
            joined.map_err(|error| Error::fatal("write to the target").with_source(error));
        match written.flatten() {
            Ok(written) => {
                self.note(written);
                self.written += batches;
                Ok(())
            }
            Err(error) => {
                self.gather = None;
                Err(error)
            }
        }
    }

    fn note(&mut self, written: Written) {
        let Some(gather) = &mut self.gather else { return };
        for stored in written.claims {
            gather.claims.insert((Arc::clone(&stored.topic), stored.partition), stored);
        }
        for (table, (events, bytes, last_ms)) in written.counts {
            let Some(known) = gather.tables.known.get(table) else { continue };
            known.progress.events.fetch_add(events, Ordering::Relaxed);
            known.progress.bytes.fetch_add(bytes, Ordering::Relaxed);
            known.progress.last_event_ms.fetch_max(last_ms, Ordering::Relaxed);
        }
        let rejected = written.refused.into_iter().map(|refused| Rejected {
            topic: refused.place.topic,
            partition: refused.place.partition,
            offset: refused.place.offset,
            error: refused.error,
        });
        self.rejected.extend(rejected);
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

fn broken() -> Error {
    Error::transient("an earlier write failed").with_remedy("the task is opened anew")
}

impl SinkTask for Task {
    fn positions(&self) -> Vec<(Arc<str>, i32, i64)> {
        // What was refused and may not be a dead letter yet is read again.
        let from = |stored: &Stored| stored.refused.iter().copied().fold(stored.next, i64::min);
        let position =
            |stored: &Stored| (Arc::clone(&stored.topic), stored.partition, from(stored));
        self.stored.iter().map(position).collect()
    }

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
            // of no interest: the next task asks the target where it stands.
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
