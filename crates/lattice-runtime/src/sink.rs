//! Runs a sink task: takes decoded events, writes them, moves offsets once they are durable.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Instant,
};

use lattice_codec::{DecodeError, Decoder, DecoderOptions};
use lattice_core::{
    connector::{Rejected, SinkConnector, SinkTask, TaskContext, WriteStatus},
    error::{Error, Result},
};
use lattice_log::TopicPartition;
use lattice_transform::Chain;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    dead_letter::{self, Tolerance},
    feed::{Fed, Feed},
    model::State,
    offsets,
    report::{Delivered, now_ms},
    salvage::{Salvage, Stage},
    source::joined,
    task::TaskRun,
};

/// Pieces that wait for the sink; their bytes are bounded by the feed's budget.
const AHEAD: usize = 16;

/// Runs until the task is told to end, or an error.
pub(crate) async fn run(run: &TaskRun, connector: &dyn SinkConnector) -> Result<()> {
    let config = &run.config.config;
    let chain = match lattice_transform::is_plain_unwrap(config) {
        true => Chain::default(),
        false => Chain::from_config(config)?,
    };
    let decoder = Decoder::new(DecoderOptions::from_config(config)?, run.shared.registry(config)?)
        .with_transforms(chain);
    let mut feed = Feed::new(run, decoder)?;
    let tolerance = Tolerance::from_config(config)?;
    let context = TaskContext {
        progress: Arc::clone(&run.report.progress),
        buffer_bytes: run.shared.config.task_bytes,
    };
    let mut task = tokio::select! {
        () = run.report.cancel.cancelled() => return Ok(()),
        opened = connector.open(run.config.clone(), context) => opened?,
    };
    run.report.note("reconnecting", None);
    feed.resume(task.positions());

    let (out, fed) = mpsc::channel(AHEAD);
    let mut delivery = Delivery {
        run,
        salvage: Salvage::new(run, tolerance, connector.descriptor().class),
        group: offsets::group(&run.config.connector, config),
        fed,
        feed: AbortOnDropHandle::new(tokio::spawn(feed.run(out))),
        written: VecDeque::new(),
        held: 0,
        durable: BTreeMap::new(),
        committed_at: Instant::now(),
    };
    let outcome = Box::pin(delivery.run(task.as_mut())).await;
    let last = delivery.commit().await;
    drop(delivery);
    let closing = tokio::time::timeout(run.shared.config.task_grace, task.close());
    if closing.await.is_err() {
        tracing::warn!("the sink did not close in time and was dropped");
    }
    outcome.and(last)
}

/// Records that give no event, and the class of the transformation that could not treat them.
type Undecodable = Vec<(Rejected, Option<&'static str>)>;

/// Between feed and sink.
struct Delivery<'a> {
    run: &'a TaskRun,
    salvage: Salvage,
    group: String,
    fed: mpsc::Receiver<Fed>,
    feed: AbortOnDropHandle<Result<()>>,
    /// What was handed over and is not known to be durable, oldest first.
    written: VecDeque<Handed>,
    /// How many of them the sink was given; the others had no events.
    held: usize,
    /// Durable in the target, not yet committed.
    durable: BTreeMap<TopicPartition, i64>,
    committed_at: Instant,
}

/// A batch that was handed over.
struct Handed {
    /// Where its partitions stand once it is durable.
    next: Vec<(TopicPartition, Delivered)>,
    events: u64,
    bytes: u64,
    /// The sink was given it.
    held: bool,
}

