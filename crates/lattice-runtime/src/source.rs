//! Runs a source task: pulls batches, hands them to the writer, tells the source what became
//! durable.

use std::{sync::Arc, time::Duration};

use lattice_codec::{Encoder, EncoderOptions};
use lattice_core::{
    connector::{SourceConnector, SourceTask, TaskContext},
    error::{Error, Result},
    event::SourceBatch,
    position::Position,
};
use lattice_transform::Chain;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    exactly_once,
    model::State,
    task::TaskRun,
    writer::{self, Work},
};

/// Small batches in the way to the writer; their bytes are bounded by the budget.
const QUEUE: usize = 256;

/// What an event costs beside its row's bytes.
const EVENT_BYTES: usize = 160;

/// Runs until the task is told to end, or an error.
pub(crate) async fn run(run: &TaskRun, connector: &dyn SourceConnector) -> Result<()> {
    // First of all: whoever ran this task before can move the position no more.
    let mut exactly_once = exactly_once::begin(run).await?;
    let resume = resume_position(run, connector).await?;
    if let Some(exactly_once) = &mut exactly_once {
        exactly_once.positioned = resume.is_some();
    }
    let options =
        EncoderOptions::from_config(&run.config.connector, run.config.task, &run.config.config)?;
    let encoder = Encoder::new(options, run.shared.registry(&run.config.config)?)
        .with_transforms(Chain::from_config(&run.config.config)?);
    let context = TaskContext {
        progress: Arc::clone(&run.report.progress),
        buffer_bytes: run.shared.config.task_bytes,
    };
    let mut task = tokio::select! {
        () = run.report.cancel.cancelled() => return Ok(()),
        opened = connector.open(run.config.clone(), resume, context) => opened?,
    };
    run.report.note("reconnecting", None);

    let (work, queue) = mpsc::channel(QUEUE);
    let (tell, durable) = watch::channel(None);
    let writer = writer::Writer::new(run, encoder, tell, exactly_once).await;
    let outcome = match writer {
        Ok(writer) => {
            let writer = AbortOnDropHandle::new(tokio::spawn(writer.run(queue)));
            let pipe = Pipe { run, work: Some(work), durable, writer };
            Box::pin(pipe.run(task.as_mut())).await
        }
        Err(error) => Err(error),
    };
    close(task, run.shared.config.task_grace).await;
    outcome
}

async fn close(task: Box<dyn SourceTask>, grace: Duration) {
    if tokio::time::timeout(grace, task.close()).await.is_err() {
        tracing::warn!("the source did not close in time and was dropped");
    }
}

/// The durable position of this task's partition.
async fn resume_position(
    run: &TaskRun,
    connector: &dyn SourceConnector,
) -> Result<Option<Position>> {
    let partition = connector.partition(&run.config.config)?;
    let known = run.shared.log.source_offsets(&run.config.connector).await?;
    Ok(known.into_iter().find(|position| position.partition == partition))
}

/// The way between a task and its writer.
struct Pipe<'a> {
    run: &'a TaskRun,
    /// `None`: closed; the writer ends when it has written what it has.
    work: Option<mpsc::Sender<Work>>,
    durable: watch::Receiver<Option<Position>>,
    writer: AbortOnDropHandle<Result<()>>,
}

impl Pipe<'_> {
    async fn run(mut self, task: &mut dyn SourceTask) -> Result<()> {
        let outcome = self.pull(task).await;
        // What was pulled is written also when the task ends or failed: nothing of it needs to
        // be read again.
        self.work = None;
        let written = tokio::select! {
            written = &mut self.writer => joined(written),
            () = hurried(self.run) => Ok(()),
        };
        let told = self.tell(task).await;
        outcome.and(written).and(told)
    }

    /// Tells the source the newest durable position.
    async fn tell(&mut self, task: &mut dyn SourceTask) -> Result<()> {
        let position = self.durable.borrow_and_update().clone();
        match position {
            Some(position) => task.committed(&position).await,
            None => Ok(()),
        }
    }

    async fn pull(&mut self, task: &mut dyn SourceTask) -> Result<()> {
        let run = self.run;
        let total = run.shared.config.task_bytes;
        let budget = Arc::new(Semaphore::new(total));
        let mut pause = run.report.pause.subscribe();
        let mut waiting: Option<(SourceBatch, usize)> = None;
        let mut ended = false;
        loop {
            let paused = *pause.borrow_and_update();
            run.report.set_state(if paused { State::Paused } else { State::Running }, None);
            tokio::select! {
                biased;
                () = run.report.cancel.cancelled() => return Ok(()),
                changed = self.durable.changed() => match changed {
                    Ok(()) => self.tell(task).await?,
                    // The writer is gone; `run` finds out why.
                    Err(_) => return Ok(()),
                },
                _ = pause.changed() => {}
                permit = permit(&budget, waiting.as_ref().map(|(_, cost)| *cost)),
                    if waiting.is_some() =>
                {
                    let Some((batch, cost)) = waiting.take() else { continue };
                    if !self.hand_over(Work { batch, cost, permit: permit? }).await {
                        return Ok(());
                    }
                }
                batch = task.next_batch(), if waiting.is_none() && !paused && !ended => {
                    match batch? {
                        Some(batch) => {
                            let cost = cost(&batch).clamp(1, total);
                            waiting = Some((batch, cost));
                        }
                        None => {
                            ended = true;
                            run.report.note("ended", Some("the source has come to its end".to_owned()));
                        }
                    }
                }
            }
        }
    }

    /// False: the writer is gone.
    async fn hand_over(&self, work: Work) -> bool {
        match &self.work {
            Some(sender) => sender.send(work).await.is_ok(),
            None => false,
        }
    }
}

/// Waits until a task that is to end has used up its grace.
async fn hurried(run: &TaskRun) {
    run.report.cancel.cancelled().await;
    tokio::time::sleep(run.shared.config.task_grace * 3 / 4).await;
}

/// Room for a batch. At most the whole budget, so that one huge row passes alone.
pub(crate) async fn permit(
    budget: &Arc<Semaphore>,
    cost: Option<usize>,
) -> Result<OwnedSemaphorePermit> {
    let cost = u32::try_from(cost.unwrap_or(0)).unwrap_or(u32::MAX);
    Arc::clone(budget)
        .acquire_many_owned(cost)
        .await
        .map_err(|error| Error::fatal("wait for room in the queue").with_source(error))
}

fn cost(batch: &SourceBatch) -> usize {
    batch.data.len() + (batch.events.len() + batch.notices.len()) * EVENT_BYTES
}

/// A joined task's result; its panic goes on here.
pub(crate) fn joined<T>(joined: Result<Result<T>, tokio::task::JoinError>) -> Result<T> {
    match joined {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(Error::fatal("a part of the task was cancelled").with_source(error)),
    }
}