impl Delivery<'_> {
    async fn run(&mut self, task: &mut dyn SinkTask) -> Result<()> {
        let report = Arc::clone(&self.run.report);
        let mut pause = report.pause.subscribe();
        loop {
            let paused = *pause.borrow_and_update();
            if paused {
                // What the sink holds is written first, so that a pause leaves nothing half done.
                self.flush(task).await?;
                self.commit().await?;
            }
            report.set_state(if paused { State::Paused } else { State::Running }, None);
            tokio::select! {
                biased;
                () = report.cancel.cancelled() => return self.flush(task).await,
                _ = pause.changed() => {}
                () = until(self.commit_deadline()) => self.commit().await?,
                advanced = task.advance(), if self.held > 0 => self.account(advanced?).await?,
                fed = self.fed.recv(), if !paused => match fed {
                    Some(fed) => self.write(task, fed).await?,
                    None => return joined((&mut self.feed).await),
                },
            }
        }
    }

    fn commit_deadline(&self) -> Option<Instant> {
        let interval = self.run.shared.config.offset_flush_interval;
        (!self.durable.is_empty()).then(|| self.committed_at + interval)
    }

    async fn write(&mut self, task: &mut dyn SinkTask, fed: Fed) -> Result<()> {
        let Fed { decoded, next, bytes, permit } = fed;
        // From here on the sink counts these bytes itself.
        drop(permit);
        let undecodable: Undecodable = decoded
            .errors
            .into_iter()
            .map(|refused| {
                let DecodeError { topic, partition, offset, error, transform } = refused;
                (Rejected { topic, partition, offset, error }, transform)
            })
            .collect();
        let events = decoded.batch.events.len() as u64;
        if let Some(event) = decoded.batch.events.last() {
            let committed_ms = event.origin.ts_us / 1000;
            let record = decoded.batch.coordinates.last();
            let recorded_ms = record.map_or(0, |record| record.timestamp_ms);
            let now = now_ms();
            tracing::trace!(
                events,
                since_commit_ms = now - committed_ms,
                since_record_ms = now - recorded_ms,
                "events taken"
            );
        }
        let status = match events {
            0 => None,
            _ => Some(task.write(decoded.batch).await?),
        };
        self.held += usize::from(status.is_some());
        let next = next.into_iter().collect();
        self.written.push_back(Handed { next, events, bytes, held: status.is_some() });
        match status {
            Some(status) => self.account(status).await?,
            None if self.held == 0 && undecodable.is_empty() => self.settle(Vec::new()).await?,
            None => {}
        }
        if !undecodable.is_empty() {
            self.refuse_undecodable(task, undecodable).await?;
        }
        Ok(())
    }

    async fn account(&mut self, status: WriteStatus) -> Result<()> {
        match status {
            WriteStatus::Durable { rejected } => self.settle(rejected).await,
            WriteStatus::Written { batches, rejected } => {
                self.settle_oldest(batches, rejected).await
            }
            WriteStatus::Accepted => Ok(()),
        }
    }

    /// Records that are none: dead letters, or the task fails once all before them is durable.
    async fn refuse_undecodable(
        &mut self,
        task: &mut dyn SinkTask,
        undecodable: Undecodable,
    ) -> Result<()> {
        let takes = |(record, _): &(Rejected, _)| self.salvage.takes(std::slice::from_ref(record));
        if undecodable.iter().all(takes) {
            for (record, transform) in &undecodable {
                let stage = transform.map_or(Stage::Decode, Stage::Transform);
                self.salvage.keep(std::slice::from_ref(record), stage).await?;
            }
            if self.held == 0 {
                self.settle(Vec::new()).await?;
            }
            return Ok(());
        }
        let mut rejected = if self.held > 0 { task.flush().await? } else { Vec::new() };
        rejected.extend(undecodable.into_iter().map(|(record, _)| record));
        self.settle(rejected).await
    }

    async fn flush(&mut self, task: &mut dyn SinkTask) -> Result<()> {
        if self.held == 0 {
            return Ok(());
        }
        let rejected = task.flush().await?;
        self.settle(rejected).await
    }

    /// Everything written is durable, save what was rejected: that is kept as dead letters before
    /// any offset moves, or the task fails with offsets just before it.
    async fn settle(&mut self, rejected: Vec<Rejected>) -> Result<()> {
        self.settle_oldest(self.held, rejected).await
    }

    /// The same for the `batches` oldest that the sink holds, and all without events up to the
    /// next one that it holds.
    async fn settle_oldest(&mut self, batches: usize, rejected: Vec<Rejected>) -> Result<()> {
        let failure = match rejected.is_empty() {
            true => None,
            false if self.salvage.takes(&rejected) => {
                self.salvage.keep(&rejected, Stage::Write).await?;
                None
            }
            false => Some(first(rejected)),
        };
        let report = &self.run.report;
        let (mut left, mut events, mut bytes) = (batches, 0, 0);
        let mut settled: BTreeMap<TopicPartition, Delivered> = BTreeMap::new();
        while let Some(handed) = self.written.front() {
            if handed.held {
                if left == 0 {
                    break;
                }
                left -= 1;
                self.held -= 1;
            }
            let Some(handed) = self.written.pop_front() else { break };
            events += handed.events;
            bytes += handed.bytes;
            settled.extend(handed.next);
        }
        for (place, mut delivered) in settled {
            if let Some((offsets, _)) = &failure
                && let Some(offset) = offsets.get(&place)
            {
                delivered.next = delivered.next.min(*offset);
            }
            report.delivered(&place, delivered);
            self.durable.insert(place, delivered.next);
        }
        report.durable(events, bytes);
        match failure {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    async fn commit(&mut self) -> Result<()> {
        self.committed_at = Instant::now();
        if self.durable.is_empty() {
            return Ok(());
        }
        let offsets = self.durable.iter().map(|(place, next)| (place.clone(), *next)).collect();
        self.run.shared.log.commit_offsets(&self.group, offsets).await?;
        self.durable.clear();
        Ok(())
    }
}

/// The first rejected offset of each partition, and the error of the first of all.
fn first(rejected: Vec<Rejected>) -> (BTreeMap<TopicPartition, i64>, Error) {
    let mut offsets = BTreeMap::new();
    let mut failure = None;
    for Rejected { topic, partition, offset, error } in rejected {
        let message = format!("record {offset} of topic {topic}, partition {partition}");
        let lowest = offsets.entry(TopicPartition { topic, partition }).or_insert(offset);
        *lowest = offset.min(*lowest);
        failure.get_or_insert_with(|| dead_letter::failure(error, message));
    }
    let failure = failure.unwrap_or_else(|| Error::data("a record was rejected"));
    (offsets, failure)
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
